// Sums, minima and maxima of halves are accumulated as floats: a sum is rounded once, where it is written, NaN is seen
// as of any float, and rungs carry words faster than halves.
#pragma once

#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/parts/iterator_traits.cuh"

struct __half;
struct __nv_bfloat16;

namespace rungs::RUNGS_ABI::device {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// Whether a value that is read as From can be a float, and a float be written as Value.
template <class From, class Value>
using fits_float = std::conjunction<std::is_constructible<float, From>, std::is_assignable<Value&, float>>;

// What stands for T where it is read from one iterator and written by another: float for a half between plain memory,
// or T. Iterators of the caller's see his own types, and <cuda_fp16.h> may have been told not to convert.
template <class T, class InputIteratorT, class OutputIteratorT>
struct widening {
  using type = T;
};
template <class T, class InputIteratorT, class Value>
struct widening<T, InputIteratorT, Value*> {
  using From = typename std::iterator_traits<InputIteratorT>::reference;
  using type =
      std::conditional_t<std::conjunction_v<std::bool_constant<is_half<T>>, fits_float<From, Value>>, float, T>;
};
template <class T, class InputIteratorT, class OutputIteratorT>
using widened = typename widening<T, InputIteratorT, OutputIteratorT>::type;

// The accumulator of a call: see accumulator_of.
template <class Op, class InitT, class InputIteratorT, class OutputIteratorT,
          class T = accumulator_of<Op, InitT, parts::item_of<InputIteratorT>>>
using widened_accumulator =
    std::conditional_t<is_known<typename known_operator<Op>::type>, widened<T, InputIteratorT, OutputIteratorT>, T>;

}  // namespace rungs::RUNGS_ABI::device
