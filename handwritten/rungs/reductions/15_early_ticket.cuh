// Rung 15. Each block draws its ticket before it loads, and the block that drew the last one waits for the others.
// Against 12_last_block: there an aggregate, a fence and an atomic follow each other after the last load; here the
// atomic travels while the loads do, and an aggregate is published by one store that carries the epoch of the call
// beside the value. Whoever holds the last ticket knows that all other blocks have started, so waiting for them is safe
// on any GPU under any load. The same partials in the same order: the bits repeat. Did not help on an H200: grids of 16
// to 64 blocks a multiprocessor from 16 Mi items on (-1 to -2 %), a shorter code path for small inputs (within noise),
// 1024 threads a block (within noise), the grid's reduction by the instructions of the block's, in a loop (+1 to +5 %).
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/reduction_calls.cuh"
#include "rungs/parts/state.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

// That two blocks fit a multiprocessor is said for doubles alone: of their minima ptxas spills a word otherwise, and
// finds its way without being told for all else.
template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads, std::is_same_v<T, double> ? 2 : 0)
    early_ticket_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                        ReductionOpT reduction_op, T init, parts::mailboxes<T> mailboxes, parts::state* state) {
  static_assert(Tile::block_threads >= 64, "the barrier of block_reduce publishes the ticket");
  __shared__ unsigned long long drawn;
  __shared__ T own;
  unsigned long long ticket = 0;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(&state->epoch_and_ticket, 1ull);
    mailboxes.prefetch(blockIdx.x);
  }

  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  if (threadIdx.x == 0) drawn = ticket;
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  const unsigned epoch = parts::epoch_of(drawn);
  if (parts::ticket_of(drawn) != gridDim.x - 1) {
    if (threadIdx.x == 0) mailboxes.post(blockIdx.x, value, epoch);
    return;
  }

  if (threadIdx.x == 0) own = value;
  __syncthreads();
  value = threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += Tile::block_threads) {
    T aggregate = own;
    while (block != blockIdx.x && !mailboxes.peek(block, aggregate, epoch)) continue;
    value = reduction_op(value, aggregate);
  }
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) {
    parts::store(d_out, value);
    state->epoch_and_ticket = parts::next_epoch(drawn);
  }
}

template <int block_threads_, int blocks_per_multiprocessor_>
struct early_ticket_shaped : parts::lifts_operators<early_ticket_shaped<block_threads_, blocks_per_multiprocessor_>> {
  static constexpr auto idea = "the ticket is drawn before the loads; its last holder gathers what the others post";
  static constexpr int block_threads = block_threads_, vectors_per_thread = 8;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::zeroed_once;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_lifted(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                                   cudaStream_t stream) {
    std::size_t grid_blocks;
    char* region;
    cudaError_t error =
        parts::plan_grid<block_threads, vectors_per_thread>(d_in, num_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_with_state<T>(d_temp_storage, temp_storage_bytes, grid_blocks, region, error)) return error;
    return parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch(early_ticket_kernel<typename decltype(tile)::named, OutputIteratorT, ReductionOpT, T>,
                           grid_blocks, block_threads, stream, d_in, num_items, d_out, reduction_op, init,
                           parts::behind_state<T>(region), reinterpret_cast<parts::state*>(region));
    });
  }
};

using early_ticket = early_ticket_shaped<512, 2>;

}  // namespace rungs::RUNGS_ABI::reductions
