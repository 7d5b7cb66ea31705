// Test inputs: item i of a sample is a pure function of (sample, i), so that host and device make the same data, at any
// offset, without a copy. Every distribution is index-sensitive and signed; none is all ones or all zeros.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace rungs::tests {

// 16-bit floats as their bits: nothing here relies on cuda_fp16.h, which the code under test uses.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};
// The map x -> slope * x + offset modulo 2^32, laid out as rungs::affine.
struct affine {
  std::uint32_t slope, offset;
};

namespace detail {

template <class To, class From>
__host__ __device__ inline To bit_copy(From from) {
  static_assert(sizeof(To) == sizeof(From));
  union {
    From from;
    To to;
  } both{from};
  return both.to;
}

// The bits of `value` in a 16-bit float with that many mantissa bits, rounded to nearest even.
__host__ __device__ inline std::uint16_t narrow(double value, int mantissa_bits) {
  const int bias = (1 << (14 - mantissa_bits)) - 1;
  const auto bits = bit_copy<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const auto infinity = static_cast<std::uint16_t>((2 * bias + 1) << mantissa_bits);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const std::uint64_t fraction = bits & ((1ull << 52) - 1);
  if (exponent == 1024)
    return static_cast<std::uint16_t>(sign | infinity | (fraction != 0 ? 1 << (mantissa_bits - 1) : 0));
  if (exponent == -1023) return sign;
  const bool normal = exponent >= 1 - bias;
  const int dropped = 52 - mantissa_bits + (normal ? 0 : 1 - bias - exponent);
  if (dropped > 54) return sign;
  const std::uint64_t significand = fraction | 1ull << 52;
  std::uint64_t kept = significand >> dropped;
  const std::uint64_t rest = significand & ((1ull << dropped) - 1), half = 1ull << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  if (normal) kept += static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits;
  return static_cast<std::uint16_t>(sign | (kept >= infinity ? infinity : kept));
}

__host__ __device__ inline double widen(std::uint16_t bits, int mantissa_bits) {
  const int bias = (1 << (14 - mantissa_bits)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const std::uint64_t fraction = bits & ((1u << mantissa_bits) - 1);
  const std::uint64_t sign = static_cast<std::uint64_t>(bits >> 15) << 63;
  if (exponent == 2 * bias + 1) return bit_copy<double>(sign | 0x7ffull << 52 | fraction << (52 - mantissa_bits));
  double magnitude;
  if (exponent == 0) {  // fraction * 2^(1 - bias - mantissa_bits)
    magnitude = static_cast<double>(fraction) *
                bit_copy<double>(static_cast<std::uint64_t>(1 - bias - mantissa_bits + 1023) << 52);
  } else {
    magnitude =
        bit_copy<double>(static_cast<std::uint64_t>(exponent - bias + 1023) << 52 | fraction << (52 - mantissa_bits));
  }
  return bit_copy<double>(sign | bit_copy<std::uint64_t>(magnitude));
}

__host__ __device__ inline std::uint64_t mix(std::uint64_t x) {  // the finaliser of SplitMix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

__host__ __device__ inline std::uint64_t hash(std::uint64_t seed, std::uint64_t i) {
  return mix(seed + (i + 1) * 0x9e3779b97f4a7c15ull);
}

}  // namespace detail

template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class T>
__host__ __device__ T from_double(double value) {
  if constexpr (std::is_same_v<T, f16>)
    return {detail::narrow(value, 10)};
  else if constexpr (std::is_same_v<T, bf16>)
    return {detail::narrow(value, 7)};
  else
    return static_cast<T>(value);
}
template <class T>
__host__ __device__ double to_double(T value) {
  if constexpr (std::is_same_v<T, f16>)
    return detail::widen(value.bits, 10);
  else if constexpr (std::is_same_v<T, bf16>)
    return detail::widen(value.bits, 7);
  else
    return static_cast<double>(value);
}

//   exact        floats: integers whose magnitudes sum to at most 2^24, so every order of adding is exact; else full
//   range uniform      floats: (-1, 1) with all mantissa bits; integers: full range constant     one value everywhere,
//   of either sign spike        one extreme value at a coded position alternating  large values of alternating sign
//   sorted       ascending or descending through both signs
//   special      by seed: denormals and zeros; one NaN; one infinity; infinities and -0; all -0; zeros of
//                both signs. Integers: the extremes
//   wide         floats: exponents spread over the type, ill-conditioned sums
//
// For histograms, what the table holds that the sample is given (histogram_samples.hpp), but for the first:
//   any_bits     the whole type, NaN and infinities with it
//   inside       evenly    edges     every entry once, then evenly    one_bin   a single entry
//   eight_hot    eight entries    ascending  the table's order, or its reverse    runs   equal neighbours
//   skewed       the first entries more often than the last    outside  evenly
enum class distribution : int {
  exact,
  uniform,
  constant,
  spike,
  alternating,
  sorted,
  special,
  wide,
  any_bits,
  inside,
  edges,
  one_bin,
  eight_hot,
  ascending,
  runs,
  skewed,
  outside
};
inline constexpr int num_distributions = 8;  // those for items that are added or compared
inline constexpr int first_of_histograms = 8, num_of_histograms = 9;
inline constexpr int num_special = 6;  // kinds of special data, by seed
inline constexpr int special_denormals = 0, special_nan = 1;
constexpr std::string_view name(distribution value) {
  constexpr std::string_view names[] = {"exact",     "uniform",   "constant", "spike",  "alternating", "sorted",
                                        "special",   "wide",      "any_bits", "inside", "edges",       "one_bin",
                                        "eight_hot", "ascending", "runs",     "skewed", "outside"};
  return names[static_cast<int>(value)];
}

struct sample {
  distribution kind = distribution::exact;
  std::uint64_t seed = 1;
  std::size_t num_items = 0;
  std::size_t position = 0;      // of the spike, the NaN, the infinity
  std::int64_t limit = 1;        // exact: magnitudes up to this
  std::uint64_t sparseness = 1;  // exact: one item in this many is not zero
  // Histograms: values of the items' type, where the items are made; neighbours in a pixel go together.
  const void* table = nullptr;
  std::uint32_t table_items = 0, group = 1;
};

// `accumulator_bits`: of the accumulator's mantissa, 24 or 53; the sum of magnitudes stays within them.
inline sample make_sample(distribution kind, std::uint64_t seed, std::size_t num_items, int accumulator_bits = 24) {
  sample s{kind, seed, num_items};
  const std::size_t n = num_items == 0 ? 1 : num_items;
  const std::size_t last_of_warp = n > 32 ? n - n % 32 - 1 : n - 1, first_of_second_warp = n > 33 ? 32 : 0;
  const std::size_t positions[] = {0, n - 1, n / 2, last_of_warp, first_of_second_warp, detail::hash(seed, 77) % n};
  s.position = positions[detail::mix(seed) % std::size(positions)];
  const std::uint64_t budget = 1ull << (accumulator_bits > 40 ? 40 : accumulator_bits);
  s.limit = static_cast<std::int64_t>(budget / 2 / n);  // half of the budget is left for init
  if (s.limit == 0) {
    s.limit = 1;
    s.sparseness = (n + budget / 4 - 1) / (budget / 4);  // hashed: on average a quarter of the budget
  }
  return s;
}

// The second items of pairs: of the same kind. Where sums are to be exact, they are 1 or -1.
inline sample make_second(const sample& first, int accumulator_bits = 24) {
  sample s = make_sample(first.kind, detail::hash(first.seed, 91), first.num_items, accumulator_bits);
  if (s.kind == distribution::exact) s.limit = s.sparseness = 1;
  return s;
}

namespace detail {

template <class T>
inline constexpr T lowest_of = std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T highest_of = std::numeric_limits<T>::max();

template <class T>
__host__ __device__ T integer_item(const sample& s, std::size_t i) {
  const std::uint64_t h = hash(s.seed, i);
  constexpr T lowest = lowest_of<T>, highest = highest_of<T>;
  switch (s.kind) {
    case distribution::constant:
      return static_cast<T>(mix(s.seed) | 1);
    case distribution::spike:
      return i == s.position ? (s.seed & 1 ? lowest : highest) : static_cast<T>(5);
    case distribution::alternating:
      return i & 1 ? static_cast<T>(lowest + static_cast<T>(h & 7)) : static_cast<T>(highest - static_cast<T>(h & 7));
    case distribution::sorted: {
      const std::size_t rank = s.seed & 1 ? i : s.num_items - 1 - i;
      if constexpr (sizeof(T) == 8)
        return static_cast<T>(static_cast<std::uint64_t>(lowest) / 3 + rank * 0x10001);
      else {
        const std::uint64_t range = (1ull << (8 * sizeof(T))) - 1;
        return static_cast<T>(static_cast<std::int64_t>(lowest) +
                              static_cast<std::int64_t>(static_cast<double>(rank) / static_cast<double>(s.num_items) *
                                                        static_cast<double>(range)));
      }
    }
    case distribution::special: {
      const std::uint64_t pick = h % 5;
      return pick == 0 ? lowest : pick == 1 ? highest : pick == 2 ? T{0} : pick == 3 ? static_cast<T>(-1) : T{1};
    }
    default:
      return static_cast<T>(h);
  }
}

template <class T>
__host__ __device__ double float_item(const sample& s, std::size_t i) {
  const std::uint64_t h = hash(s.seed, i);
  constexpr int bits = std::is_same_v<T, f16> ? 11 : std::is_same_v<T, bf16> ? 8 : std::is_same_v<T, float> ? 24 : 50;
  constexpr double grain = 1.0 / static_cast<double>(1ull << (bits == 50 ? 30 : bits));
  const double infinity = bit_copy<double>(std::uint64_t{0x7ff} << 52);
  const double uniform = static_cast<double>(static_cast<std::int64_t>(h) >> (63 - bits)) * grain;
  switch (s.kind) {
    case distribution::exact: {
      if (s.sparseness > 1 && h % s.sparseness != 0 && i != 0 && i + 1 != s.num_items) return 0.0;
      const std::int64_t most = bits < 24 && s.limit > (std::int64_t{1} << bits) ? (std::int64_t{1} << bits) : s.limit;
      if (s.sparseness > 1 || most == 1) return h >> 63 ? -1.0 : 1.0;
      return static_cast<double>(static_cast<std::int64_t>((h >> 16) % static_cast<std::uint64_t>(2 * most + 1)) -
                                 most);
    }
    case distribution::constant:
      return s.seed & 1 ? -3.0 : 3.0;
    case distribution::spike:
      return i == s.position ? (s.seed & 1 ? -1024.0 : 1024.0) : 1.0;
    case distribution::alternating:
      return (i & 1 ? -1.0 : 1.0) * (h >> 63 ? 32768.0 : 16384.0);
    case distribution::sorted: {
      const std::size_t rank = s.seed & 1 ? i : s.num_items - 1 - i;
      constexpr int steps = bits > 24 ? 30 : bits;
      const auto step = static_cast<std::int64_t>(static_cast<double>(rank) / static_cast<double>(s.num_items) *
                                                  static_cast<double>(2ll << steps));
      return static_cast<double>(step - (1ll << steps)) * (1.0 / 64);
    }
    case distribution::special:
      switch (s.seed % num_special) {
        case 0: {
          constexpr double tiny = std::is_same_v<T, double> ? 4.9406564584124654e-324
                                  : std::is_same_v<T, f16>  ? 5.9604644775390625e-08
                                  : std::is_same_v<T, bf16> ? 9.183549615799121e-41
                                                            : 1.401298464324817e-45;
          return (h & 1 ? -tiny : tiny) * static_cast<double>(h >> 8 & 15);
        }
        case 1:
          return i == s.position ? bit_copy<double>(std::uint64_t{0x7ff8} << 48) : uniform;
        case 2:
          return i == s.position ? (s.seed & 8 ? -infinity : infinity) : uniform;
        case 3:
          return h % 3 == 0 ? (h & 64 ? infinity : -infinity) : h % 3 == 1 ? -0.0 : uniform;
        case 4:
          return -0.0;
        default:
          return h & 1 ? -0.0 : 0.0;
      }
    case distribution::wide: {
      constexpr int spread = std::is_same_v<T, f16> ? 12 : std::is_same_v<T, double> ? 200 : 50;
      const int exponent = static_cast<int>((h >> 8) % (2 * spread)) - spread;
      return uniform * bit_copy<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
    }
    default:
      return uniform;
  }
}

// Slopes are odd, so that each map can be undone and every later output depends on it; special ones forget or do
// nothing.
__host__ __device__ inline affine affine_item(const sample& s, std::size_t i) {
  const std::uint64_t h = hash(s.seed, i);
  const auto low = static_cast<std::uint32_t>(h), high = static_cast<std::uint32_t>(h >> 32);
  switch (s.kind) {
    case distribution::constant:
      return {static_cast<std::uint32_t>(mix(s.seed)) | 1u, 3};
    case distribution::spike:
      return i == s.position ? affine{3, 12345} : affine{1, 1};
    case distribution::sorted:
      return {1, static_cast<std::uint32_t>(i)};
    case distribution::special:
      return h % 5 == 0   ? affine{0, high}
             : h % 5 == 1 ? affine{1, 0}
             : h % 5 == 2 ? affine{~0u, high}
                          : affine{low | 1u, high};
    default:
      return {low | 1u, high};
  }
}

// Which entry of the table item i is.
__host__ __device__ inline std::size_t table_place(const sample& s, std::size_t i) {
  const std::uint64_t h = hash(s.seed, i), size = s.table_items;
  switch (s.kind) {
    case distribution::edges:
      return i / s.group < size ? i / s.group : h % size;
    case distribution::one_bin:
      return mix(s.seed) % size;
    case distribution::eight_hot:
      return hash(s.seed, h % 8) % size;
    case distribution::ascending: {
      const auto place = static_cast<std::size_t>(static_cast<double>(i) / static_cast<double>(s.num_items) *
                                                  static_cast<double>(size));
      const std::size_t last = size - 1, capped = place < last ? place : last;
      return s.seed & 1 ? capped : last - capped;
    }
    case distribution::runs:
      return hash(s.seed, i / (2 + mix(s.seed) % 61)) % size;
    case distribution::skewed:
      return h % size * ((h >> 32) % size) / size;
    default:
      return h % size;
  }
}

template <class T>
__host__ __device__ T histogram_item(const sample& s, std::size_t i) {
  if (s.kind == distribution::any_bits || s.table_items == 0) {
    const std::uint64_t h = hash(s.seed, i);
    if constexpr (sizeof(T) == 1)
      return bit_copy<T>(static_cast<std::uint8_t>(h));
    else if constexpr (sizeof(T) == 2)
      return bit_copy<T>(static_cast<std::uint16_t>(h));
    else if constexpr (sizeof(T) == 4)
      return bit_copy<T>(static_cast<std::uint32_t>(h));
    else
      return bit_copy<T>(h);
  }
  return static_cast<const T*>(s.table)[table_place(s, i)];
}

}  // namespace detail

template <class T>
__host__ __device__ T item(const sample& s, std::size_t i) {
  if (static_cast<int>(s.kind) >= first_of_histograms) return detail::histogram_item<T>(s, i);
  if constexpr (std::is_same_v<T, affine>)
    return detail::affine_item(s, i);
  else if constexpr (is_float<T>)
    return from_double<T>(detail::float_item<T>(s, i));
  else
    return detail::integer_item<T>(s, i);
}

}  // namespace rungs::tests
