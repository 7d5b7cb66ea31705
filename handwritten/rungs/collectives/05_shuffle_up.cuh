// Rung 5. An inclusive scan of a warp: lane i adds what lane i - offset has, where there is one.
// Against 01_shuffle_down: as many shuffles; a lane that has no such neighbour must not add.
#pragma once

#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct shuffle_up : parts::collective_calls<shuffle_up> {
  static constexpr auto idea = "an inclusive scan by shuffles up";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = true;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
#pragma unroll
    for (int offset = 1; offset < threads; offset *= 2) {
      const T before = __shfl_up_sync(parts::mask_of<threads>, value, offset);
      if (threadIdx.x >= offset) value = op(before, value);
    }
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
