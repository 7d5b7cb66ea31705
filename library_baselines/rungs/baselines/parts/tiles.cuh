// A block's reduction by tiles of cooperative groups.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "rungs/baselines/cg_tile_reduce.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// The aggregate of the values of the block's first num_values threads, valid in thread 0: tiles reduce them, then tiles
// of their aggregates, until one is left. All threads call it; between two calls they meet at a barrier.
//
// cg::reduce is given a temporary operator: an object of it that is const, however it is named, does not match the
// overloads that lead to the redux instruction.
template <int tile_threads, int num_values, class T, class LibraryOpT>
__device__ T reduce_by_tiles(T value, LibraryOpT library_op) {
  namespace cg = cooperative_groups;
  constexpr int threads = num_values < tile_threads ? num_values : tile_threads, num_tiles = num_values / threads;
  static_assert(num_values % threads == 0);
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<threads>(block);
  if (block.thread_rank() < num_values) value = cg::reduce(tile, value, cooperative_operator<T>(library_op));
  if constexpr (num_tiles > 1) {
    __shared__ T tile_aggregates[num_tiles];
    if (block.thread_rank() < num_values && tile.thread_rank() == 0) tile_aggregates[tile.meta_group_rank()] = value;
    block.sync();
    if (block.thread_rank() < num_tiles) value = tile_aggregates[block.thread_rank()];
    value = reduce_by_tiles<tile_threads, num_tiles>(value, library_op);
  }
  return value;
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
