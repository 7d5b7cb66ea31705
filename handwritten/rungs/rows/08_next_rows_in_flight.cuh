// Rung 8. Warps that stay: each takes many rows, one after the other, and loads the next while it folds the last.
// Against 05_warp_a_row: a warp that reaches its shuffles has four vectors a lane of its next row on their way already,
// so memory is never idle where rows are short. The grid is as large as the GPU, and no block is launched for a few
// rows.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/rows/05_warp_a_row.cuh"

namespace rungs::RUNGS_ABI::rows {

template <bool aligned, int block_threads, class Item, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    next_rows_in_flight_kernel(const Item* d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                               ReductionOpT reduction_op, T init) {
  using vector = rungs::parts::vector<Item>;
  constexpr int lanes = rungs::parts::warp_threads, batch_vectors = 4;
  const std::size_t num_warps = std::size_t(gridDim.x) * (block_threads / lanes);
  const std::size_t num_vectors = num_columns / vector::num_items, behind = num_vectors * vector::num_items;
  const unsigned lane = threadIdx.x % lanes;
  const auto load = [&](vector(&batch)[batch_vectors], std::size_t row, std::size_t first) {
#pragma unroll
    for (int k = 0; k < batch_vectors; ++k)
      if (row < num_rows && first + k * lanes + lane < num_vectors)
        batch[k] = rungs::parts::row_vector<aligned>(d_in + row * num_columns, first + k * lanes + lane);
  };

  vector batch[batch_vectors], next[batch_vectors];
  std::size_t row = (std::size_t(blockIdx.x) * block_threads + threadIdx.x) / lanes;
  load(batch, row, 0);
  for (; row < num_rows; row += num_warps) {
    T value = ReductionOpT::template identity<T>();
    for (std::size_t first = 0; first < num_vectors; first += batch_vectors * lanes) {
      const bool is_last = first + batch_vectors * lanes >= num_vectors;
      load(next, is_last ? row + num_warps : row, is_last ? 0 : first + batch_vectors * lanes);
#pragma unroll
      for (int k = 0; k < batch_vectors; ++k) {
        if (first + k * lanes + lane < num_vectors)
          value = reduction_op(value, rungs::parts::fold_vector<T>(batch[k], reduction_op));
        batch[k] = next[k];
      }
    }
    if (behind + lane < num_columns)
      value = reduction_op(value, static_cast<T>(d_in[row * num_columns + behind + lane]));
    value = rungs::parts::warp_reduce(value, reduction_op);
    if (lane == 0) d_out[row] = reduction_op(init, value);
  }
}

struct next_rows_in_flight : rungs::parts::row_calls<next_rows_in_flight> {
  static constexpr auto idea = "warps that stay and load their next row while they fold the last";
  static constexpr int block_threads = 256, items_per_thread = 16, blocks_per_multiprocessor = 4;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, 4 * rungs::parts::warp_threads) + 12;
  }

  // Items of any other iterator are left to a warp a row.
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    if constexpr (!rungs::parts::is_vectorisable<InputIteratorT>) {
      return warp_a_row::enqueue(d_in, d_out, num_rows, num_columns, reduction_op, init, stream);
    } else {
      using item = rungs::parts::item_of<InputIteratorT>;
      int num_multiprocessors = 0;
      if (const cudaError_t error = rungs::parts::multiprocessors(num_multiprocessors)) return error;
      const std::size_t grid_blocks =
          rungs::parts::at_most(rungs::parts::ceil_div(num_rows, block_threads / rungs::parts::warp_threads),
                                std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
      const bool aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0 && num_columns * sizeof(item) % 16 == 0;
      const auto kernel =
          aligned ? next_rows_in_flight_kernel<true, block_threads, item, OutputIteratorT, ReductionOpT, T>
                  : next_rows_in_flight_kernel<false, block_threads, item, OutputIteratorT, ReductionOpT, T>;
      return rungs::parts::launch(kernel, grid_blocks, block_threads, stream, d_in, d_out, num_rows, num_columns,
                                  reduction_op, init);
    }
  }
};

}  // namespace rungs::RUNGS_ABI::rows
