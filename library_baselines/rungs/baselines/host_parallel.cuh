// Every core and the standard library: std::reduce with par_unseq, which libstdc++ runs on oneTBB. Chosen over OpenMP
// because it is the call that a C++ programmer has; without TBB libstdc++ would quietly run it on one core, so
// CMakeLists.txt enrols this file only where TBB is found. Work stealing decides who adds what: floats do not repeat
// bit for bit.
#pragma once

#include <execution>
#include <numeric>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct host_parallel {
  static constexpr auto idea = "std::reduce with std::execution::par_unseq on every core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = false;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t = nullptr) {
    return parts::on_host(d_temp_storage, temp_storage_bytes, d_out, [=] {
      return std::reduce(std::execution::par_unseq, d_in, d_in + num_items, init, reduction_op);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
