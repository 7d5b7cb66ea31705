// How many blocks a grid has, and what that means for rounding.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// One block a tile of d_in, at most blocks_per_multiprocessor on each multiprocessor of the current device, at least
// one.
template <int block_threads, int vectors_per_thread, class InputIteratorT>
cudaError_t plan_grid(InputIteratorT, std::size_t num_items, int blocks_per_multiprocessor, std::size_t& grid_blocks) {
  using tile = tile_reader<block_threads, vectors_per_thread, reading::aligned, InputIteratorT>;
  int num_multiprocessors;
  const cudaError_t error = multiprocessors(num_multiprocessors);
  if (error != cudaSuccess) return error;
  const std::size_t num_tiles = ceil_div(num_items, tile::tile_items);
  grid_blocks = at_most(num_tiles > 0 ? num_tiles : 1, std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
  return cudaSuccess;
}

// The same for a kernel whose blocks are all on the device at once.
template <int block_threads, int vectors_per_thread, class InputIteratorT, class... Parameters>
cudaError_t plan_resident_grid(void (*kernel)(Parameters...), InputIteratorT d_in, std::size_t num_items,
                               int blocks_per_multiprocessor, std::size_t& grid_blocks) {
  int resident_blocks;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident_blocks, kernel, block_threads, 0);
  if (error != cudaSuccess) return error;
  const int most_blocks = resident_blocks < blocks_per_multiprocessor ? resident_blocks : blocks_per_multiprocessor;
  return plan_grid<block_threads, vectors_per_thread>(d_in, num_items, most_blocks, grid_blocks);
}

constexpr int log2_ceil(std::size_t n) { return n <= 1 ? 0 : 1 + log2_ceil((n + 1) / 2); }

// Most additions one item passes through in a grid planned so, whose blocks' aggregates are then added up by one block:
// tiles in a thread, vectors and items in a tile, lanes and warps, aggregates, init. Without a device it is taken to
// have one multiprocessor.
inline std::size_t grid_height(std::size_t num_items, int block_threads, int vectors_per_thread,
                               int blocks_per_multiprocessor) {
  const int least_tile_items = block_threads * vectors_per_thread * 2;  // of 8-byte items
  int num_multiprocessors;
  if (multiprocessors(num_multiprocessors) != cudaSuccess) num_multiprocessors = 1;
  const std::size_t most_blocks = std::size_t(num_multiprocessors) * blocks_per_multiprocessor;
  const std::size_t num_tiles = ceil_div(num_items, least_tile_items);
  return ceil_div(num_tiles, most_blocks) + log2_ceil(vectors_per_thread) + 5 + 2 * log2_ceil(block_threads) +
         ceil_div(most_blocks, block_threads) + 1;
}

}  // namespace rungs::RUNGS_ABI::parts
