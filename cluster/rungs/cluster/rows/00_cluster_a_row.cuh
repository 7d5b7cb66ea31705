// Rung 0. A cluster a row: its blocks read a part each, and store what it comes to in the memory of block 0.
// Against rows/04_vector_loads: up to sixteen multiprocessors share a row, so few rows keep a GPU busy. Against
// rows/09_split_rows: the parts meet in shared memory, without a second launch. Waiting for each other costs a
// cluster's barrier a row; the one that says that block 0 has started is waited for behind the loads.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/row_calls.cuh"
#include "rungs/rows/04_vector_loads.cuh"

namespace rungs::RUNGS_ABI::cluster::rows {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    cluster_a_row_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t part_items, std::size_t num_columns,
                         ReductionOpT reduction_op, T init) {
#if __CUDA_ARCH__ >= 900
  __shared__ T inbox[parts::greatest_cluster_blocks];
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), lane = threadIdx.x;
  const std::size_t row = blockIdx.x / cluster_blocks, begin = parts::at_most(rank * part_items, num_columns);
  parts::arrive_started();
  T value = rungs::rows::fold_row<block_threads, T>(
      d_in + row * num_columns + begin, parts::at_most(num_columns - begin, part_items), threadIdx.x, reduction_op);
  value = parts::block_reduce<block_threads>(value, reduction_op);
  parts::wait();
  if (rank != 0 && threadIdx.x == 0) *parts::of_rank(inbox + rank, 0) = value;
  parts::meet();
  if (rank != 0 || threadIdx.x >= parts::warp_threads) return;
  if (lane > 0) value = lane < cluster_blocks ? inbox[lane] : ReductionOpT::template identity<T>();
  value = parts::warp_reduce(value, reduction_op);
  if (lane == 0) d_out[row] = reduction_op(init, value);
#endif
}

// Of any size: a block for each 8 KiB of a row.
template <int asked_blocks>
struct cluster_a_row_of : parts::row_calls<cluster_a_row_of<asked_blocks>> {
  static constexpr auto idea = "a cluster a row, whose blocks store what they have into block 0";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr std::size_t block_bytes = 8 * 1024, most_rows = 0x7fffffff / parts::greatest_cluster_blocks;
  static constexpr int min_cc = 90;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return parts::ceil_div(num_columns, 4 * parts::least_cluster_blocks * block_threads) + 32;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    const auto kernel = cluster_a_row_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
    constexpr std::size_t vector_items = 16 / sizeof(*d_in);
    int cluster_blocks;
    const cudaError_t error = parts::choose_cluster<asked_blocks>(
        kernel, block_threads, parts::ceil_div(num_columns * sizeof(*d_in), block_bytes), cluster_blocks);
    if (error != cudaSuccess) return error;
    const std::size_t part_items = parts::ceil_div(num_columns, cluster_blocks * vector_items) * vector_items;
    return parts::launch_clusters(kernel, num_rows, {cluster_blocks, block_threads}, stream, d_in, d_out, part_items,
                                  num_columns, reduction_op, init);
  }
};

using cluster_a_row = cluster_a_row_of<parts::any_size>;
using cluster_a_row_2 = cluster_a_row_of<2>;
using cluster_a_row_4 = cluster_a_row_of<4>;
using cluster_a_row_8 = cluster_a_row_of<8>;
using cluster_a_row_16 = cluster_a_row_of<16>;

}  // namespace rungs::RUNGS_ABI::cluster::rows
