// What calls need that promise the same bits on every device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/parts/iterator_traits.cuh"

namespace rungs::RUNGS_ABI::device {

// Whether a T accumulated by Op has the same bits in any order. minimum and maximum order NaN and zeros.
template <class Op, class T, class Known = typename known_operator<Op>::type>
inline constexpr bool is_order_free = std::is_integral_v<T> || is_wide_integer<T>
                                          ? is_order_free_on_integers<Known>
                                          : std::is_arithmetic_v<T> &&
                                                (std::is_same_v<Known, minimum> || std::is_same_v<Known, maximum>);

template <class T>
struct as {
  template <class Item>
  __host__ __device__ T operator()(const Item& item) const {
    return static_cast<T>(item);
  }
};

// An output iterator for a sum, to which init is added before it is written.
template <class OutputIteratorT, class T>
struct added_to {
  using iterator_category = std::output_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;

  struct reference {
    added_to to;
    __device__ const reference& operator=(const T& sum) const {
      OutputIteratorT d_out = to.d_out;
      *d_out = to.init + sum;
      return *this;
    }
  };

  OutputIteratorT d_out;
  T init;

  __device__ reference operator*() const { return {*this}; }
};

}  // namespace rungs::RUNGS_ABI::device
