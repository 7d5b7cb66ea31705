// CUB's calls with an output for the item and one for its index.
#pragma once

#include <cub/device/device_reduce.cuh>

#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct cub_device_arg {
  static constexpr auto idea = "cub::DeviceReduce::ArgMin and ArgMax, with two outputs";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT,
                                  cudaStream_t stream = nullptr) {
    const auto n = static_cast<long long>(num_items);
    if constexpr (std::is_same_v<ReductionOpT, minimum>)
      return cub::DeviceReduce::ArgMin(d_temp_storage, temp_storage_bytes, d_in, d_item, d_index, n, stream);
    else
      return cub::DeviceReduce::ArgMax(d_temp_storage, temp_storage_bytes, d_in, d_item, d_index, n, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
