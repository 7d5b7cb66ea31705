// Top-k of rows in which one bug can be planted: a block a row, a round of pairs in shared memory for each result.
#pragma once

#include "wrong/extremum_with.cuh"

namespace rungs::wrong {

template <bug planted, class T>
__global__ void __launch_bounds__(block_threads)
    top_k_kernel(const T* d_in, T* d_keys_out, unsigned* d_columns_out, std::size_t num_columns, std::size_t k) {
  __shared__ parts::placed<T> pairs[block_threads];
  constexpr bug ties = planted == bug::last_of_equals ? planted : bug::none;
  const T* const row = d_in + blockIdx.x * num_columns;
  const std::size_t whole = num_columns - num_columns % tile;
  const std::size_t end = planted == bug::last_tile_dropped && whole >= k ? whole : num_columns;
  parts::placed<T> last = parts::no_item<maximum, T>();
  for (std::size_t place = 0; place < k; ++place) {
    parts::placed<T> best = parts::no_item<maximum, T>();
    for (std::size_t i = threadIdx.x; i < end; i += block_threads) {
      parts::placed<T> each{row[i], static_cast<long long>(i)};
      if (planted == bug::nan_never_less && each.item != each.item) each.item = maximum::identity<T>();
      const bool is_left =
          place == 0 || (each.index != last.index && better_pair<ties, maximum>(last, each).index == last.index);
      if (is_left) best = better_pair<ties, maximum>(best, each);
    }
    pairs[threadIdx.x] = best;
    __syncthreads();
    for (int stride = block_threads / 2; stride > 0; stride /= 2) {
      if (threadIdx.x < stride)
        pairs[threadIdx.x] = better_pair<ties, maximum>(pairs[threadIdx.x], pairs[threadIdx.x + stride]);
      __syncthreads();
    }
    last = pairs[0];
    if (threadIdx.x == 0) {
      d_keys_out[blockIdx.x * k + place] = row[last.index];
      d_columns_out[blockIdx.x * k + place] = static_cast<unsigned>(last.index);
    }
    __syncthreads();
  }
}

template <bug planted>
struct top_k_with : variant {
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t max_k = 100;

  template <class T>
  static cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_keys_out,
                           unsigned* d_columns_out, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_rows == 0 || k == 0) return error;
    return parts::launch(top_k_kernel<planted, T>, num_rows, block_threads, stream, d_in, d_keys_out, d_columns_out,
                         num_columns, k);
  }
};

}  // namespace rungs::wrong
