// Both extrema by CUB: ArgMin, then ArgMax on the same items and the same workspace.
#pragma once

#include <cub/device/device_reduce.cuh>

#include <algorithm>

#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct cub_device_arg_twice {
  static constexpr auto idea = "cub::DeviceReduce::ArgMin, then ArgMax";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;

  template <class T>
  static cudaError_t arg_extrema(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_min_item,
                                 long long* d_min_index, T* d_max_item, long long* d_max_index, std::size_t num_items,
                                 cudaStream_t stream = nullptr) {
    const auto n = static_cast<long long>(num_items);
    std::size_t min_bytes = temp_storage_bytes, max_bytes = temp_storage_bytes;
    cudaError_t error = cub::DeviceReduce::ArgMin(d_temp_storage, min_bytes, d_in, d_min_item, d_min_index, n, stream);
    if (error == cudaSuccess)
      error = cub::DeviceReduce::ArgMax(d_temp_storage, max_bytes, d_in, d_max_item, d_max_index, n, stream);
    if (d_temp_storage == nullptr) temp_storage_bytes = std::max(min_bytes, max_bytes);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
