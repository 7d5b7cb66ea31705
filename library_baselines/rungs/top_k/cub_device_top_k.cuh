// CUB's top-k since CCCL 3.3, a call a row. It leaves ties and the order open, and orders NaN by their bits. So it gets
// what the other rungs order by, words of rank and column, and CUB sorts its k words. rungs_top_k times it on the bare
// keys.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_topk.cuh>
#include <cuda/stream_ref>

#include "rungs/parts/top_k_calls.cuh"

namespace rungs::RUNGS_ABI::top_k {

template <class T>
__global__ void write_words_kernel(parts::top_k_rows<T> row, const parts::candidate* words) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < row.k) row.write(i, words[i]);
}

struct cub_device_top_k {
  static constexpr auto idea = "cub::DeviceTopK and a sort, on words of rank and column, a call a row";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;

  template <class T>
  struct word_of_column {
    const T* row;
    __device__ parts::candidate operator()(unsigned column) const { return parts::candidate_of(row[column], column); }
  };

  template <class T>
  static cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_keys_out,
                           unsigned* d_columns_out, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           cudaStream_t stream = nullptr) {
    const auto environment = cuda::std::execution::env{
        cuda::stream_ref{stream}, cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                           cuda::execution::output_ordering::unsorted)};
    const auto choose = [=](void* storage, std::size_t& bytes, const T* row, parts::candidate* words) {
      const auto all = thrust::make_transform_iterator(thrust::counting_iterator<unsigned>(0), word_of_column<T>{row});
      return cub::DeviceTopK::MaxKeys(storage, bytes, all, words, num_columns, k, environment);
    };
    const auto sort = [=](void* storage, std::size_t& bytes, parts::candidate* words) {
      return cub::DeviceRadixSort::SortKeysDescending(storage, bytes, words, words + k, k, 0, 64, stream);
    };
    const std::size_t word_bytes = (2 * k * sizeof(parts::candidate) + 255) / 256 * 256;
    char* region;
    std::size_t choose_bytes = 0, sort_bytes = 0;
    cudaError_t error = choose(nullptr, choose_bytes, nullptr, nullptr);
    if (error == cudaSuccess) error = sort(nullptr, sort_bytes, nullptr);
    if (error != cudaSuccess) return error;
    const std::size_t most_bytes = choose_bytes > sort_bytes ? choose_bytes : sort_bytes;
    if (parts::answered(d_temp_storage, temp_storage_bytes, word_bytes + most_bytes, region, error) || k == 0)
      return error;
    auto* const words = reinterpret_cast<parts::candidate*>(region);
    const parts::top_k_rows<T> rows{d_in, d_keys_out, d_columns_out, static_cast<unsigned>(num_columns),
                                    static_cast<unsigned>(k)};
    for (std::size_t i = 0; error == cudaSuccess && i < num_rows; ++i) {
      const auto row = rows.from(i);
      error = choose(region + word_bytes, choose_bytes, row.items, words);
      if (error == cudaSuccess) error = sort(region + word_bytes, sort_bytes, words);
      if (error == cudaSuccess)
        error = parts::launch(write_words_kernel<T>, parts::ceil_div(k, block_threads), block_threads, stream, row,
                              static_cast<const parts::candidate*>(words + k));
    }
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
