// cg::inclusive_scan over tiles of 32 threads, then over the tiles' aggregates, with cooperative groups' own plus:
// shuffles, as in cub_warp_scan. A thread's prefix is the inclusive result of the thread before it.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include "rungs/baselines/parts/three_phases.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_inclusive_scan : rungs::parts::scan_calls<cg_inclusive_scan> {
  static constexpr auto idea = "cg::inclusive_scan over tiles of 32, twice, in a scan of three phases";
  static constexpr int block_threads = parts::three_phases_threads, items_per_thread = parts::three_phases_items;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::three_phases_height(num_items); }

  template <class T, class LibraryOpT>
  static __device__ T exclusive(T value, T& block_aggregate, T identity, LibraryOpT) {
    namespace cg = cooperative_groups;
    static_assert(std::is_same_v<LibraryOpT, cuda::std::plus<>>, "enrolled for sums only");
    constexpr int num_tiles = block_threads / 32;
    __shared__ T tile_prefixes[num_tiles];
    const auto before = [&](const auto& group, T scanned) {
      const T previous = group.shfl_up(scanned, 1);
      return group.thread_rank() == 0 ? identity : previous;
    };
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    const T scanned = cg::inclusive_scan(tile, value, cg::plus<T>{});
    if (tile.thread_rank() == 31) tile_prefixes[tile.meta_group_rank()] = scanned;
    block.sync();
    if (tile.meta_group_rank() == 0) {
      const auto first = cg::tiled_partition<num_tiles>(tile);
      if (first.meta_group_rank() == 0) {
        const T scanned_aggregates = cg::inclusive_scan(first, tile_prefixes[first.thread_rank()], cg::plus<T>{});
        block_aggregate = first.shfl(scanned_aggregates, num_tiles - 1);
        tile_prefixes[first.thread_rank()] = before(first, scanned_aggregates);
      }
    }
    block.sync();
    return tile_prefixes[tile.meta_group_rank()] + before(tile, scanned);
  }

  template <parts::scan_kind kind, class T, class ScanOpT>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                          ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    return parts::scan_in_three_phases<kind, cg_inclusive_scan>(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                                scan_op, seed, num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
