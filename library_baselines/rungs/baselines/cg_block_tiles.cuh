// The block reduction of the usual text on cooperative groups: cg::reduce over tiles of 32, the tiles' aggregates to
// shared memory, and cg::reduce again over the whole first tile, whose lanes beyond the last aggregate hold the
// identity. Against cg_warp_shuffle the second stage is as wide as the first, so that integers take one redux there as
// well.
#pragma once

#include "rungs/baselines/parts/shuffle_passes.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_block_tiles {
  static constexpr auto idea = "cg::reduce over tiles of 32, then over one tile padded with the identity";
  static constexpr int block_threads = parts::shuffle_threads, items_per_thread = parts::shuffle_items;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::shuffle_passes_height(num_items);
  }

  template <class T, class LibraryOpT>
  static __device__ void leave(T value, bool, T* d_out, LibraryOpT library_op, T init, T identity) {
    namespace cg = cooperative_groups;
    constexpr int num_tiles = block_threads / 32;
    __shared__ T tile_aggregates[num_tiles];
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    value = cg::reduce(tile, value, cooperative_operator<T>(library_op));
    if (tile.thread_rank() == 0) tile_aggregates[tile.meta_group_rank()] = value;
    block.sync();
    if (tile.meta_group_rank() != 0) return;
    value = tile.thread_rank() < num_tiles ? tile_aggregates[tile.thread_rank()] : identity;
    value = cg::reduce(tile, value, cooperative_operator<T>(library_op));
    if (tile.thread_rank() == 0) *d_out = library_op(init, value);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_shuffle_passes<cg_block_tiles>(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                           reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
