// What rungs::DeviceSelect::If answers, as a rung of its own.
#pragma once

#include <cstddef>

#include "rungs/contract.cuh"
#include "rungs/device/device_select.cuh"

namespace rungs::RUNGS_ABI::selections {

struct front_door {
  static constexpr auto idea = "rungs::DeviceSelect::If: one pass with a look-back, many items in rounds of tiles";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    return DeviceSelect::If(d_temp_storage, temp_storage_bytes, d_in, d_out, d_num_selected_out,
                            static_cast<long long>(num_items), select_op, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
