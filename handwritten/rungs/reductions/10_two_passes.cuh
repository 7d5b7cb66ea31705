// Rung 10. Every block leaves its aggregate in the workspace, and a second launch of one block adds those up.
// Against 09_vector_loads: no atomics, so the order is fixed and the bits repeat; d_out need not be initialised first,
// so there are two launches as before, but the second waits for the first to drain. parts/tile.cuh reads the
// vectors: it keeps the order of the items at any alignment, which the items read one by one in 09 do not.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void two_passes_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                                  ReductionOpT reduction_op, T init) {
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, value);
}

struct two_passes {
  static constexpr auto idea = "block aggregates to memory, a second launch adds them up";
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
    std::size_t grid_blocks;
    T* aggregates;
    cudaError_t error =
        parts::plan_grid<block_threads, vectors_per_thread>(d_in, num_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, aggregates, error)) return error;
    error = parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch(two_passes_kernel<typename decltype(tile)::named, T*, ReductionOpT, T>, grid_blocks,
                           block_threads, stream, d_in, num_items, aggregates, reduction_op,
                           ReductionOpT::template identity<T>());
    });
    if (error != cudaSuccess) return error;
    using aggregate_tile = parts::tile_reader<block_threads, vectors_per_thread, parts::reading::aligned, const T*>;
    return parts::launch(two_passes_kernel<aggregate_tile, OutputIteratorT, ReductionOpT, T>, 1, block_threads, stream,
                         aggregates, grid_blocks, d_out, reduction_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
