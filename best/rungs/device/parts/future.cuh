// An initial value that is on the device, and is read when the scan runs.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/parts/iterator_traits.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI {

// As cub::FutureValue.
template <class T, class IterT = T*>
struct FutureValue {
  using value_type = T;
  using iterator_type = IterT;

  explicit __host__ __device__ FutureValue(IterT iter) : iter_(iter) {}
  __host__ __device__ operator T() const { return *iter_; }

 private:
  IterT iter_;
};
template <class IterT>
FutureValue(IterT) -> FutureValue<typename std::iterator_traits<IterT>::value_type, IterT>;

namespace device {

// cub::FutureValue is one, too: to convert it on the host would be to read the device's memory there.
template <class Init, class = void>
inline constexpr bool is_future = false;
template <class Init>
inline constexpr bool is_future<Init, std::enable_if_t<std::is_constructible_v<Init, typename Init::iterator_type> &&
                                                       std::is_convertible_v<Init, typename Init::value_type>>> = true;

template <class T, class Future>
__device__ T value_of(const Future& init) {
  return static_cast<T>(static_cast<typename Future::value_type>(init));
}

// Items as T, of which the first one is aggregated with the initial value already.
template <class T, class InputIteratorT, class Future, class Op>
struct begun {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = T;

  InputIteratorT d_in;
  Future init;
  Op op;
  std::size_t first = 0;

  template <class Offset>
  __device__ T operator[](Offset i) const {
    const T item = static_cast<T>(static_cast<parts::item_of<InputIteratorT>>(d_in[static_cast<difference_type>(i)]));
    return first + static_cast<std::size_t>(i) == 0 ? static_cast<T>(op(value_of<T>(init), item)) : item;
  }
  template <class Offset>
  __device__ begun operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), init, op, first + static_cast<std::size_t>(i)};
  }
};

// Outputs of which the first one is the initial value, whatever is assigned to it.
template <class T, class OutputIteratorT, class Future>
struct headed {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;

  struct reference {
    headed at;
    __device__ const reference& operator=(const T& value) const {
      OutputIteratorT to = at.d_out;
      *to = at.first == 0 ? value_of<T>(at.init) : value;
      return *this;
    }
  };

  OutputIteratorT d_out;
  Future init;
  std::size_t first = 0;

  __device__ reference operator*() const { return {*this}; }
  template <class Offset>
  __device__ reference operator[](Offset i) const {
    return {*this + i};
  }
  template <class Offset>
  __device__ headed operator+(Offset i) const {
    return {d_out + static_cast<difference_type>(i), init, first + static_cast<std::size_t>(i)};
  }
};

}  // namespace device
}  // namespace rungs::RUNGS_ABI
