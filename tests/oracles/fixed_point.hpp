// A sum of doubles without rounding: two's complement, in 64-bit words, of which the lowest bit weighs 2^grid. Few
// words are narrow enough for a thread to keep, many are wide enough for every double. f32 items are doubles, too.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "oracles/samples.hpp"

namespace rungs::tests {

namespace detail {

__host__ __device__ inline int leading_zeros(std::uint64_t x) {  // not of 0
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}
__host__ __device__ inline int trailing_zeros(std::uint64_t x) {  // not of 0
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

// |value| = significand * 2^exponent, of a finite value.
struct taken_apart {
  std::uint64_t significand;
  int exponent;
  bool negative;
};
__host__ __device__ inline taken_apart take_apart(double value) {
  const auto bits = bit_copy<std::uint64_t>(value);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((1ull << 52) - 1);
  return {biased == 0 ? fraction : fraction | 1ull << 52, (biased == 0 ? 1 : biased) - 1075, bits >> 63 != 0};
}

}  // namespace detail

template <int num_words>
struct fixed_point {
  std::uint64_t words[num_words] = {};

  // Whether |value| leaves room for a sum: two bits of it.
  static __host__ __device__ bool holds(double value, int grid) {
    return std::fabs(value) < std::ldexp(1.0, 64 * num_words + grid - 3);
  }

  // A finite value that it holds. What lies below the grid is cut off.
  __host__ __device__ void add(double value, int grid) {
    const detail::taken_apart parts = detail::take_apart(value);
    std::uint64_t significand = parts.significand;
    int shift = parts.exponent - grid;
    if (shift <= -64 || significand == 0) return;
    if (shift < 0) {
      significand >>= -shift;
      shift = 0;
    }
    const int word = shift / 64, bit = shift % 64;
    const std::uint64_t low = significand << bit, high = bit == 0 ? 0 : significand >> (64 - bit);
    bool carry = false;
    for (int w = 0; w < num_words; ++w) {  // all of them: indices that the compiler knows stay in registers
      const std::uint64_t part = w == word ? low : w == word + 1 ? high : 0;
      carry = parts.negative ? subtract_word(w, part, carry) : add_word(w, part, carry);
    }
  }

  __host__ __device__ void add(const fixed_point& other) {
    bool carry = false;
    for (int w = 0; w < num_words; ++w) carry = add_word(w, other.words[w], carry);
  }

  // Rounded once, to nearest even, to float or double: infinity where it overflows. An exact zero is +0.
  template <class Float>
  __host__ __device__ Float rounded(int grid) const {
    const bool negative = words[num_words - 1] >> 63 != 0;
    fixed_point magnitude;
    if (negative) {
      bool borrow = false;
      for (int w = 0; w < num_words; ++w) borrow = magnitude.subtract_word(w, words[w], borrow);
    } else {
      magnitude = *this;
    }
    int top = -1;
    std::uint64_t high = 0, next = 0;
    bool sticky = false;
    for (int w = num_words - 1; w >= 0; --w) {
      const std::uint64_t word = magnitude.words[w];
      if (top < 0) {
        if (word != 0) top = w, high = word;
      } else if (w == top - 1) {
        next = word;
      } else {
        sticky = sticky || word != 0;
      }
    }
    if (top < 0) return Float{0};
    const int zeros = detail::leading_zeros(high);
    const std::uint64_t kept = zeros == 0 ? high : high << zeros | next >> (64 - zeros);  // its lowest bit: 2^lowest
    sticky = sticky || (zeros == 0 ? next : next << zeros) != 0;
    const int lowest = grid + 64 * top - zeros;
    // The weight of the result's last place, and how many bits are below it.
    constexpr int digits = std::numeric_limits<Float>::digits;
    constexpr int least_place = std::numeric_limits<Float>::min_exponent - digits;
    const int place = lowest + 64 - digits < least_place ? least_place : lowest + 64 - digits, dropped = place - lowest;
    if (dropped > 64) return negative ? -Float{0} : Float{0};
    std::uint64_t rounded_off = dropped == 64 ? 0 : kept >> dropped;
    const std::uint64_t half = 1ull << (dropped - 1), rest = kept & (half | (half - 1));
    if (rest > half || (rest == half && (sticky || (rounded_off & 1) != 0))) ++rounded_off;
    const auto result = static_cast<Float>(std::ldexp(static_cast<double>(rounded_off), place));
    return negative ? -result : result;
  }

 private:
  __host__ __device__ bool add_word(int w, std::uint64_t part, bool carry) {
    const std::uint64_t sum = words[w] + part, with_carry = sum + (carry ? 1u : 0u);
    words[w] = with_carry;
    return sum < part || with_carry < sum;
  }
  __host__ __device__ bool subtract_word(int w, std::uint64_t part, bool borrow) {
    const std::uint64_t before = words[w], difference = before - part;
    words[w] = difference - (borrow ? 1u : 0u);
    return before < part || (difference == 0 && borrow);
  }
};

// Wide enough for every finite double, and for carries.
struct superaccumulator : private fixed_point<36> {
  void add(double finite) { fixed_point::add(finite, lowest_exponent); }
  void add(const superaccumulator& other) { fixed_point::add(other); }
  template <class Float>
  Float rounded() const {
    return fixed_point::rounded<Float>(lowest_exponent);
  }

 private:
  static constexpr int lowest_exponent = -1074;
};

}  // namespace rungs::tests
