// Rung 17. The block of the highest index gathers what the others post under a tag that no other call has.
// Against 15_early_ticket: neither ticket nor epoch, so the storage may hold anything. Blocks of lower indices start
// first, so the last one may wait for them. A graph repeats the tag; there a launch before this one clears the storage.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads, 2)
    tagged_finish_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                         ReductionOpT reduction_op, T init, parts::mailboxes<T> mailboxes, parts::tag tag) {
  const unsigned gatherer = gridDim.x - 1;  // and how many others there are
  if (threadIdx.x == 0) mailboxes.prefetch(blockIdx.x);
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  parts::wait_until_cleared();
  if (blockIdx.x != gatherer) {
    if (threadIdx.x == 0) mailboxes.post(blockIdx.x, value, tag);
    return;
  }
  T others = ReductionOpT::template identity<T>();
  while (threadIdx.x < gatherer && !mailboxes.peek(threadIdx.x, others, tag)) continue;
  __syncthreads();  // the block's first reduction is done
  others = parts::block_reduce<Tile::block_threads>(others, reduction_op);
  if (threadIdx.x == 0) parts::store(d_out, reduction_op(init, reduction_op(others, value)));
}

struct tagged_finish {
  static constexpr auto idea = "the block of the highest index gathers what the others post under a tag of the call";
  static constexpr int block_threads = 512, vectors_per_thread = 8;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    char* region;
    parts::opened_storage storage;
    cudaError_t error =
        parts::plan_grid<block_threads, vectors_per_thread>(d_in, num_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    grid_blocks = parts::at_most(grid_blocks, block_threads + 1);  // at most one mailbox a thread is read
    const std::size_t bytes = parts::mailboxes<T>::bytes(grid_blocks);
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    return parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch_overlapped(
          tagged_finish_kernel<typename decltype(tile)::named, OutputIteratorT, ReductionOpT, T>, grid_blocks,
          block_threads, 0, storage.clears, stream, d_in, num_items, d_out, reduction_op, init,
          parts::mailboxes<T>(region), storage.of_call);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
