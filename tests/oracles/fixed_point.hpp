// A sum of doubles without rounding, narrow enough for a thread to keep: two's complement, in 64-bit words, of which
// the lowest bit weighs 2^grid. The device checker's own; the host oracle's superaccumulator shares nothing with it.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

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

  // Rounded to nearest even; into the denormals, where few bits are set, exactly.
  __host__ __device__ double rounded(int grid) const {
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
    if (top < 0) return 0.0;
    const int zeros = detail::leading_zeros(high);
    const std::uint64_t kept = zeros == 0 ? high : high << zeros | next >> (64 - zeros);
    sticky = sticky || (zeros == 0 ? next : next << zeros) != 0;
    const double result = std::ldexp(static_cast<double>(kept | (sticky ? 1u : 0u)), grid + 64 * top - zeros);
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

}  // namespace rungs::tests
