// cub::BlockScan by BLOCK_SCAN_RAKING_MEMOIZE.
#pragma once

#include <cub/block/block_scan.cuh>

#include "rungs/collectives/parts/library_collective.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct cub_block_inclusive_scan_raking_memoize : parts::collective_calls<cub_block_inclusive_scan_raking_memoize> {
  static constexpr auto idea = "cub::BlockScan, raking memoize";
  static constexpr int block_threads = 256;
  static constexpr bool is_scan = true;
  using groups = std::integer_sequence<int, 256>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    using block_scan = cub::BlockScan<T, threads, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
    __shared__ typename block_scan::TempStorage temp_storage;
    block_scan(temp_storage).InclusiveScan(value, value, cub_operator(op));
    __syncthreads();  // the storage is used again
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
