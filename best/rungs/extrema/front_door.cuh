// What rungs::DeviceReduce::ArgMin and ArgMax answer, as a rung of its own.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/device/device_reduce.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct front_door {
  static constexpr auto idea = "rungs::DeviceReduce::ArgMin and ArgMax: ranks over indices, as few launches as a sum";
  static constexpr int block_threads = 512, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT,
                                  cudaStream_t stream = nullptr) {
    const auto n = static_cast<long long>(num_items);
    if constexpr (std::is_same_v<ReductionOpT, minimum>)
      return DeviceReduce::ArgMin(d_temp_storage, temp_storage_bytes, d_in, d_item, d_index, n, stream);
    else
      return DeviceReduce::ArgMax(d_temp_storage, temp_storage_bytes, d_in, d_item, d_index, n, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
