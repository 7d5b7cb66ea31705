// Top-k by sorting all of a row: CUB's stable radix sort of ranks and columns, of which the first k are taken. Where
// there are several rows it sorts segments. Ranks are written first, because CUB orders NaN by their bits.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <climits>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>

#include "rungs/parts/top_k_calls.cuh"

namespace rungs::RUNGS_ABI::top_k {

template <int block_threads, class T>
__global__ void write_ranks_kernel(parts::top_k_rows<T> rows, unsigned num_items, unsigned* ranks, unsigned* columns) {
  const unsigned i = blockIdx.x * block_threads + threadIdx.x;
  if (i >= num_items) return;
  ranks[i] = static_cast<unsigned>(rows.at(i) >> 32);
  columns[i] = i % rows.num_columns;
}
template <int block_threads, class T>
__global__ void take_first_kernel(parts::top_k_rows<T> rows, unsigned num_results, const unsigned* columns) {
  const unsigned i = blockIdx.x * block_threads + threadIdx.x, row = i / rows.k, place = i % rows.k;
  if (i < num_results) rows.from(row).write(place, parts::no_column - columns[row * rows.num_columns + place]);
}

struct cub_device_sort {
  static constexpr auto idea = "cub::DeviceSegmentedRadixSort of ranks and columns, for one row DeviceRadixSort";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr std::size_t max_items = INT_MAX;

  struct offset_of_row {
    int num_columns;
    __host__ __device__ int operator()(int row) const { return row * num_columns; }
  };

  template <class T>
  static cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_keys_out,
                           unsigned* d_columns_out, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           cudaStream_t stream = nullptr) {
    const std::size_t num_items = num_rows * num_columns, array_bytes = (num_items + 63) / 64 * 256;
    if (num_items > max_items) return cudaErrorInvalidValue;
    const int n = static_cast<int>(num_items);
    const auto sort = [=](void* storage, std::size_t& bytes, char* arrays) {
      auto* const ranks = reinterpret_cast<unsigned*>(arrays);
      auto* const ranks_out = reinterpret_cast<unsigned*>(arrays + array_bytes);
      auto* const columns = reinterpret_cast<unsigned*>(arrays + 2 * array_bytes);
      auto* const columns_out = reinterpret_cast<unsigned*>(arrays + 3 * array_bytes);
      if (num_rows == 1)
        return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, ranks, ranks_out, columns, columns_out, n, 0,
                                                         32, stream);
      const auto offsets = thrust::make_transform_iterator(thrust::counting_iterator<int>(0),
                                                           offset_of_row{static_cast<int>(num_columns)});
      return cub::DeviceSegmentedRadixSort::SortPairsDescending(storage, bytes, ranks, ranks_out, columns, columns_out,
                                                                n, static_cast<int>(num_rows), offsets, offsets + 1, 0,
                                                                32, stream);
    };
    char* region;
    std::size_t sort_bytes = 0;
    cudaError_t error = sort(nullptr, sort_bytes, nullptr);
    if (error != cudaSuccess) return error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 4 * array_bytes + sort_bytes, region, error)) return error;
    if (num_items == 0 || k == 0) return error;
    const parts::top_k_rows<T> rows{d_in, d_keys_out, d_columns_out, static_cast<unsigned>(num_columns),
                                    static_cast<unsigned>(k)};
    error = parts::launch(write_ranks_kernel<block_threads, T>, parts::ceil_div(num_items, block_threads),
                          block_threads, stream, rows, num_items, reinterpret_cast<unsigned*>(region),
                          reinterpret_cast<unsigned*>(region + 2 * array_bytes));
    if (error == cudaSuccess) error = sort(region + 4 * array_bytes, sort_bytes, region);
    if (error != cudaSuccess) return error;
    return parts::launch(take_first_kernel<block_threads, T>, parts::ceil_div(num_rows * k, block_threads),
                         block_threads, stream, rows, num_rows * k,
                         reinterpret_cast<const unsigned*>(region + 3 * array_bytes));
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
