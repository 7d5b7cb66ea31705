// Rung 1. Five shuffles down: lane i adds what lane i + offset has.
// Against 00_shared_memory: a level is a shuffle and an operation; what is exchanged goes from register to register.
#pragma once

#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct shuffle_down : parts::collective_calls<shuffle_down> {
  static constexpr auto idea = "shuffles down, the result in lane 0";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
#pragma unroll
    for (int offset = threads / 2; offset > 0; offset /= 2)
      value = op(value, __shfl_down_sync(parts::mask_of<threads>, value, offset));
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
