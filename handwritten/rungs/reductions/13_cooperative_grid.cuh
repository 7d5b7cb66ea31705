// Rung 13. One cooperative launch: all blocks meet at a grid barrier, then one of them adds up the aggregates.
// Against 12_last_block: the barrier of cooperative groups replaces the counter, so no state outlives the call and the
// workspace may hold anything. All blocks have to be resident at once: the occupancy query limits the grid, and the
// launch fails where they would not fit.
#pragma once

#include <cooperative_groups.h>

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void cooperative_grid_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                                        ReductionOpT reduction_op, T init, T* aggregates) {
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) aggregates[blockIdx.x] = value;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x != 0) return;

  value = threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += Tile::block_threads)
    value = reduction_op(value, aggregates[block]);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) *d_out = value;
}

struct cooperative_grid {
  static constexpr auto idea = "one cooperative launch with a barrier over the whole grid";
  static constexpr int block_threads = 256, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      const auto kernel = cooperative_grid_kernel<typename decltype(tile)::named, OutputIteratorT, ReductionOpT, T>;
      std::size_t grid_blocks;
      T* aggregates;
      cudaError_t error = parts::plan_resident_grid<block_threads, vectors_per_thread>(
          kernel, d_in, num_items, blocks_per_multiprocessor, grid_blocks);
      if (error != cudaSuccess) return error;
      if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, aggregates, error)) return error;
      return parts::launch_cooperatively(kernel, grid_blocks, block_threads, 0, stream, d_in, num_items, d_out,
                                         reduction_op, init, aggregates);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
