// rows/05_warp_a_row with cooperative groups' own reduction of a warp.
#pragma once

#include "rungs/baselines/cg_tile_reduce.cuh"
#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/parts/row_calls.cuh"
#include "rungs/rows/04_vector_loads.cuh"

namespace rungs::RUNGS_ABI::rows {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class LibraryOpT, class T>
__global__ void __launch_bounds__(block_threads)
    cg_tile_a_row_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                         ReductionOpT reduction_op, LibraryOpT library_op, T init) {
  namespace cg = cooperative_groups;
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const std::size_t row = std::size_t(blockIdx.x) * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= num_rows) return;
  T value = fold_row<32, T>(d_in + row * num_columns, num_columns, tile.thread_rank(), reduction_op);
  value = cg::reduce(tile, value, baselines::cooperative_operator<T>(library_op));
  if (tile.thread_rank() == 0) d_out[row] = reduction_op(init, value);
}

struct cg_tile_a_row : rungs::parts::row_calls<cg_tile_a_row> {
  static constexpr auto idea = "cg::reduce over a tile of 32 threads a row";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, 4 * 32) + 12;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    const auto library_op = baselines::parts::library_operator<ReductionOpT, T, T>(reduction_op);
    return rungs::parts::launch(cg_tile_a_row_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT,
                                                     std::remove_const_t<decltype(library_op)>, T>,
                                rungs::parts::ceil_div(num_rows, block_threads / 32), block_threads, stream, d_in,
                                d_out, num_rows, num_columns, reduction_op, library_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
