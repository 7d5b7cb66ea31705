// cg::exclusive_scan over tiles of 32 threads, then over the tiles' aggregates. Against cg_inclusive_scan the library
// makes the exclusive result of the inclusive one: of integers by a subtraction, of anything else by a shuffle. The
// first thread of a tile gets T{}, which is not the identity of a sum of floats: 0 + -0 is 0.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include "rungs/baselines/parts/three_phases.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_exclusive_scan : rungs::parts::scan_calls<cg_exclusive_scan> {
  static constexpr auto idea = "cg::exclusive_scan over tiles of 32, twice, in a scan of three phases";
  static constexpr int block_threads = parts::three_phases_threads, items_per_thread = parts::three_phases_items;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::three_phases_height(num_items); }

  template <class T, class LibraryOpT>
  static __device__ T exclusive(T value, T& block_aggregate, T identity, LibraryOpT) {
    namespace cg = cooperative_groups;
    static_assert(std::is_same_v<LibraryOpT, cuda::std::plus<>>, "enrolled for sums only");
    constexpr int num_tiles = block_threads / 32;
    __shared__ T tile_prefixes[num_tiles];
    const auto scanned = [&](const auto& group, T value) {
      const T prefix = cg::exclusive_scan(group, value, cg::plus<T>{});
      return group.thread_rank() == 0 ? identity : prefix;
    };
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    const T prefix = scanned(tile, value);
    if (tile.thread_rank() == 31) tile_prefixes[tile.meta_group_rank()] = prefix + value;
    block.sync();
    if (tile.meta_group_rank() == 0) {
      const auto first = cg::tiled_partition<num_tiles>(tile);
      if (first.meta_group_rank() == 0) {
        const T tile_aggregate = tile_prefixes[first.thread_rank()];
        const T tile_prefix = scanned(first, tile_aggregate);
        block_aggregate = first.shfl(tile_prefix + tile_aggregate, num_tiles - 1);
        tile_prefixes[first.thread_rank()] = tile_prefix;
      }
    }
    block.sync();
    return tile_prefixes[tile.meta_group_rank()] + prefix;
  }

  template <parts::scan_kind kind, class T, class ScanOpT>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                          ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    return parts::scan_in_three_phases<kind, cg_exclusive_scan>(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                                scan_op, seed, num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
