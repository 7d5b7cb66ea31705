// Rung 1. The tree of the textbooks, neighbours first, in as many launches as it takes: the classic starting point.
// Against 00_atomic_per_element: no atomic, so the bits repeat. A block folds its items in shared memory with eight
// barriers, and the next launch reduces the blocks' aggregates. The active threads lie 2, 4, 8 … apart, so a warp stays
// busy until one lane of it is left.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/reduction_calls.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void divergent_tree_kernel(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                      ReductionOpT reduction_op, T init) {
  __shared__ T partials[block_threads];
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  partials[threadIdx.x] = i < num_items ? static_cast<T>(d_in[i]) : ReductionOpT::template identity<T>();
  __syncthreads();
  for (int stride = 1; stride < block_threads; stride *= 2) {
    if (threadIdx.x % (2 * stride) == 0)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, partials[0]);
}

struct divergent_tree : parts::reduces_in_passes<divergent_tree> {
  static constexpr auto idea = "a tree in shared memory over neighbours, one launch per level of blocks";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * items_per_thread, 8);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel = divergent_tree_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
};

}  // namespace rungs::RUNGS_ABI::reductions
