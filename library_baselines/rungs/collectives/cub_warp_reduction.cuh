// cub::WarpReduce, over a whole warp or the lower half of one.
#pragma once

#include <cub/warp/warp_reduce.cuh>

#include "rungs/collectives/parts/library_collective.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct cub_warp_reduction : parts::collective_calls<cub_warp_reduction> {
  static constexpr auto idea = "cub::WarpReduce";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    using warp_reduce = cub::WarpReduce<T, threads>;
    __shared__ typename warp_reduce::TempStorage temp_storage;
    return warp_reduce(temp_storage).Reduce(value, cub_operator(op));
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
