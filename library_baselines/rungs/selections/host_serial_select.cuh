// One core and the standard library.
#pragma once

#include <algorithm>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::selections {

struct host_serial_select {
  static constexpr auto idea = "std::copy_if on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t = nullptr) {
    return baselines::parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      *d_num_selected_out = std::copy_if(d_in, d_in + num_items, d_out, select_op) - d_out;
    });
  }
};

}  // namespace rungs::RUNGS_ABI::selections
