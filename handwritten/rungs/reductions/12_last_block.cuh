// Rung 12. One launch: the block that arrives last adds up what the others left.
// Against 10_two_passes: the second launch becomes an atomic increment per block and one more block reduction. The
// partials are added in the order of the blocks, whoever is last, so the bits repeat; nobody waits for anybody. The
// counter wraps to 0 by itself, so a workspace is zeroed once and not before every call.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/state.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void last_block_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                                  ReductionOpT reduction_op, T init, parts::mailboxes<T> posts, parts::state* state) {
  __shared__ bool is_last;
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) {
    posts.post(blockIdx.x, value, parts::no_epoch);
    __threadfence();  // the aggregate before the arrival
    is_last = atomicInc(&state->arrivals, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // the arrival before the others' aggregates
  }
  __syncthreads();
  if (!is_last) return;

  value = threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += Tile::block_threads) {
    T aggregate;
    posts.peek(block, aggregate, parts::no_epoch);
    value = reduction_op(value, aggregate);
  }
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) *d_out = value;
}

struct last_block {
  static constexpr auto idea = "one launch: the last block to arrive adds up what the others left";
  static constexpr int block_threads = 256, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::zeroed_once;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    char* region;
    cudaError_t error =
        parts::plan_grid<block_threads, vectors_per_thread>(d_in, num_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_with_state<T>(d_temp_storage, temp_storage_bytes, grid_blocks, region, error)) return error;
    return parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch(last_block_kernel<typename decltype(tile)::named, OutputIteratorT, ReductionOpT, T>,
                           grid_blocks, block_threads, stream, d_in, num_items, d_out, reduction_op, init,
                           parts::behind_state<T>(region), reinterpret_cast<parts::state*>(region));
    });
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
