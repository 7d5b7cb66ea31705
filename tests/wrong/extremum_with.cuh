// A place of the least or the greatest item, in which one bug can be planted: one block, whose pairs meet in shared
// memory. Both are two launches, of which the second has the bug.
#pragma once

#include "rungs/parts/placed.cuh"
#include "wrong/bug.cuh"

namespace rungs::wrong {

template <bug planted, class Op, class T>
__device__ parts::placed<T> better_pair(const parts::placed<T>& a, const parts::placed<T>& b) {
  if (a.index == parts::nowhere || b.index == parts::nowhere) return a.index == parts::nowhere ? b : a;
  if constexpr (planted == bug::last_of_equals) {
    return parts::is_better<Op>(a.item, b.item) || (!parts::is_better<Op>(b.item, a.item) && a.index > b.index) ? a : b;
  } else if constexpr (planted == bug::nan_never_less) {
    return b.item < a.item || (b.item == a.item && b.index < a.index) ? b : a;
  } else {
    return parts::first_of<Op>{}(a, b);
  }
}

template <bug planted, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    extremum_kernel(const T* d_in, std::size_t num_items, T* d_item, long long* d_index, Op) {
  __shared__ parts::placed<T> pairs[block_threads];
  parts::placed<T> best = parts::no_item<Op, T>();
  for (std::size_t i = threadIdx.x; i < num_items; i += block_threads)
    best = better_pair<planted, Op>(
        best, {d_in[i], static_cast<long long>(planted == bug::index_in_the_tile ? i % tile : i)});
  pairs[threadIdx.x] = best;
  __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      pairs[threadIdx.x] = better_pair<planted, Op>(pairs[threadIdx.x], pairs[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) parts::write_place(pairs[0], d_item, d_index);
}

template <bug planted>
struct extremum_with : variant {
  static constexpr contents temp_storage = contents::none;

  template <class T, class Op>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, Op op, cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    return parts::launch(extremum_kernel<planted, T, Op>, 1, block_threads, stream, d_in, num_items, d_item, d_index,
                         op);
  }
};

template <bug planted>
struct extrema_with : variant {
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t arg_extrema(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_min_item,
                                 long long* d_min_index, T* d_max_item, long long* d_max_index, std::size_t num_items,
                                 cudaStream_t stream = nullptr) {
    const bool is_query = d_temp_storage == nullptr;
    const cudaError_t error = extremum_with<bug::none>::arg_extremum(
        d_temp_storage, temp_storage_bytes, d_in, d_min_item, d_min_index, num_items, minimum{}, stream);
    if (is_query || error != cudaSuccess) return error;
    return extremum_with<planted>::arg_extremum(d_temp_storage, temp_storage_bytes, d_in, d_max_item, d_max_index,
                                                num_items, maximum{}, stream);
  }
};

}  // namespace rungs::wrong
