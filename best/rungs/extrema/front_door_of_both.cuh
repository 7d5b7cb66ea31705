// What rungs::DeviceReduce::ArgMinMax answers, as a rung of its own.
#pragma once

#include <cstddef>

#include "rungs/contract.cuh"
#include "rungs/device/device_reduce.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct front_door_of_both {
  static constexpr auto idea = "rungs::DeviceReduce::ArgMinMax: two ranks over indices of one read";
  static constexpr int block_threads = 512, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  template <class T>
  static cudaError_t arg_extrema(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_min_item,
                                 long long* d_min_index, T* d_max_item, long long* d_max_index, std::size_t num_items,
                                 cudaStream_t stream = nullptr) {
    return DeviceReduce::ArgMinMax(d_temp_storage, temp_storage_bytes, d_in, d_min_item, d_min_index, d_max_item,
                                   d_max_index, static_cast<long long>(num_items), stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
