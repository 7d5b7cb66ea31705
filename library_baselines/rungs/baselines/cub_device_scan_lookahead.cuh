// CUB's newest call, tuned: its "lookahead" kernel, which it takes by itself from sm_100 on, already on sm_90. A
// persistent block a multiprocessor, its warps divided into squads: one loads tiles by bulk copies, four reduce, four
// scan and store, one adds up the aggregates of the tiles ahead. Measured on an H100 (NVIDIA/cccl issue 9830) it is
// well ahead for large inputs of 2 bytes and behind elsewhere, so that CUB left it off; an expert with such inputs
// turns it on.
#pragma once

#include "rungs/baselines/parts/one_phase_scan.cuh"

namespace rungs::RUNGS_ABI::baselines {

// The shape that CUB takes on sm_90 where it has to (run to run), which is its general one for sm_100.
template <class InputT, class T>
struct lookahead_policy {
  __host__ __device__ constexpr cub::ScanPolicy operator()(cuda::compute_capability cc) const {
    constexpr int in = sizeof(InputT), accumulator = sizeof(T);
    const cub::ScanLookbackPolicy lookback{128,
                                           accumulator <= 4 ? 15 : 7,
                                           cub::BLOCK_LOAD_WARP_TRANSPOSE,
                                           cub::LOAD_DEFAULT,
                                           cub::BLOCK_STORE_WARP_TRANSPOSE,
                                           cub::BLOCK_SCAN_WARP_SCANS,
                                           {cub::LookbackDelayAlgorithm::fixed_delay, 350, 450}};
    const cub::ScanLookaheadPolicy lookahead{4, 256 / (in == 2 ? 2 : accumulator) - 1, 4};
    const bool can = cc >= cuda::compute_capability{9, 0};
    return {can ? cub::ScanAlgorithm::lookahead : cub::ScanAlgorithm::lookback, lookback, lookahead};
  }
};

struct cub_device_scan_lookahead : parts::one_phase_scan<cub_device_scan_lookahead> {
  static constexpr auto idea = "cub::DeviceScan in one phase, tuned to the pipelined kernel that it keeps for sm_100";
  static constexpr int block_threads = 352, items_per_thread = 63;  // for 4 bytes, of which 128 threads scan
  static constexpr int min_cc = 90;
  static constexpr bool deterministic = false;

  template <class InputT, class T>
  static auto environment() {
    return cuda::execution::tune(lookahead_policy<InputT, T>{});
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
