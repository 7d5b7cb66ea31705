// The tile of a block: the rows of warp 0, then those of warp 1 and so on, each item in the register of one thread.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/rows.cuh"

namespace rungs::RUNGS_ABI::parts {

template <int block_threads, class Rows>
inline constexpr int row_tile_items = block_threads / warp_threads* Rows::warp_items;

// Most additions one item passes through within its tile: up to four items in a lane, folded and then scanned, lanes,
// rows, warps, and what precedes.
constexpr std::size_t row_tile_height(int num_rows) { return 2 + 5 + num_rows + 1 + 4 + 5 + 1; }

// How many sums there are, one a tile, when those of num_tiles tiles are scanned in tiles of tile_items themselves.
constexpr std::size_t sums_on_all_levels(std::size_t num_tiles, int tile_items) {
  std::size_t num_sums = num_tiles;
  do {
    num_tiles = ceil_div(num_tiles, tile_items);
    num_sums += num_tiles;
  } while (num_tiles > 1);
  return num_sums;
}

// The warp's rows of tile `tile`: by vectors without a predicate where the tile is full and by_vectors allows it.
template <int block_threads, class Rows, class ScanOpT>
__device__ void load_tile(Rows& rows, typename Rows::input_iterator d_in, std::size_t tile, std::size_t num_items,
                          bool by_vectors, ScanOpT scan_op) {
  constexpr int tile_items = row_tile_items<block_threads, Rows>;
  const std::size_t first = tile * tile_items + threadIdx.x / warp_threads * Rows::warp_items;
  if (by_vectors && (tile + 1) * tile_items <= num_items)
    rows.load(d_in, first);
  else
    rows.load_present(d_in, first, num_items, by_vectors, scan_op);
}
template <int block_threads, class Rows>
__device__ void store_tile(const Rows& rows, typename Rows::output_iterator d_out, std::size_t tile,
                           std::size_t num_items, bool by_vectors) {
  constexpr int tile_items = row_tile_items<block_threads, Rows>;
  const std::size_t first = tile * tile_items + threadIdx.x / warp_threads * Rows::warp_items;
  if (by_vectors && (tile + 1) * tile_items <= num_items)
    rows.store(d_out, first);
  else
    rows.store_present(d_out, first, num_items, by_vectors);
}

}  // namespace rungs::RUNGS_ABI::parts
