// For calls of the front door that are given operators of libcu++: cuda::std::plus, cuda::minimum and cuda::maximum are
// then taken for rungs::plus, minimum and maximum, which the rungs know. Without this header they work, too, as any
// other operator does, and more slowly. Not part of the headers of single calls, because <cuda/functional> takes a
// second to compile; rungs/rungs.cuh has it.
#pragma once

#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/limits>

#include "rungs/device/parts/types.cuh"

namespace rungs::RUNGS_ABI::device {

#ifndef __CUDACC_RTC__  // there std::plus is this one (rungs/nvrtc)
template <class T>
struct known_operator<cuda::std::plus<T>> {
  using type = plus;
  using accumulator = T;
};
template <class T>
inline constexpr bool is_order_free_on_integers<cuda::std::multiplies<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<cuda::std::bit_and<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<cuda::std::bit_or<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<cuda::std::bit_xor<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<cuda::std::logical_and<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<cuda::std::logical_or<T>> = true;
#endif
template <class T>
struct known_operator<cuda::minimum<T>> {
  using type = minimum;
  using accumulator = T;
};
template <class T>
struct known_operator<cuda::maximum<T>> {
  using type = maximum;
  using accumulator = T;
};

template <class Limits, class = void>
inline constexpr bool names_infinity = false;
template <class Limits>
inline constexpr bool names_infinity<Limits, std::enable_if_t<Limits::has_infinity>> = true;

template <class T>
struct other_limits<T, std::enable_if_t<cuda::std::numeric_limits<T>::is_specialized>> {
  using limits = cuda::std::numeric_limits<T>;
  static T highest() {
    if constexpr (names_infinity<limits>)
      return limits::infinity();
    else
      return limits::max();
  }
  static T lowest() {
    if constexpr (names_infinity<limits>)
      return -limits::infinity();
    else
      return limits::lowest();
  }
};

}  // namespace rungs::RUNGS_ABI::device
