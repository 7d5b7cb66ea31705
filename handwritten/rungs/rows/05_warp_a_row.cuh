// Rung 5. A warp a row, eight rows a block.
// Against 04_vector_loads: nobody waits for another warp, so there are no barriers and no shared memory, and a warp
// that is done makes room at once. A row of 2048 floats keeps all four loads of each thread busy, where a block of 512
// threads has one load each. Long rows lose: 16 rows keep 16 warps busy.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/rows/04_vector_loads.cuh"

namespace rungs::RUNGS_ABI::rows {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    warp_a_row_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                      ReductionOpT reduction_op, T init) {
  constexpr int lanes = rungs::parts::warp_threads, block_rows = block_threads / lanes;
  const std::size_t row = std::size_t(blockIdx.x) * block_rows + threadIdx.x / lanes;
  if (row >= num_rows) return;
  const unsigned lane = threadIdx.x % lanes;
  T value = fold_row<lanes, T>(d_in + row * num_columns, num_columns, lane, reduction_op);
  value = rungs::parts::warp_reduce(value, reduction_op);
  if (lane == 0) d_out[row] = reduction_op(init, value);
}

struct warp_a_row : rungs::parts::row_calls<warp_a_row> {
  static constexpr auto idea = "a warp a row, without barriers";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, 4 * rungs::parts::warp_threads) + 12;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    return rungs::parts::launch(warp_a_row_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>,
                                rungs::parts::ceil_div(num_rows, block_threads / rungs::parts::warp_threads),
                                block_threads, stream, d_in, d_out, num_rows, num_columns, reduction_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
