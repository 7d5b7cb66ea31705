// From a sample to its bin: even widths between two levels, or arbitrary edges.
//
// Either kind is a small struct that a kernel takes by value. bin_of(sample) is exact for integers, whatever the levels
// and the number of bins; for floats it is CUB's formula, (sample - lower) * (num_bins / (upper - lower)) in the
// levels' type, so that a sample within rounding of an edge may count for the neighbour. What lies below the first
// level, not below the last one, or is NaN belongs to no bin: bin_of answers num_bins, where a kernel may keep a bin
// for refuse instead of a branch.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// A number of one byte, which is told by its bits. A struct that converts to a number is not.
template <class T>
inline constexpr bool is_byte = sizeof(T) == 1 && (std::is_integral_v<T> || std::is_enum_v<T>);

// What samples and levels are compared as: halves as floats, 32-bit integers of different signs as 64-bit ones.
template <class SampleT, class LevelT>
struct compared {
  using sample = std::conditional_t<is_half<SampleT>, float, SampleT>;
  using level = std::conditional_t<is_half<LevelT>, float, LevelT>;
  using common = std::common_type_t<sample, level>;
  static constexpr bool mixes_signs =
      std::is_integral_v<common> && std::is_unsigned_v<common> && std::is_signed_v<sample> != std::is_signed_v<level>;
  using type = std::conditional_t<mixes_signs && sizeof(common) <= 4, long long, common>;

  // Of 64-bit integers of different signs, whether one is beyond all that the other type holds.
  template <class T>
  static constexpr __host__ __device__ bool beyond(T value) {
    if constexpr (!mixes_signs || sizeof(common) <= 4)
      return false;
    else if constexpr (std::is_signed_v<T>)
      return value < 0;
    else
      return value >> 63 != 0;
  }
};

// The first 64 binary digits of remainder / divisor, a fraction below 1; leaves the remainder of that division.
inline unsigned long long binary_digits(unsigned long long& remainder, unsigned long long divisor) {
  unsigned long long digits = 0;
  for (int i = 0; i < 64; ++i) {
    const bool carry = remainder >> 63 != 0;
    remainder <<= 1;
    const bool digit = carry || remainder >= divisor;
    if (digit) remainder -= divisor;
    digits = digits << 1 | static_cast<unsigned long long>(digit);
  }
  return digits;
}

// num_bins / range, such that floor(offset * num_bins / range) comes without a division, exact for every offset below
// range: the fraction is rounded up by less than 2^-64 (2^-128 for 64-bit offsets), which is too little to reach the
// next integer.
template <class Offset>
struct even_scale;

template <>
struct even_scale<unsigned> {
  unsigned whole;
  unsigned high, low;  // of the fraction

  static even_scale of(unsigned num_bins, unsigned range) {
    unsigned long long remainder = num_bins % range;
    const unsigned long long digits = binary_digits(remainder, range) + (remainder != 0);
    return {num_bins / range, static_cast<unsigned>(digits >> 32), static_cast<unsigned>(digits)};
  }
  __device__ unsigned apply(unsigned offset) const {
    const unsigned long long carried = static_cast<unsigned long long>(offset) * high + __umulhi(offset, low);
    return offset * whole + static_cast<unsigned>(carried >> 32);
  }
};

template <>
struct even_scale<unsigned long long> {
  unsigned whole;
  unsigned long long high, low;

  static even_scale of(unsigned num_bins, unsigned long long range) {
    unsigned long long remainder = num_bins % range;
    even_scale scale{static_cast<unsigned>(num_bins / range), 0, 0};
    scale.high = binary_digits(remainder, range);
    scale.low = binary_digits(remainder, range) + (remainder != 0);
    scale.high += scale.low == 0 && remainder != 0;
    return scale;
  }
  __device__ unsigned apply(unsigned long long offset) const {
    const unsigned long long middle = offset * high;
    const unsigned long long carry = middle + __umul64hi(offset, low) < middle;
    return static_cast<unsigned>(offset * whole + __umul64hi(offset, high) + carry);
  }
};

// Integers: counts offsets from the lower level.
template <class SampleT, class LevelT, bool integral>
struct even_rule {
  using comparison = compared<SampleT, LevelT>;
  using number = typename comparison::type;
  using offset = std::conditional_t<sizeof(number) <= 4, unsigned, unsigned long long>;
  offset lower, range;
  even_scale<offset> scale;

  // False where there is no such rule.
  bool set(unsigned num_bins, LevelT lower_level, LevelT upper_level) {
    if (!(lower_level < upper_level)) return false;
    lower = static_cast<offset>(static_cast<number>(lower_level));
    range = static_cast<offset>(static_cast<number>(upper_level)) - lower;
    scale = even_scale<offset>::of(num_bins, range);
    return true;
  }
  __device__ unsigned bin_of(SampleT sample, unsigned num_bins) const {
    const offset from_lower = static_cast<offset>(static_cast<number>(sample)) - lower;
    const bool inside = from_lower < range && !comparison::beyond(sample);
    return inside ? scale.apply(from_lower) : num_bins;
  }
  // Whether each integer between the levels has a bin of its own.
  bool is_unit(unsigned num_bins) const { return range == num_bins; }
};

// Floats.
template <class SampleT, class LevelT>
struct even_rule<SampleT, LevelT, false> {
  using number = typename compared<SampleT, LevelT>::type;
  number lower, upper, scale;

  bool set(unsigned num_bins, LevelT lower_level, LevelT upper_level) {
    lower = static_cast<number>(lower_level);
    upper = static_cast<number>(upper_level);
    scale = static_cast<number>(num_bins) / (upper - lower);
    return lower < upper && std::isfinite(upper - lower) && std::isfinite(scale);
  }
  __device__ unsigned bin_of(SampleT sample, unsigned num_bins) const {
    const number value = static_cast<number>(sample);
    const unsigned bin = static_cast<unsigned>(static_cast<int>((value - lower) * scale));
    const unsigned last = num_bins - 1;
    return value >= lower && value < upper ? (bin < last ? bin : last) : num_bins;
  }
  bool is_unit(unsigned) const { return false; }
};

// `count` bins from `first` on, of bins that are found all the same.
template <class Bins>
struct part_of_bins {
  Bins all;
  unsigned first, num_bins;
  __device__ void prepare(void*) const {}
  __device__ unsigned bin_of(typename Bins::sample value) const {
    const unsigned bin = all.bin_of(value) - first;
    return bin < num_bins ? bin : num_bins;
  }
};

template <class SampleT, class LevelT>
struct even_bins {
  using sample = SampleT;
  static constexpr bool has_edges = false;
  unsigned num_bins = 0;
  even_rule<SampleT, LevelT, std::is_integral_v<typename compared<SampleT, LevelT>::type>> rule{};

  // cudaErrorInvalidValue unless there are two levels or more, the lower below the upper, and their distance and the
  // quotient of bins and distance are finite.
  cudaError_t set(int num_levels, LevelT lower_level, LevelT upper_level) {
    if (num_levels < 2) return cudaErrorInvalidValue;
    num_bins = static_cast<unsigned>(num_levels - 1);
    return rule.set(num_bins, lower_level, upper_level) ? cudaSuccess : cudaErrorInvalidValue;
  }
  __device__ unsigned bin_of(SampleT value) const { return rule.bin_of(value, num_bins); }
  bool is_unit() const { return rule.is_unit(num_bins); }

  // Nothing to keep near the threads; see range_bins.
  std::size_t edge_bytes() const { return 0; }
  __device__ even_bins staged(void*) const { return *this; }
  __device__ void prepare(void*) const {}

  __device__ part_of_bins<even_bins> part(unsigned first, unsigned count) const { return {*this, first, count}; }
};

// Even bins of integers, each as wide as one power of two: a subtraction, a shift and a minimum.
template <class SampleT, class LevelT>
struct shifted_bins {
  using sample = SampleT;
  using comparison = compared<SampleT, LevelT>;
  using number = typename comparison::type;
  using offset = std::conditional_t<sizeof(number) <= 4, unsigned, unsigned long long>;
  static constexpr bool has_edges = false;
  unsigned num_bins = 0;
  offset lower = 0;
  int shift = 0;

  // False where the bins of `even` are not so.
  bool set(const even_bins<SampleT, LevelT>& even) {
    num_bins = even.num_bins;
    lower = even.rule.lower;
    for (shift = 0; shift < 32; ++shift)
      if (even.rule.range == static_cast<offset>(static_cast<unsigned long long>(num_bins) << shift) &&
          even.rule.range >> shift == num_bins)
        return true;
    return false;
  }
  __device__ unsigned bin_of(SampleT value) const {
    const offset bin = (static_cast<offset>(static_cast<number>(value)) - lower) >> shift;
    return bin < num_bins && !comparison::beyond(value) ? static_cast<unsigned>(bin) : num_bins;
  }
  __device__ void prepare(void*) const {}

  // `count` of the bins from `first` on.
  __device__ shifted_bins part(unsigned first, unsigned count) const {
    shifted_bins some = *this;
    some.lower += static_cast<offset>(first) << shift;
    some.num_bins = count;
    return some;
  }
};

template <class SampleT, class LevelT>
struct range_bins {
  using sample = SampleT;
  using comparison = compared<SampleT, LevelT>;
  using number = typename comparison::type;
  static constexpr bool has_edges = true;
  unsigned num_bins = 0;
  const LevelT* levels = nullptr;  // num_bins + 1, ascending, where the kernel can read them

  cudaError_t set(int num_levels, const LevelT* d_levels) {
    if (num_levels < 2) return cudaErrorInvalidValue;
    num_bins = static_cast<unsigned>(num_levels - 1);
    levels = d_levels;
    return cudaSuccess;
  }
  // The last level that is not above the sample, by halving what is left.
  __device__ unsigned bin_of(SampleT value) const {
    const number wanted = static_cast<number>(value);
    const auto is_above = [&](unsigned i) {
      const LevelT level = levels[i];
      if (comparison::beyond(value)) return std::is_signed_v<SampleT>;
      if (comparison::beyond(level)) return !std::is_signed_v<LevelT>;
      return !(wanted >= static_cast<number>(level));  // true for NaN
    };
    if (is_above(0) || !is_above(num_bins)) return num_bins;
    unsigned first = 0, count = num_bins;
    while (count > 1) {
      const unsigned half = count / 2;
      if (!is_above(first + half)) first += half;
      count -= half;
    }
    return first;
  }
  bool is_unit() const { return false; }

  // Bytes of shared memory that all edges take; staged() has the block's threads copy them there, and the block meets
  // at a barrier before it calls bin_of on what staged() answers.
  std::size_t edge_bytes() const { return (std::size_t(num_bins) + 1) * sizeof(LevelT); }
  __device__ range_bins staged(void* shared) const {
    LevelT* const edges = static_cast<LevelT*>(shared);
    for (unsigned i = threadIdx.x; i <= num_bins; i += blockDim.x) edges[i] = levels[i];
    range_bins nearer = *this;
    nearer.levels = edges;
    return nearer;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
