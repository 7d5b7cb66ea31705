// cub::WarpScan, over a whole warp or the lower half of one.
#pragma once

#include <cub/warp/warp_scan.cuh>

#include "rungs/collectives/parts/library_collective.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct cub_warp_inclusive_scan : parts::collective_calls<cub_warp_inclusive_scan> {
  static constexpr auto idea = "cub::WarpScan";
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = true;
  using groups = std::integer_sequence<int, 16, 32>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    using warp_scan = cub::WarpScan<T, threads>;
    __shared__ typename warp_scan::TempStorage temp_storage;
    warp_scan(temp_storage).InclusiveScan(value, value, cub_operator(op));
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
