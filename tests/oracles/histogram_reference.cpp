#include "oracles/histogram_reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/histogram_check.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::scalar;

double float_of(scalar type, value v) {
  return with_type(type, [&](auto t) { return to_double(as<typename decltype(t)::type>(v)); });
}
__int128 integer_of(scalar type, value v) {
  return with_type(type, [&](auto t) -> __int128 {
    using T = typename decltype(t)::type;
    if constexpr (is_float<T>)
      return 0;
    else
      return as<T>(v);
  });
}

template <class Number>
placed by_edges(const std::vector<Number>& edges, Number x) {
  if (x < edges.front()) return {whereabouts::below};
  if (!(x < edges.back())) return {whereabouts::above};
  const auto above = std::upper_bound(edges.begin(), edges.end(), x);
  return {whereabouts::inside, static_cast<int>(above - edges.begin()) - 1};
}

template <class F>
int by_formula(double x, double lower, double upper, int num_bins) {
  const F scale = static_cast<F>(num_bins) / (static_cast<F>(upper) - static_cast<F>(lower));
  return static_cast<int>((static_cast<F>(x) - static_cast<F>(lower)) * scale);
}

// Floats in the order of their values, as consecutive integers; both zeros are 0.
template <class T>
std::int64_t ordinal(T x) {
  if constexpr (std::is_same_v<T, double>) {
    const auto bits = std::bit_cast<std::int64_t>(x);
    return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
  } else if constexpr (std::is_same_v<T, float>) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    return bits < 0 ? std::numeric_limits<std::int32_t>::min() - std::int64_t{bits} : bits;
  } else {
    return x.bits & 0x8000 ? -static_cast<std::int64_t>(x.bits & 0x7fff) : x.bits;
  }
}
template <class T>
T at_ordinal(std::int64_t i) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(i < 0 ? std::numeric_limits<std::int64_t>::min() - i : i);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<std::int32_t>(i < 0 ? std::numeric_limits<std::int32_t>::min() - i : i));
  else
    return T{static_cast<std::uint16_t>(i < 0 ? 0x8000 | -i : i)};
}

// The least float sample that is in bin k or beyond it, sought from where it should be.
template <class T>
std::int64_t first_of_bin(const histogram_oracle& oracle, int k, std::int64_t guess, std::int64_t lowest,
                          std::int64_t highest) {
  const auto reaches = [&](std::int64_t i) {
    const placed p = oracle.place(to_double(at_ordinal<T>(i)));
    return p.where == whereabouts::above || (p.where == whereabouts::inside && p.bin >= k);
  };
  const auto moved = [&](std::int64_t i, __int128 by) {
    return static_cast<std::int64_t>(std::clamp<__int128>(i + by, lowest, highest));
  };
  std::int64_t low = guess, high = guess;  // low does not reach, high does
  __int128 step = 1;
  if (reaches(guess)) {
    while (low > lowest && reaches(low)) {
      high = low;
      low = moved(low, -step);
      step *= 2;
    }
    if (reaches(low)) return low;
  } else {
    while (high < highest && !reaches(high)) {
      low = high;
      high = moved(high, step);
      step *= 2;
    }
  }
  while (static_cast<__int128>(high) - low > 1) {
    const auto middle = static_cast<std::int64_t>((static_cast<__int128>(low) + high) >> 1);
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

template <class T>
std::vector<std::uint64_t> float_boundaries(const histogram_call& call) {
  const histogram_oracle oracle(call);
  const double lower = float_of(call.level, call.level_at(0)), upper = float_of(call.level, call.level_at(1));
  // Between the infinities: no level lies beyond.
  const double infinity = std::numeric_limits<double>::infinity();
  const std::int64_t lowest = ordinal(from_double<T>(-infinity)), highest = ordinal(from_double<T>(infinity));
  std::vector<std::uint64_t> keys;
  for (int k = 0; k <= call.num_bins; ++k) {
    const T guess = from_double<T>(lower + (upper - lower) * (static_cast<double>(k) / call.num_bins));
    keys.push_back(histogram_key(at_ordinal<T>(first_of_bin<T>(oracle, k, ordinal(guess), lowest, highest))));
  }
  return keys;
}

}  // namespace

histogram_oracle::histogram_oracle(const histogram_call& call)
    : call_(call),
      in_floats_(is_floating(call.sample) || is_floating(call.level)),
      in_doubles_(call.sample == scalar::f64 || call.level == scalar::f64) {
  for (std::size_t i = 0; i < call.num_levels_given(); ++i) {
    if (in_floats_)
      floats_.push_back(float_of(call.level, call.level_at(i)));
    else
      integers_.push_back(integer_of(call.level, call.level_at(i)));
  }
}

int histogram_oracle::unclamped(double x) const {
  return in_doubles_ ? by_formula<double>(x, floats_[0], floats_[1], call_.num_bins)
                     : by_formula<float>(x, floats_[0], floats_[1], call_.num_bins);
}

placed histogram_oracle::place(double x) const {
  if (std::isnan(x)) return {whereabouts::nan};
  if (!in_doubles_) x = static_cast<double>(static_cast<float>(x));
  const placed p = by_edges(floats_, x);
  if (!call_.even || p.where != whereabouts::inside) return p;
  return {whereabouts::inside, std::min(unclamped(x), call_.num_bins - 1)};
}

placed histogram_oracle::place(__int128 x) const {
  const placed p = by_edges(integers_, x);
  if (!call_.even || p.where != whereabouts::inside) return p;
  return {whereabouts::inside, static_cast<int>((x - integers_[0]) * call_.num_bins / (integers_[1] - integers_[0]))};
}

placed histogram_oracle::place(value sample) const {
  return in_floats_ ? place(float_of(call_.sample, sample)) : place(integer_of(call_.sample, sample));
}

counted count(const histogram_call& call, const void* samples, std::size_t num_items) {
  const histogram_oracle oracle(call);
  const auto bins = static_cast<std::size_t>(call.num_bins), channels = static_cast<std::size_t>(call.num_channels),
             active = static_cast<std::size_t>(call.num_active_channels);
  counted c;
  c.bins.resize(bins * active);
  with_type(call.sample, [&]<class T>(type_tag<T>) {
    for (std::size_t i = 0; i < num_items; ++i) {
      if (i % channels >= active) continue;
      const T x = static_cast<const T*>(samples)[i];
      placed p;
      if constexpr (is_float<T>)
        p = oracle.place(to_double(x));
      else
        p = oracle.in_floats() ? oracle.place(static_cast<double>(x)) : oracle.place(static_cast<__int128>(x));
      switch (p.where) {
        case whereabouts::inside:
          ++c.inside;
          ++c.bins.at(i % channels * bins + static_cast<std::size_t>(p.bin));
          break;
        case whereabouts::below:
          ++c.below;
          break;
        case whereabouts::above:
          ++c.above;
          break;
        case whereabouts::nan:
          ++c.nans;
      }
    }
  });
  return c;
}

std::vector<std::uint64_t> boundaries(const histogram_call& call) {
  std::vector<std::uint64_t> keys;
  const bool floats = is_floating(call.sample);
  if (call.even && floats) {
    with_type(call.sample, [&]<class T>(type_tag<T>) {
      if constexpr (is_float<T>) keys = float_boundaries<T>(call);
    });
    return keys;
  }
  const auto num_bins = static_cast<std::size_t>(call.num_bins);
  for (std::size_t k = 0; k <= num_bins; ++k) {
    if (floats) {
      keys.push_back(histogram_key(float_of(call.level, call.level_at(k))));
    } else {
      __int128 edge = integer_of(call.level, call.level_at(call.even ? 0 : k));
      if (call.even) {
        const __int128 range = integer_of(call.level, call.level_at(1)) - edge;
        edge += (static_cast<__int128>(k) * range + call.num_bins - 1) / call.num_bins;
      }
      // Of 64 bits without a sign keys are the values themselves; nothing is below them.
      const bool is_signed = call.sample != scalar::u64;
      keys.push_back(is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(edge)) ^ 1ull << 63
                               : static_cast<std::uint64_t>(std::max<__int128>(edge, 0)));
    }
  }
  return keys;
}

std::optional<std::string> disagreement(const histogram_call& call, const counted& expected,
                                        const std::uint32_t* counters) {
  std::uint64_t sum = 0, wrong = 0;
  std::size_t first = 0;
  for (std::size_t b = 0; b < expected.bins.size(); ++b) {
    sum += counters[b];
    if (counters[b] != static_cast<std::uint32_t>(expected.bins[b]) && wrong++ == 0) first = b;
  }
  if (wrong == 0) return std::nullopt;
  const auto bins = static_cast<std::size_t>(call.num_bins);
  return text("bin ", first % bins, " of ", bins,
              call.num_active_channels > 1 ? text(" of channel ", first / bins) : "", ": got ", counters[first],
              ", expected ", static_cast<std::uint32_t>(expected.bins[first]), "; ", wrong,
              " bins are wrong, their sum is ", sum, " with ", expected.inside, " samples in range");
}

void count_on_host(const histogram_task& task) {
  std::fill_n(task.counts, task.num_counts(), 0ull);
  with_type(task.sample, [&]<class T>(type_tag<T>) {
    for (std::size_t i = 0; i < task.num_items; ++i)
      if (const std::size_t place = task.place(static_cast<const T*>(task.samples)[i], i); place < task.num_counts())
        ++task.counts[place];
  });
}

}  // namespace rungs::tests
