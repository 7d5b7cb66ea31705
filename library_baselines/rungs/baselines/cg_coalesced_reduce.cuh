// cg::reduce over coalesced groups: of each warp, the lanes that have an item, in a branch of their own. Against
// cg_block_tiles, which pads: a full warp looks at its group's size, and then shuffles as a tile of 32 does; the lanes
// of the tail go by a scan that searches for its neighbours, integers by one redux. The warps' aggregates meet as
// there.
//
// The group is a partition of a tile: cg::coalesced_threads() inside the branch promises only lanes that happen to run
// together, maybe not all that are there, and then one aggregate of a warp would overwrite another.
// cg::binary_partition finds it by a vote instead of a match, but keeps it in local memory.
#pragma once

#include "rungs/baselines/parts/shuffle_passes.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_coalesced_reduce {
  static constexpr auto idea = "cg::reduce over the lanes of a warp that have an item, nobody else";
  static constexpr int block_threads = parts::shuffle_threads, items_per_thread = parts::shuffle_items;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::shuffle_passes_height(num_items);
  }

  template <class T, class LibraryOpT>
  static __device__ void leave(T value, bool present, T* d_out, LibraryOpT library_op, T init, T identity) {
    namespace cg = cooperative_groups;
    __shared__ T warp_aggregates[block_threads / 32];
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const auto those_present = cg::labeled_partition(tile, static_cast<int>(present));
    if (present) {
      value = cg::reduce(those_present, value, cooperative_operator<T>(library_op));
      if (those_present.thread_rank() == 0) warp_aggregates[tile.meta_group_rank()] = value;
    }
    const int num_present = __syncthreads_count(present);
    if (tile.meta_group_rank() != 0) return;
    const bool holds_aggregate = static_cast<int>(tile.thread_rank()) * 32 < num_present;
    value = holds_aggregate ? warp_aggregates[tile.thread_rank()] : identity;
    value = cg::reduce(tile, value, cooperative_operator<T>(library_op));
    if (tile.thread_rank() == 0) *d_out = library_op(init, value);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_shuffle_passes<cg_coalesced_reduce>(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                                num_items, reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
