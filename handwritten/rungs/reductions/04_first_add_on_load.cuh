// Rung 4. Each thread adds two items on the way in.
// Against 02_sequential_addressing: half the blocks for the same items, and no thread that only loads. Two loads are in
// flight instead of one.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/reduction_calls.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void first_add_on_load_kernel(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                         ReductionOpT reduction_op, T init) {
  __shared__ T partials[block_threads];
  const std::size_t i = std::size_t(blockIdx.x) * block_threads * 2 + threadIdx.x;
  T value = ReductionOpT::template identity<T>();
  if (i < num_items) value = static_cast<T>(d_in[i]);
  if (i + block_threads < num_items) value = reduction_op(value, static_cast<T>(d_in[i + block_threads]));
  partials[threadIdx.x] = value;
  __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, partials[0]);
}

struct first_add_on_load : parts::reduces_in_passes<first_add_on_load> {
  static constexpr auto idea = "two items per thread, added before the tree begins";
  static constexpr int block_threads = 256, items_per_thread = 2;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * items_per_thread, 9);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel =
      first_add_on_load_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
};

}  // namespace rungs::RUNGS_ABI::reductions
