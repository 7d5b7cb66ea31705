// Rung 3. The last 32 values of the tree meet in the registers of one warp.
// Against 02_register_accumulation: the last five levels of the tree are shuffles, so five of nine barriers are gone.
// The text expects a gain and measures none (claim E2). Its own kernel is wrong: its tree stops at 64 values, of which
// the warp folds 32, so it leaves out half of the row. Here the tree goes on to 32.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::rows {

// The aggregate of the block's values, valid in thread 0.
template <int block_threads, class T, class ReductionOpT>
__device__ T fold_block(T value, ReductionOpT reduction_op) {
  constexpr int warp_threads = rungs::parts::warp_threads;
  __shared__ T partials[block_threads];
  partials[threadIdx.x] = value;
  __syncthreads();
  for (int stride = block_threads / 2; stride >= warp_threads; stride /= 2) {
    if (threadIdx.x < stride)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x >= warp_threads) return value;
  value = partials[threadIdx.x];
#pragma unroll
  for (int offset = warp_threads / 2; offset > 0; offset /= 2)
    value = reduction_op(value, rungs::parts::shuffle_down(value, offset));
  return value;
}

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    final_warp_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_columns, ReductionOpT reduction_op,
                      T init) {
  const InputIteratorT row = d_in + blockIdx.x * num_columns;
  T value = ReductionOpT::template identity<T>();
  for (std::size_t column = threadIdx.x; column < num_columns; column += block_threads)
    value = reduction_op(value, static_cast<T>(row[column]));
  value = fold_block<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, value);
}

struct final_warp : rungs::parts::row_calls<final_warp> {
  static constexpr auto idea = "the last 32 values of a row meet in the registers of one warp";
  static constexpr int block_threads = 512, items_per_thread = 4;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, block_threads) + 10;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    return rungs::parts::launch(final_warp_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>,
                                num_rows, block_threads, stream, d_in, d_out, num_columns, reduction_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
