// One core and the standard library.
#pragma once

#include <algorithm>
#include <type_traits>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"
#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct host_serial_extremum {
  static constexpr auto idea = "std::min_element and max_element on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr bool propagates_nan = false;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT, cudaStream_t = nullptr) {
    return baselines::parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      const T* found;
      if constexpr (std::is_same_v<ReductionOpT, minimum>)
        found = std::min_element(d_in, d_in + num_items);
      else
        found = std::max_element(d_in, d_in + num_items);
      *d_item = *found;
      *d_index = found - d_in;
    });
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
