// Rung 8. Each thread adds up every num_threads-th item in a register, and the block sends one atomic.
// Against 07_chunk_per_thread: the lanes of a warp read neighbouring items, 4 sectors a load instead of 32. Against the
// trees below it: almost all additions happen in registers, and the tree runs once a block, not once every 512 items.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/reduction_calls.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class T, class ReductionOpT>
__global__ void grid_stride_kernel(InputIteratorT d_in, std::size_t num_items, T* d_out, ReductionOpT reduction_op) {
  const std::size_t thread = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  T value = ReductionOpT::template identity<T>();
#pragma unroll 1
  for (std::size_t i = thread; i < num_items; i += num_threads) value = reduction_op(value, static_cast<T>(d_in[i]));
  value = parts::block_reduce<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) parts::atomic_combine(d_out, value, reduction_op);
}

template <int block_threads_, int blocks_per_multiprocessor_>
struct grid_stride_shaped : parts::reduces_by_atomics<grid_stride_shaped<block_threads_, blocks_per_multiprocessor_>> {
  static constexpr auto idea = "a stride of the whole grid: coalesced, added up in registers, one atomic per block";
  static constexpr int block_threads = block_threads_, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class T, class ReductionOpT>
  static constexpr auto kernel = grid_stride_kernel<block_threads, InputIteratorT, T, ReductionOpT>;
};

using grid_stride = grid_stride_shaped<256, 8>;

}  // namespace rungs::RUNGS_ABI::reductions
