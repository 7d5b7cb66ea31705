// cg::inclusive_scan over a tile, whose size is known when compiling.
#pragma once

#include <cooperative_groups/scan.h>

#include "rungs/collectives/parts/library_collective.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct cg_tile_scan : parts::collective_calls<cg_tile_scan> {
  static constexpr auto idea = "cg::inclusive_scan over a tile";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = true;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    namespace cg = cooperative_groups;
    return cg::inclusive_scan(cg::tiled_partition<threads>(cg::this_thread_block()), value, group_operator<T>(op));
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
