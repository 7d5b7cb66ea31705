#include "oracles/histogram_levels.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rungs::tests {
namespace {

using catalog::scalar;

template <class T>
void append(std::vector<unsigned char>& bytes, T x) {
  const auto* const first = reinterpret_cast<const unsigned char*>(&x);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

struct integers {
  __int128 lower, upper;
};
integers integer_span(levels_kind kind, scalar sample, scalar level, __int128 bins) {
  const auto span_of = [](scalar type) {
    return with_type(type, [](auto t) -> integers {
      using T = typename decltype(t)::type;
      if constexpr (is_float<T>)
        return {0, 1};
      else
        return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
    });
  };
  const integers samples = span_of(sample), levels = span_of(level);
  const bool has_sign = levels.lower < 0;
  integers span{0, bins};
  const auto wide = [&](__int128 lower, __int128 range) { span = {lower, lower + range}; };
  switch (kind) {
    case levels_kind::unit:
      break;
    case levels_kind::broad:
      wide(has_sign ? -4 * bins : 16, 8 * bins);
      break;
    case levels_kind::whole:
      span = {samples.lower, samples.upper + 1};
      break;
    case levels_kind::crowded:
      wide(has_sign ? -((bins / 3 + 2) / 2) : 5, bins / 3 + 2);
      break;
    case levels_kind::narrow:
      wide(samples.upper / 4, samples.upper / 64 + 2);
      break;
    case levels_kind::negative:
      wide(has_sign ? -(3 * bins + 102) : 3, 3 * bins + 1);
      break;
    default:
      wide(11, 2 * bins + bins / 3 + 5);
  }
  return {std::max(span.lower, levels.lower), std::min(span.upper, levels.upper)};
}

struct floats {
  double lower, upper;
};
floats float_span(levels_kind kind, scalar sample, double bins) {
  const bool half = sample == scalar::f16, wide = sample == scalar::f64;
  switch (kind) {
    case levels_kind::unit:
      return {0, bins};
    case levels_kind::broad:
      return {-4 * bins, 4 * bins};
    case levels_kind::whole: {
      // Half of the type, so that the distance of the levels is finite.
      const double most = half   ? 65504.0
                          : wide ? std::numeric_limits<double>::max() / 2
                                 : static_cast<double>(std::numeric_limits<float>::max()) / 2;
      return {-most, most};
    }
    case levels_kind::crowded:
      return {1, 1 + 64 * (half ? 0x1p-10 : wide ? 0x1p-52 : 0x1p-23)};
    case levels_kind::narrow:
      return {0.25, 0.375};
    case levels_kind::negative:
      return {-1003.7, -1000.1};
    default:
      return {-3.7, 11.3};
  }
}

}  // namespace

value histogram_call::level_at(std::size_t i) const {
  value v;
  std::memcpy(&v.bits, levels.data() + i * catalog::size_of(level), catalog::size_of(level));
  return v;
}

histogram_call make_levels(levels_kind kind, bool even, scalar sample, scalar level, int num_bins) {
  histogram_call call{.sample = sample, .level = level, .even = even, .num_bins = num_bins};
  // Edge i stands up to nine tenths of a width behind where an even one would; one that has two neighbours alike, at
  // theirs.
  const auto place = [&](int i) { return kind == levels_kind::duplicated ? i - i % 3 : i; };
  const auto shift = [](int i) { return static_cast<int>(detail::hash(41, static_cast<std::uint64_t>(i)) % 900); };
  with_type(level, [&]<class T>(type_tag<T>) {
    if constexpr (is_float<T>) {
      const floats span = float_span(kind, sample, num_bins);
      const T lower = from_double<T>(span.lower), upper = from_double<T>(span.upper);
      append(call.levels, lower);
      T last = lower;
      for (int i = 1; i < num_bins && !even; ++i) {
        const int at = place(i);
        const double part = at == 0 ? 0.0 : (at + shift(at) / 1000.0) / num_bins;
        const T edge = from_double<T>(to_double(lower) + (to_double(upper) - to_double(lower)) * part);
        if (to_double(edge) > to_double(last)) last = edge;
        append(call.levels, last);
      }
      append(call.levels, upper);
    } else {
      const auto [lower, upper] = integer_span(kind, sample, level, num_bins);
      const __int128 range = upper - lower, width = range / num_bins;
      append(call.levels, static_cast<T>(lower));
      for (int i = 1; i < num_bins && !even; ++i) {
        const int at = place(i);
        append(call.levels, static_cast<T>(at == 0 ? lower : lower + at * range / num_bins + shift(at) * width / 1000));
      }
      append(call.levels, static_cast<T>(upper));
    }
  });
  return call;
}

}  // namespace rungs::tests
