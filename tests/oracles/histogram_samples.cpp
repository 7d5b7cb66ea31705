#include "oracles/histogram_samples.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "oracles/histogram_check.hpp"
#include "oracles/histogram_reference.hpp"

namespace rungs::tests {
namespace {

constexpr std::size_t most_inside = 16384, most_edges = 65537, most_outside = 2048;

// The edge, or what of the sample's type is close to it.
template <class T>
T near_edge(const histogram_call& call, int k) {
  return with_type(call.level, [&](auto t) -> T {
    using L = typename decltype(t)::type;
    const L first = as<L>(call.level_at(call.even ? 0 : static_cast<std::size_t>(k)));
    if constexpr (is_float<L> || is_float<T>) {
      double edge = to_double(first);
      if (call.even) edge += (to_double(as<L>(call.level_at(1))) - edge) * (static_cast<double>(k) / call.num_bins);
      if constexpr (!is_float<T>) {
        const double lowest = static_cast<double>(std::numeric_limits<T>::lowest()),
                     highest = static_cast<double>(std::numeric_limits<T>::max());
        return edge <= lowest    ? std::numeric_limits<T>::lowest()
               : edge >= highest ? std::numeric_limits<T>::max()
                                 : static_cast<T>(edge);
      } else {
        return from_double<T>(edge);
      }
    } else {
      __int128 edge = first;
      if (call.even) {
        const __int128 range = static_cast<__int128>(as<L>(call.level_at(1))) - edge;
        edge += (k * range + call.num_bins - 1) / call.num_bins;
      }
      using limits = std::numeric_limits<T>;
      return static_cast<T>(std::clamp<__int128>(edge, limits::lowest(), limits::max()));
    }
  });
}

template <class T>
std::vector<T> special_values() {
  std::vector<T> values;
  if constexpr (is_float<T>) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto tiny = neighbour(from_double<T>(0.0), 1), minus_tiny = neighbour(from_double<T>(0.0), -1);
    const auto most = neighbour(from_double<T>(infinity), -1), least = neighbour(from_double<T>(-infinity), 1);
    values = {tiny, minus_tiny, neighbour(tiny, 1), most, least};
    for (const double x : {0.0, -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1.0, -1.0})
      values.push_back(from_double<T>(x));
    if constexpr (!std::is_floating_point_v<T>) {
      values[3] = from_double<T>(std::is_same_v<T, f16> ? 65504.0 : 3.3895313892515355e38);
      values[4] = from_double<T>(std::is_same_v<T, f16> ? -65504.0 : -3.3895313892515355e38);
    }
  } else {
    using limits = std::numeric_limits<T>;
    values = {T{0},
              T{1},
              limits::max(),
              limits::lowest(),
              static_cast<T>(limits::max() - 1),
              static_cast<T>(limits::lowest() + 1),
              static_cast<T>(-1),
              static_cast<T>(limits::max() / 2)};
  }
  return values;
}

template <class T>
void in_order(std::vector<T>& values) {
  const auto rank = [](T x) { return is_nan(x) ? ~0ull : histogram_key(x); };
  std::ranges::sort(values, {}, rank);
}

template <class T>
std::vector<T> edge_values(const histogram_call& call) {
  std::vector<T> values = special_values<T>();
  const int stride = 1 + static_cast<int>(static_cast<std::size_t>(call.num_bins) / most_edges);
  for (int k = 0; k <= call.num_bins; ++k) {
    if (k % stride != 0 && k != call.num_bins && k != 1 && k + 1 != call.num_bins) continue;
    const T edge = near_edge<T>(call, k);
    values.insert(values.end(), {neighbour(edge, -1), edge, neighbour(edge, 1)});
  }
  return values;
}

// Spread over the range, and what is around its ends.
template <class T>
std::vector<T> candidates(const histogram_call& call) {
  std::vector<T> values = special_values<T>();
  const T lower = near_edge<T>(call, 0), upper = near_edge<T>(call, call.num_bins);
  for (std::uint64_t i = 0; i < most_inside; ++i) {
    const std::uint64_t h = detail::hash(97, i);
    if constexpr (is_float<T>) {
      const double part = static_cast<double>(h >> 11) * 0x1p-53, low = to_double(lower), high = to_double(upper);
      values.push_back(from_double<T>(low * (1 - part) + high * part));
    } else {
      const auto range = static_cast<unsigned __int128>(static_cast<__int128>(upper) - static_cast<__int128>(lower));
      values.push_back(
          static_cast<T>(static_cast<__int128>(lower) + static_cast<__int128>(range == 0 ? 0 : h % range)));
    }
  }
  return values;
}

}  // namespace

std::vector<unsigned char> make_table(const histogram_call& call, table_kind kind) {
  return with_type(call.sample, [&]<class T>(type_tag<T>) {
    const histogram_oracle oracle(call);
    std::vector<T> values = kind == table_kind::inside ? candidates<T>(call) : edge_values<T>(call);
    if (kind == table_kind::outside)
      for (std::uint64_t i = 0; i < most_outside; ++i) {
        sample any;
        any.kind = distribution::any_bits;
        values.push_back(item<T>(any, i));
      }
    if (kind != table_kind::edges) {
      std::vector<T> kept;
      for (const T x : values)
        if ((oracle.place(make_value(x)).where == whereabouts::inside) == (kind == table_kind::inside))
          kept.push_back(x);
      if (kind == table_kind::outside && kept.size() > most_outside) kept.resize(most_outside);
      values = kept.empty() ? edge_values<T>(call) : kept;
    }
    in_order(values);
    std::vector<unsigned char> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  });
}

}  // namespace rungs::tests
