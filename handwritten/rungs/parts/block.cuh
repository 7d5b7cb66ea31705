// Reducing over the threads of a block: warps by shuffles, their aggregates through shared memory, one barrier.
#pragma once

#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::parts {

// The aggregate of the block's values, valid in thread 0. All threads call it; between two calls they meet at a
// barrier, because the calls share their shared memory.
template <int block_threads, class T, class ReductionOpT>
__device__ T block_reduce(T value, ReductionOpT reduction_op) {
  static_assert(block_threads % warp_threads == 0 && block_threads <= 1024);
  constexpr int num_warps = block_threads / warp_threads;
  value = warp_reduce(value, reduction_op);
  if constexpr (num_warps > 1) {
    __shared__ T warp_aggregates[num_warps];
    const int lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
    if (lane == 0) warp_aggregates[warp] = value;
    __syncthreads();
    if (warp == 0) value = warp_reduce<num_warps>(warp_aggregates[lane % num_warps], reduction_op);
  }
  return value;
}

}  // namespace rungs::RUNGS_ABI::parts
