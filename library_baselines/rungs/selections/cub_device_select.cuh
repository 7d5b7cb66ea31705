// CUB's call. It counts in 64 bits.
#pragma once

#include <cub/device/device_select.cuh>

#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::selections {

struct cub_device_select {
  static constexpr auto idea = "cub::DeviceSelect::If";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;

  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    return cub::DeviceSelect::If(d_temp_storage, temp_storage_bytes, d_in, d_out, d_num_selected_out,
                                 static_cast<long long>(num_items), select_op, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
