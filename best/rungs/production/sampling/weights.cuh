// The weights of a row's tokens as integers. Sums of them do not depend on an order, so a cut and a draw repeat.
//
// A level is 2^17 (32 + log2(p / greatest p)), rounded: from 0 to 2^22. A weight is 2^31 p / greatest p, rounded, and a
// function of the level alone. It does not fall where the level rises. Level 0 has the weight 0, all others have more.
//
// All steps are additions, products and fused products of floats, rounded to nearest. Hosts and all GPUs agree in every
// bit, and the flags of the caller's build change none. Rounding the level changes a probability by up to 2^-18 of it.
#pragma once

#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "rungs/production/top_k/order.cuh"

namespace rungs::RUNGS_ABI::production {

using weight_sum = unsigned long long;

// Rounded to nearest, without contraction, and denormals stay.
namespace rounded {

#ifdef __CUDA_ARCH__
__device__ inline float add(float a, float b) {
  float result;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ inline float multiply(float a, float b) {
  float result;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ inline float fused(float a, float b, float c) {
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
// From 0 to 1, and 0 for NaN.
__device__ inline float saturated(float a, float b, float c) {
  float result;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
// 2^23 and the whole part, of what is not less than 0 and below 2^22.
__device__ inline float marked_whole(float value) {
  float result;
  asm("add.rm.f32 %0, %1, 0f4b000000;" : "=f"(result) : "f"(value));
  return result;
}
__device__ inline float divide(float a, float b) {
  float result;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ inline float greater(float a, float b) {  // the other one, where one is NaN
  float result;
  asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ inline float less(float a, float b) {
  float result;
  asm("min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
// 1 / value and 2^value, within 2^-22 of them; denormals become 0. Only for bounds and guesses.
__device__ inline float about_inverse(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
__device__ inline float about_power(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
__device__ inline unsigned bits_of(float value) { return __float_as_uint(value); }
__device__ inline float of_bits(unsigned bits) { return __uint_as_float(bits); }
__device__ inline unsigned to_unsigned(float value) { return __float2uint_rn(value); }
__device__ inline float to_float(unsigned value) { return __uint2float_rn(value); }
__device__ inline int to_int(float value) { return __float2int_rn(value); }
__device__ inline weight_sum upper_product(weight_sum a, weight_sum b) { return __umul64hi(a, b); }
#else
__host__ __device__ inline float add(float a, float b) { return a + b; }
__host__ __device__ inline float multiply(float a, float b) { return std::fma(a, b, 0.0f); }
__host__ __device__ inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
__host__ __device__ inline float saturated(float a, float b, float c) {
  return std::fmin(std::fmax(std::fma(a, b, c), 0.0f), 1.0f);
}
__host__ __device__ inline float about_inverse(float value) { return 1 / value; }
__host__ __device__ inline float about_power(float value) { return std::exp2(value); }
__host__ __device__ inline float marked_whole(float value) { return std::floor(value) + 0x1p23f; }
__host__ __device__ inline float divide(float a, float b) { return a / b; }
__host__ __device__ inline float greater(float a, float b) { return std::fmax(a, b); }
__host__ __device__ inline float less(float a, float b) { return std::fmin(a, b); }
__host__ __device__ inline unsigned bits_of(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
__host__ __device__ inline float of_bits(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}
__host__ __device__ inline unsigned to_unsigned(float value) { return static_cast<unsigned>(std::nearbyint(value)); }
__host__ __device__ inline float to_float(unsigned value) { return static_cast<float>(value); }
__host__ __device__ inline int to_int(float value) { return static_cast<int>(std::nearbyint(value)); }
__host__ __device__ inline weight_sum upper_product(weight_sum a, weight_sum b) {
  const weight_sum a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const weight_sum middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffff);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
#endif

}  // namespace rounded

inline constexpr int level_bits = 17;  // of a power of two
inline constexpr unsigned most_level = 32u << level_bits, most_weight = 1u << 31;

// Rows whose greatest probability is less have no token.
inline constexpr float least_greatest_probability = 0x1p-96f;

template <bool of_logits>
__host__ __device__ unsigned weight_of_level(unsigned level) {
  // The level's fraction as f of a float 1 + f, and 2^f or 1 + f.
  float mantissa = rounded::of_bits((level & ((1u << level_bits) - 1)) << (23 - level_bits) | 0x3f800000);
  if constexpr (of_logits) {
    const float f = rounded::add(mantissa, -1);
    float power = rounded::fused(0x1.e974fap-10f, f, 0x1.277856p-7f);
    power = rounded::fused(power, f, 0x1.c91ce6p-5f);
    power = rounded::fused(power, f, 0x1.ebdb56p-3f);
    power = rounded::fused(power, f, 0x1.62e4bap-1f);
    mantissa = rounded::fused(power, f, 1);
  }
  return rounded::to_unsigned(rounded::of_bits(rounded::bits_of(mantissa) + (((level >> level_bits) - 1) << 23)));
}

// What makes levels of a row's logits or probabilities. +inf counts as the greatest float.
template <bool of_logits>
struct row_levels {
  float greatest;  // of the row
  float factor;    // log2(e) / temperature, or 2^31 / greatest

  __host__ __device__ row_levels(float greatest_of_row, float logit_factor)
      : greatest(greatest_of_row == INFINITY ? FLT_MAX : greatest_of_row),
        factor(of_logits ? logit_factor : rounded::divide(0x1p31f, greatest)) {}

  __host__ __device__ bool is_none() const {
    return of_logits ? greatest == -INFINITY : !(greatest >= least_greatest_probability);
  }
  __host__ __device__ unsigned level(float value) const {
    if constexpr (of_logits) {
      // From 64 to 96, where a float's last bit is 2^-17. NaN becomes 64.
      const float binary = rounded::multiply(rounded::add(value, -greatest), factor);
      const float within = rounded::less(rounded::greater(binary, -32), 0);
      return rounded::bits_of(rounded::add(within, 96)) - rounded::bits_of(64);
    } else {
      const float scaled = rounded::multiply(value, factor);
      if (!(scaled > 0.5f)) return 0;
      constexpr int left_out = 23 - level_bits;  // bits of a float's fraction
      const unsigned level = (rounded::bits_of(scaled) - rounded::bits_of(0.5f) + (1u << left_out) / 2) >> left_out;
      return level < most_level ? level : most_level;
    }
  }

  // How much of a value is one binary logarithm of a weight, or one unit of a scaled probability. NaN where that is
  // next to nothing.
  __host__ __device__ float unit() const { return factor < 0x1p120f ? rounded::about_inverse(factor) : NAN; }
  // About the value that has a level, and how far off any may be that has. NaN where floats do not tell.
  struct about {
    float value, error;
  };
  __host__ __device__ about value_of(unsigned level, float unit) const {
    constexpr float of_value = 0x1p-20f, of_levels = 0x1p-14f;
    if constexpr (of_logits) {
      const float depth = rounded::fused(rounded::to_float(level), 1.0f / (1u << level_bits), -32),
                  value = rounded::fused(depth, unit, greatest);
      return {value, rounded::fused(std::fabs(value), of_value, rounded::multiply(of_levels, unit))};
    } else {
      const float scaled = rounded::of_bits(rounded::bits_of(0.5f) + (level << (23 - level_bits))),
                  value = rounded::multiply(scaled, unit);
      return {value, rounded::multiply(value, of_levels)};
    }
  }

  // The level too, and weight_of_level(level) in fewer steps.
  __host__ __device__ unsigned weight(float value, unsigned& level) const {
    if constexpr (of_logits) {
      const float binary = rounded::multiply(rounded::add(value, -greatest), factor);
      const float place = rounded::add(rounded::less(rounded::greater(binary, -32), 0), 96);
      level = rounded::bits_of(place) - rounded::bits_of(64);
      return weight_at(place);
    } else {
      level = this->level(value);
      return weight_of_level<false>(level);
    }
  }
  // The same without the level, where `greatest` was finite. The place tells values apart that have one weight. Places
  // do not fall where logits fall, or where probabilities rise.
  struct weighed {
    unsigned weight, place;
  };
  static constexpr float weightless = of_logits ? 32 : 0.5f;
  __host__ __device__ weighed weigh(float value) const {
    if constexpr (of_logits) {
      const float depth = rounded::less(rounded::multiply(rounded::add(greatest, -value), factor), weightless);
      return {weight_at(rounded::add(96, -depth)), rounded::bits_of(depth)};
    } else {
      // The level's bits are those of the rounded number. 0.5 and less, and NaN, become 0.
      constexpr unsigned unit = 1u << (23 - level_bits);
      const float scaled = rounded::greater(rounded::multiply(value, factor), weightless);
      const unsigned bits = rounded::bits_of(scaled);
      return {rounded::to_unsigned(rounded::of_bits((bits + unit / 2) & ~(unit - 1))), bits};
    }
  }
  __host__ __device__ unsigned weight(float value) const { return weigh(value).weight; }
  // This place, or the nearest one that may have a weight.
  static __host__ __device__ unsigned with_weight(unsigned place) {
    const unsigned without = rounded::bits_of(weightless);
    return of_logits ? (place < without ? place : without - 1) : (place > without ? place : without + 1);
  }

 private:
  // Of a logit's level as 64 + 2^-17 level, which is 64 + n + f. All of the polynomial is scaled by 2^-65, which is
  // exact, and adding 64 + n to its exponent gives 2^(n - 1) 2^f. Bits of 2^23 leave the word when they are shifted.
  static __host__ __device__ unsigned weight_at(float place) {
    const float whole = rounded::marked_whole(place);
    const float f = rounded::add(place, -rounded::add(whole, -0x1p23f));
    float power = rounded::fused(0x1.e974fap-75f, f, 0x1.277856p-72f);
    power = rounded::fused(power, f, 0x1.c91ce6p-70f);
    power = rounded::fused(power, f, 0x1.ebdb56p-68f);
    power = rounded::fused(power, f, 0x1.62e4bap-66f);
    power = rounded::fused(power, f, 0x1p-65f);
    return rounded::to_unsigned(rounded::of_bits(rounded::bits_of(power) + (rounded::bits_of(whole) << 23)));
  }
};

// The least level whose weight reaches `share` of the greatest one, for 0 to 1; at least 1.
template <bool of_logits>
unsigned least_level_of(float share) {
  unsigned low = 1, high = most_level;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (static_cast<double>(weight_of_level<of_logits>(middle)) >= std::ldexp(static_cast<double>(share), 31))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// What the first tokens have to sum up to: the least integer that is not less than share / 2^32 of `sum`, and not 0.
__host__ __device__ inline weight_sum share_of_sum(weight_sum sum, unsigned share) {
  const weight_sum factor = static_cast<weight_sum>(share) << 32;
  const weight_sum rounded_up = rounded::upper_product(sum, factor) + (sum * factor != 0);
  return rounded_up > 0 ? rounded_up : 1;
}

// A number from [0, 1) in units of 2^-64. Those beyond, and NaN, are as the nearest, and 0.
__host__ __device__ inline weight_sum fraction_of(float uniform) {
  if (!(uniform > 0)) return 0;
  if (uniform >= 1) return ~weight_sum{0};
  return static_cast<weight_sum>(uniform * 0x1p64f);
}

// A token of a row: its logit or probability in the order of floats, and of equals the smaller column is the greater.
__host__ __device__ inline candidate token_candidate(float value, unsigned column) {
  const unsigned ordered = key_order<std::uint32_t, true>{0, 0x7f800000}(rounded::bits_of(value));
  return static_cast<candidate>(ordered) << 32 | static_cast<unsigned>(~column);
}
__host__ __device__ inline unsigned column_of_token(candidate token) { return ~static_cast<unsigned>(token); }
__host__ __device__ inline float value_of_token(candidate token) {
  const unsigned ordered = static_cast<unsigned>(token >> 32);
  return rounded::of_bits(ordered >= 0x80000000 ? ordered - 0x80000000 : 0x80000000 | (0x80000000 - ordered));
}

}  // namespace rungs::RUNGS_ABI::production
