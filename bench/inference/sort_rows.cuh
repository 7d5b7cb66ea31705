// Rows of keys with their columns sorted by CUB, the greatest first: what top-k and top-p begin with where CUB has no
// top-k of its own.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>

namespace rungs::bench::inference {

struct begin_of_row {
  long long num_columns;
  __host__ __device__ long long operator()(long long row) const { return row * num_columns; }
};

// CUB's two-phase contract. d_columns holds each key's column. Radix sorts are stable: of equals the first comes first.
template <class T>
cudaError_t sort_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_keys, T* d_sorted_keys,
                      const int* d_columns, int* d_sorted_columns, std::size_t num_rows, std::size_t num_columns,
                      cudaStream_t stream) {
  const auto num_items = static_cast<long long>(num_rows * num_columns);
  constexpr int num_bits = 8 * sizeof(T);
  if (num_rows == 1)
    return cub::DeviceRadixSort::SortPairsDescending(d_temp_storage, temp_storage_bytes, d_keys, d_sorted_keys,
                                                     d_columns, d_sorted_columns, num_items, 0, num_bits, stream);
  const auto begins = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0),
                                                      begin_of_row{static_cast<long long>(num_columns)});
  return cub::DeviceSegmentedRadixSort::SortPairsDescending(
      d_temp_storage, temp_storage_bytes, d_keys, d_sorted_keys, d_columns, d_sorted_columns, num_items,
      static_cast<long long>(num_rows), begins, begins + 1, 0, num_bits, stream);
}

}  // namespace rungs::bench::inference
