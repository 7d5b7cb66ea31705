// CUB's newest call: one phase with an execution environment, asked for the same bits run to run, which it promises for
// sums of floats. Then it adds up aggregates in a fixed order. On sm_90 it is also the only one of CUB's own choices
// that takes the kernel of cub_device_scan_lookahead.
#pragma once

#include "rungs/baselines/parts/one_phase_scan.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_device_scan_run_to_run : parts::one_phase_scan<cub_device_scan_run_to_run> {
  static constexpr auto idea = "cub::DeviceScan in one phase, asked for the same bits run to run";
  static constexpr int block_threads = 352, items_per_thread = 63;  // for floats, of which 128 threads scan
  static constexpr bool deterministic = true;

  template <class InputT, class T>
  static auto environment() {
    return cuda::execution::require(cuda::execution::determinism::run_to_run);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
