// cub::BlockScan by raking, the raking warp keeping its row in registers between its two walks: fewer reads of shared
// memory than cub_block_scan_raking, more registers.
#pragma once

#include <cub/block/block_scan.cuh>

#include "rungs/baselines/parts/three_phases.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_block_scan_raking_memoize : rungs::parts::scan_calls<cub_block_scan_raking_memoize> {
  static constexpr auto idea = "cub::BlockScan, raking with rows kept in registers, in a scan of three phases";
  static constexpr int block_threads = parts::three_phases_threads, items_per_thread = parts::three_phases_items;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::three_phases_height(num_items); }

  template <class T, class ScanOpT>
  static __device__ T exclusive(T value, T& block_aggregate, T identity, ScanOpT scan_op) {
    using block_scan = cub::BlockScan<T, block_threads, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
    __shared__ typename block_scan::TempStorage temp_storage;
    T prefix;
    block_scan(temp_storage).ExclusiveScan(value, prefix, identity, scan_op, block_aggregate);
    return prefix;
  }

  template <parts::scan_kind kind, class T, class ScanOpT>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                          ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    return parts::scan_in_three_phases<kind, cub_block_scan_raking_memoize>(d_temp_storage, temp_storage_bytes, d_in,
                                                                            d_out, scan_op, seed, num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
