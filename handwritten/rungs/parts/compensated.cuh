// Sums of two floats, of which the second holds what the first lacks: 48 bits, where every addition is told from its
// rounding.
#pragma once

#include <cuda_runtime.h>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

// PTX keeps these as they are written, whatever the compiler is allowed: -use_fast_math neither reorders nor contracts
// them, nor flushes their denormals to zero.
__device__ inline float rounded_sum(float a, float b) {
  float sum;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
  return sum;
}
__device__ inline float rounded_difference(float a, float b) {
  float difference;
  asm("sub.rn.f32 %0, %1, %2;" : "=f"(difference) : "f"(a), "f"(b));
  return difference;
}
__device__ inline double rounded_sum(double a, double b) { return __dadd_rn(a, b); }
__device__ inline double rounded_difference(double a, double b) { return __dsub_rn(a, b); }
__device__ inline float negated(float x) {
  float opposite;
  asm("neg.f32 %0, %1;" : "=f"(opposite) : "f"(x));
  return opposite;
}
__device__ inline bool is_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

// A compensation of nothing is -0: then a sum of -0 stays one.
struct alignas(8) compensated {
  float sum, compensation;

  compensated() = default;
  __host__ __device__ explicit compensated(float sum, float compensation = -0.0f)
      : sum(sum), compensation(compensation) {}

  // Rounded once. An infinity stays that infinity.
  __device__ operator float() const { return is_finite(compensation) ? rounded_sum(sum, compensation) : sum; }
};

// Knuth's two-sum: sum + compensation is exactly a + b.
__device__ inline compensated two_sum(float a, float b) {
  const float sum = rounded_sum(a, b), of_b = rounded_difference(sum, a);
  const float too_much_of_a = rounded_difference(rounded_difference(sum, of_b), a);
  return compensated(sum, negated(rounded_sum(too_much_of_a, rounded_difference(of_b, b))));
}
// Dekker's, where a is 0 or its exponent is no less than b's.
__device__ inline compensated fast_two_sum(float a, float b) {
  const float sum = rounded_sum(a, b);
  return compensated(sum, negated(rounded_difference(rounded_difference(sum, a), b)));
}

// Adds two of them. Of a sum that is infinite or NaN nothing is known to be lacking.
struct add_compensated {
  template <class T>
  static __host__ __device__ T identity() {
    return T(-0.0f);
  }
  // By value: of a reference that may be to either of two places the compiler makes a stack frame.
  __device__ compensated operator()(compensated a, compensated b) const {
    const compensated sums = two_sum(a.sum, b.sum);
    const float lacking = rounded_sum(sums.compensation, rounded_sum(a.compensation, b.compensation));
    return fast_two_sum(sums.sum, is_finite(sums.sum) ? lacking : -0.0f);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
