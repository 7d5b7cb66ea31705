// Rung 11. The host adds up the aggregates of the blocks.
// Against 10_two_passes: the second launch becomes a copy to the host, a wait, a loop of some thousand additions, and a
// copy back. For a billion items that hides behind the first pass; for a million it is most of the time. The call
// returns only when the device is done, so it cannot be captured, nor overlap with anything.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class ReductionOpT, class T>
__global__ void host_finish_kernel(typename Tile::iterator d_in, std::size_t num_items, T* aggregates,
                                   ReductionOpT reduction_op) {
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) aggregates[blockIdx.x] = value;
}

struct host_finish {
  static constexpr auto idea = "block aggregates to the host, which adds them up";
  static constexpr int block_threads = 256, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = 8, max_aggregates = 4096;
  static constexpr bool deterministic = true, waits_for_host = true;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor) + max_aggregates;
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
    grid_blocks = parts::at_most(grid_blocks, max_aggregates);
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, aggregates, error)) return error;
    error = parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch(host_finish_kernel<typename decltype(tile)::named, ReductionOpT, T>, grid_blocks,
                           block_threads, stream, d_in, num_items, aggregates, reduction_op);
    });
    T on_host[max_aggregates];
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(on_host, aggregates, grid_blocks * sizeof(T), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) return error;
    T result = init;
    for (std::size_t i = 0; i < grid_blocks; ++i) result = reduction_op(result, on_host[i]);
    error = cudaMemcpyAsync(d_out, &result, sizeof(T), cudaMemcpyHostToDevice, stream);
    const cudaError_t waited = cudaStreamSynchronize(stream);
    return error != cudaSuccess ? error : waited;
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
