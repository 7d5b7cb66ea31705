// The operators of the ladders, each with its identity. Any other functor works too on the rungs that ask for none.
//
// minimum and maximum propagate NaN wherever it stands and order -0 before +0, so that their result does not depend on
// the order of the items. (CUB's and the standard library's return whichever operand the comparison leaves.)
// The identity of plus is -0: x + -0 is x for every x, where +0 would turn a sum of -0 into +0.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "rungs/version.cuh"

namespace rungs::v0 {

// Only the arithmetic types are known well enough to name an identity.
template <class T>
using if_arithmetic = std::enable_if_t<std::is_arithmetic_v<T>, T>;
template <class T, class Limits = std::numeric_limits<T>>
inline constexpr T greatest = Limits::has_infinity ? Limits::infinity() : Limits::max();
template <class T, class Limits = std::numeric_limits<T>>
inline constexpr T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();

// Two floats that compare equal differ in the sign of a zero at most: or-ing their bits makes it the negative one,
// and-ing the positive one, without a branch.
template <class T, class Combine>
__host__ __device__ T by_bits(T a, const T& b, Combine combine) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "float or double");
  std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long> of_a, of_b;
  memcpy(&of_a, &a, sizeof(T));
  memcpy(&of_b, &b, sizeof(T));
  of_a = combine(of_a, of_b);
  memcpy(&a, &of_a, sizeof(T));
  return a;
}

struct plus {
  template <class T>
  static __host__ __device__ constexpr if_arithmetic<T> identity() {
    return std::is_floating_point_v<T> ? T(-0.0) : T{};
  }
  template <class T>
  __host__ __device__ constexpr T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

struct minimum {
  template <class T>
  static __host__ __device__ constexpr if_arithmetic<T> identity() {
    return greatest<T>;
  }
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    if constexpr (std::is_floating_point_v<T>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
      if constexpr (sizeof(T) == 4) {
        float result;
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
        return result;
      }
#endif
      const T chosen = a < b || a != a ? a : b;
      return a == b ? by_bits(a, b, [](auto x, auto y) { return x | y; }) : chosen;
    } else {
      return b < a ? b : a;
    }
  }
};

struct maximum {
  template <class T>
  static __host__ __device__ constexpr if_arithmetic<T> identity() {
    return least<T>;
  }
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    if constexpr (std::is_floating_point_v<T>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
      if constexpr (sizeof(T) == 4) {
        float result;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
        return result;
      }
#endif
      const T chosen = a > b || a != a ? a : b;
      return a == b ? by_bits(a, b, [](auto x, auto y) { return x & y; }) : chosen;
    } else {
      return a < b ? b : a;
    }
  }
};

// The map x -> slope * x + offset, modulo 2^32: the element of a first-order linear recurrence. Applying f, then g, is
// a map again, but not the one of g, then f: the ladders' operator that does not commute.
struct affine {
  unsigned slope, offset;
};

struct compose {
  template <class T>
  static __host__ __device__ constexpr std::enable_if_t<std::is_same_v<T, affine>, T> identity() {
    return {1, 0};
  }
  // First `a`, then `b`.
  __host__ __device__ constexpr affine operator()(const affine& a, const affine& b) const {
    return {a.slope * b.slope, a.offset * b.slope + b.offset};
  }
};

// Whether Op names an identity for T: then rungs may pad with it.
template <class Op, class T, class = void>
inline constexpr bool has_identity = false;
template <class Op, class T>
inline constexpr bool has_identity<Op, T, std::void_t<decltype(Op::template identity<T>())>> = true;

}  // namespace rungs::v0
