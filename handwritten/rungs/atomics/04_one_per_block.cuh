// Rung 4. One address only: threads join in registers, warps and blocks as in a reduction, and a block sends one
// atomic. Against 03_warp_aggregated: a thousand atomics or two in all, whatever the number of operations. What is left
// is the work of making the operations, so this is also the most that the other rungs could reach.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"
#include "rungs/parts/block.cuh"

namespace rungs::RUNGS_ABI::atomics {

template <int block_threads, class Op, class T>
__global__ void one_per_block_kernel(T* d_values, parts::updates work, Op op) {
  const std::size_t thread = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  T total = parts::updates::start<Op, T>();
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads)
    total = parts::together<Op>{}(total, work.value_of<Op, T>(i, work.bits_of(i)));
  total = parts::block_reduce<block_threads>(total, parts::together<Op>{});
  if (threadIdx.x == 0) parts::native_update(d_values, total, op);
}

struct one_per_block : parts::update_calls<one_per_block> {
  static constexpr auto idea = "threads of a block join first, and the block sends one atomic";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8, max_addresses = 1;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::has_native<Op, T> && !std::is_same_v<Op, exchange> && !parts::is_pair<T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch(one_per_block_kernel<block_threads, Op, T>, grid_blocks, block_threads, stream, d_values, work,
                         op);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
