// cg::reduce over the threads that happen to be here: how many, only the GPU knows.
#pragma once

#include "rungs/collectives/parts/library_collective.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct cg_coalesced_reduction : parts::collective_calls<cg_coalesced_reduction> {
  static constexpr auto idea = "cg::reduce over a coalesced group";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    namespace cg = cooperative_groups;
    return cg::reduce(cg::coalesced_threads(), value, group_operator<T>(op));
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
