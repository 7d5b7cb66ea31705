// One core and the standard library. std::reduce rather than std::accumulate: it may group the items as it likes, so
// the additions do not form one chain (libstdc++ takes four at a time).
#pragma once

#include <numeric>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct host_serial {
  static constexpr auto idea = "std::reduce on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t = nullptr) {
    return parts::on_host(d_temp_storage, temp_storage_bytes, d_out,
                          [=] { return std::reduce(d_in, d_in + num_items, init, reduction_op); });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
