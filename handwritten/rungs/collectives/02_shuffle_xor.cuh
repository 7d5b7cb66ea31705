// Rung 2. A butterfly of shuffles: lanes that differ in one bit exchange what they have.
// Against 01_shuffle_down: as many shuffles, and every lane has the result.
#pragma once

#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct shuffle_xor : parts::collective_calls<shuffle_xor> {
  static constexpr auto idea = "a butterfly of xor shuffles, the result in every lane";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
#pragma unroll
    for (int bit = 1; bit < threads; bit *= 2) value = op(value, __shfl_xor_sync(parts::mask_of<threads>, value, bit));
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
