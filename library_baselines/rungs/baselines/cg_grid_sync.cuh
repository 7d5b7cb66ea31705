// reductions/13_cooperative_grid with cooperative groups throughout: one cooperative launch, cg::reduce in the block,
// the barrier of cg::this_grid(), and the first block reduces the blocks' aggregates. The barrier is the same there;
// what differs are the loads and the block's tree. All blocks are resident at once: the occupancy query limits the
// grid.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>

#include "rungs/baselines/parts/tiles.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <class T, class LibraryOpT>
__global__ void __launch_bounds__(parts::two_kernels_threads)
    cg_grid_sync_kernel(const T* d_in, std::size_t num_items, T* d_out, T init, T identity, LibraryOpT library_op,
                        T* aggregates) {
  constexpr int block_threads = parts::two_kernels_threads;
  const auto grid = cooperative_groups::this_grid();
  T value = parts::thread_aggregate(d_in, num_items, identity, library_op);
  value = parts::reduce_by_tiles<32, block_threads>(value, library_op);
  if (threadIdx.x == 0) aggregates[grid.block_rank()] = value;
  grid.sync();
  if (grid.block_rank() != 0) return;

  value = threadIdx.x == 0 ? init : identity;
  for (unsigned i = threadIdx.x; i < grid.num_blocks(); i += block_threads) value = library_op(value, aggregates[i]);
  value = parts::reduce_by_tiles<32, block_threads>(value, library_op);
  if (threadIdx.x == 0) *d_out = value;
}

struct cg_grid_sync {
  static constexpr auto idea =
      "one cooperative launch: cg::reduce in each block, cg::this_grid().sync(), cg::reduce again";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr int blocks_per_multiprocessor = parts::blocks_per_multiprocessor;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / block_threads + 128;  // one resident block on one multiprocessor, at worst
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, T, T>(reduction_op);
    const auto kernel = cg_grid_sync_kernel<T, std::remove_const_t<decltype(library_op)>>;
    int num_multiprocessors, resident_blocks;
    cudaError_t error = rungs::parts::multiprocessors(num_multiprocessors);
    if (error == cudaSuccess)
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident_blocks, kernel, block_threads, 0);
    if (error != cudaSuccess) return error;
    const std::size_t most_blocks =
        std::size_t(num_multiprocessors) * std::min(resident_blocks, blocks_per_multiprocessor);
    const std::size_t num_tiles = rungs::parts::ceil_div(num_items, block_threads * items_per_thread);
    const std::size_t grid_blocks = rungs::parts::at_most(num_tiles > 0 ? num_tiles : 1, most_blocks);
    char* region;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, grid_blocks * sizeof(T), region, error))
      return error;
    return rungs::parts::launch_cooperatively(kernel, grid_blocks, block_threads, 0, stream, d_in, num_items, d_out,
                                              init, ReductionOpT::template identity<T>(), library_op,
                                              reinterpret_cast<T*>(region));
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
