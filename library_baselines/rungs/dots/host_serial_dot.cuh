// One core and the standard library, which may group the products as it likes.
#pragma once

#include <numeric>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::dots {

struct host_serial_dot {
  static constexpr auto idea = "std::transform_reduce on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t = nullptr) {
    return baselines::parts::on_host(d_temp_storage, temp_storage_bytes, d_out,
                                     [=] { return std::transform_reduce(d_x, d_x + num_items, d_y, T{}); });
  }
};

}  // namespace rungs::RUNGS_ABI::dots
