// Rung 0. A tree through shared memory, in which half of the threads add what the other half left, until one is left.
// Every level is a store, a barrier, a load and an operation; of one warp the barrier is __syncwarp.
#pragma once

#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct shared_memory : parts::collective_calls<shared_memory> {
  static constexpr auto idea = "a tree through shared memory, no shuffles";
  static constexpr int block_threads = 256;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32, 256>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    __shared__ T values[threads];
    const auto meet = [] {
      if constexpr (threads <= 32)
        __syncwarp(parts::mask_of<threads>);
      else
        __syncthreads();
    };
    values[threadIdx.x] = value;
#pragma unroll
    for (int offset = threads / 2; offset > 0; offset /= 2) {
      meet();
      if (threadIdx.x < offset) values[threadIdx.x] = value = op(value, values[threadIdx.x + offset]);
    }
    meet();  // before the next collective stores over what this one reads
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
