// Rung 1. A block of 512 threads a row, which adds up in shared memory: the first kernel of the text "From many to one"
// (claim E1, 65536 rows of 2048 floats).
// Each thread adds its items to a slot of its own, and all meet at a barrier after each item, as in the text. A tree of
// nine barriers folds the slots. In the text a thread leaves the loop where its items end, and others wait for it at
// the barrier inside. Here all threads take the loop equally often, so that a row may have any length.
#pragma once

#include "rungs/parts/row_calls.cuh"

namespace rungs::RUNGS_ABI::rows {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    shared_accumulation_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_columns,
                               ReductionOpT reduction_op, T init) {
  __shared__ T partials[block_threads];
  const InputIteratorT row = d_in + blockIdx.x * num_columns;
  partials[threadIdx.x] = ReductionOpT::template identity<T>();
  __syncthreads();
  for (std::size_t first = 0; first < num_columns; first += block_threads) {
    const std::size_t column = first + threadIdx.x;
    if (column < num_columns) partials[threadIdx.x] = reduction_op(partials[threadIdx.x], static_cast<T>(row[column]));
    __syncthreads();
  }
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, partials[0]);
}

struct shared_accumulation : rungs::parts::row_calls<shared_accumulation> {
  static constexpr auto idea = "a block a row, which adds up in shared memory";
  static constexpr int block_threads = 512, items_per_thread = 4;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, block_threads) + 10;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    return rungs::parts::launch(
        shared_accumulation_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>, num_rows,
        block_threads, stream, d_in, d_out, num_columns, reduction_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
