// Rung 4. A block: every warp reduces by shuffles, and the first one reduces the warps' aggregates.
// Against 00_shared_memory: two barriers instead of nine, of which one only keeps two collectives apart.
#pragma once

#include "rungs/parts/block.cuh"
#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct warps_of_warps : parts::collective_calls<warps_of_warps> {
  static constexpr auto idea = "warps by shuffles or redux, their aggregates through shared memory to the first warp";
  static constexpr int block_threads = 256;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 256>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    value = parts::block_reduce<threads>(value, op);
    __syncthreads();  // before the next collective stores over the aggregates
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
