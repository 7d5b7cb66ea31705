// A matrix in the device's memory, as all calls in rungs/rows/ take it: rows of items that lie side by side.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::rows {

template <class T>
struct matrix {
  T* data = nullptr;
  std::size_t num_rows = 0, num_columns = 0;
  std::size_t stride = 0;  // items from the beginning of one row to that of the next

  matrix() = default;
  matrix(T* data, std::size_t num_rows, std::size_t num_columns, std::size_t stride)
      : data(data), num_rows(num_rows), num_columns(num_columns), stride(stride) {}
  matrix(T* data, std::size_t num_rows, std::size_t num_columns) : matrix(data, num_rows, num_columns, num_columns) {}

  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  matrix(const matrix<U>& of) : matrix(of.data, of.num_rows, of.num_columns, of.stride) {}

  __host__ __device__ T* row(std::size_t index) const { return data + index * stride; }
};

// Most columns of a matrix.
inline constexpr std::size_t most_columns = 0x7fffffff;

// Whether a matrix may be read, or written where its rows do not overlap.
template <class T>
bool is_valid(const matrix<T>& of) {
  const bool is_empty = of.num_rows == 0 || of.num_columns == 0;
  const bool overlaps = !std::is_const_v<T> && of.num_rows > 1 && of.stride < of.num_columns;
  return of.num_columns <= most_columns && !overlaps && (is_empty || of.data != nullptr);
}

template <class A, class B>
bool same_shape(const matrix<A>& a, const matrix<B>& b) {
  return a.num_rows == b.num_rows && a.num_columns == b.num_columns;
}

// Whether 16-byte pieces of what begins here can be read at once. Null is.
inline bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }
template <class T>
bool is_aligned(const matrix<T>& of) {
  return is_aligned(of.data) && (of.num_rows <= 1 || of.stride * sizeof(T) % 16 == 0);
}

}  // namespace rungs::RUNGS_ABI::rows
