// CUB's newest call: one phase with an execution environment, told that no order of additions is asked for. Then CUB
// clears the output and adds each block's aggregate to it by an atomic, where cub_device_reduce starts a second kernel.
#pragma once

#include <cub/device/device_reduce.cuh>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/baselines/parts/one_phase.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_device_reduce_not_guaranteed {
  static constexpr auto idea = "cub::DeviceReduce::Reduce in one phase, no order guaranteed: an atomic per block";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, parts::value_of<InputIteratorT>, T>(reduction_op);
    return parts::in_one_phase(d_temp_storage, temp_storage_bytes, stream, [&](const auto& workspace) {
      const auto env =
          cuda::std::execution::env{workspace, cuda::execution::require(cuda::execution::determinism::not_guaranteed)};
      return cub::DeviceReduce::Reduce(d_in, d_out, num_items, library_op, init, env);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
