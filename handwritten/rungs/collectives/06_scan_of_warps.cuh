// Rung 6. An inclusive scan of a block: every warp scans by shuffles, then each thread adds up the aggregates of the
// warps before its own.
// Against 04_warps_of_warps: every thread needs a result, so nothing is left to one warp.
#pragma once

#include "rungs/parts/collective_calls.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct scan_of_warps : parts::collective_calls<scan_of_warps> {
  static constexpr auto idea = "an inclusive scan of each warp by shuffles, then the aggregates of the warps before";
  static constexpr int block_threads = 256;
  static constexpr bool is_scan = true;
  using groups = std::integer_sequence<int, 256>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    constexpr int num_warps = threads / parts::warp_threads;
    __shared__ T warp_aggregates[num_warps];
    const int lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
    value = parts::warp_scan(value, op);
    if (lane == parts::warp_threads - 1) warp_aggregates[warp] = value;
    __syncthreads();
    T before = Op::template identity<T>();
#pragma unroll
    for (int i = 0; i < num_warps - 1; ++i)
      if (i < warp) before = op(before, warp_aggregates[i]);
    __syncthreads();  // before the next collective stores over the aggregates
    return op(before, value);
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
