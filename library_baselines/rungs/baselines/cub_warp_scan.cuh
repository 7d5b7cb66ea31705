// cub::WarpScan twice: every warp scans its values by shuffles, then the first warp scans the warps' aggregates. What
// cub_block_scan_warp_scans leaves to each thread is here a second scan, between two barriers.
#pragma once

#include <cub/warp/warp_scan.cuh>

#include "rungs/baselines/parts/three_phases.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_warp_scan : rungs::parts::scan_calls<cub_warp_scan> {
  static constexpr auto idea = "cub::WarpScan, twice, in a scan of three phases";
  static constexpr int block_threads = parts::three_phases_threads, items_per_thread = parts::three_phases_items;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::three_phases_height(num_items); }

  template <class T, class ScanOpT>
  static __device__ T exclusive(T value, T& block_aggregate, T identity, ScanOpT scan_op) {
    constexpr int num_warps = block_threads / 32;
    using warp_scan = cub::WarpScan<T>;
    using aggregates_scan = cub::WarpScan<T, num_warps>;
    __shared__ typename warp_scan::TempStorage temp_storage[num_warps];
    __shared__ typename aggregates_scan::TempStorage aggregates_temp_storage;
    __shared__ T warp_prefixes[num_warps];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    T prefix, warp_aggregate;
    warp_scan(temp_storage[warp]).ExclusiveScan(value, prefix, identity, scan_op, warp_aggregate);
    if (lane == 0) warp_prefixes[warp] = warp_aggregate;
    __syncthreads();
    if (threadIdx.x < num_warps) {
      T warp_prefix = warp_prefixes[threadIdx.x];
      aggregates_scan(aggregates_temp_storage)
          .ExclusiveScan(warp_prefix, warp_prefix, identity, scan_op, block_aggregate);
      warp_prefixes[threadIdx.x] = warp_prefix;
    }
    __syncthreads();
    return scan_op(warp_prefixes[warp], prefix);
  }

  template <parts::scan_kind kind, class T, class ScanOpT>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                          ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    return parts::scan_in_three_phases<kind, cub_warp_scan>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op,
                                                            seed, num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
