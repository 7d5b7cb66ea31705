// cub::BlockReduce by BLOCK_REDUCE_RAKING.
#pragma once

#include <cub/block/block_reduce.cuh>

#include "rungs/collectives/parts/library_collective.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct cub_block_reduction_raking : parts::collective_calls<cub_block_reduction_raking> {
  static constexpr auto idea = "cub::BlockReduce, raking";
  static constexpr int block_threads = 256;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 256>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op op) {
    using block_reduce = cub::BlockReduce<T, threads, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename block_reduce::TempStorage temp_storage;
    value = block_reduce(temp_storage).Reduce(value, cub_operator(op));
    __syncthreads();  // the storage is used again
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
