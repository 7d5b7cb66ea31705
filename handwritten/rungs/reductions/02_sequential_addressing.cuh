// Rung 2. The upper half of the threads is folded onto the lower half.
// Against 01_divergent_tree: the active threads are contiguous, so whole warps retire and no warp diverges until the
// last five folds. The modulo goes away. Traffic and barriers stay the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/reduction_calls.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void sequential_addressing_kernel(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                             ReductionOpT reduction_op, T init) {
  __shared__ T partials[block_threads];
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  partials[threadIdx.x] = i < num_items ? static_cast<T>(d_in[i]) : ReductionOpT::template identity<T>();
  __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, partials[0]);
}

struct sequential_addressing : parts::reduces_in_passes<sequential_addressing> {
  static constexpr auto idea = "fold the upper half onto the lower, so that whole warps retire";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * items_per_thread, 8);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel =
      sequential_addressing_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
};

}  // namespace rungs::RUNGS_ABI::reductions
