// Rung 3. The scans of 32 items meet in registers: a warp scans its items by shuffles, then the aggregates of warps.
// Against 02_blelloch_padded: 21 barriers become one, and shared memory carries one aggregate a warp instead of every
// item. Inside a warp the scan is Hillis and Steele's again: all lanes pay for an instruction anyway, so what counts is
// its five steps, not its 129 additions. Every warp scans the 32 aggregates for itself, which saves a second barrier.
// DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/three_phases.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class InputIteratorT, class ScanOpT, class T>
__global__ void __launch_bounds__(block_threads)
    warp_shuffle_kernel(InputIteratorT d_in, std::size_t num_items, T* d_scanned, T* d_sums, ScanOpT scan_op) {
  constexpr int num_warps = block_threads / parts::warp_threads, last_lane = parts::warp_threads - 1;
  static_assert(num_warps == parts::warp_threads, "as many warps as lanes");
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const auto scan_lanes = [&](T value) {
#pragma unroll
    for (int offset = 1; offset < parts::warp_threads; offset *= 2) {
      const T before = parts::shuffle_up(value, offset);
      if (lane >= offset) value = scan_op(before, value);
    }
    return value;
  };
  T value = scan_lanes(i < num_items ? static_cast<T>(d_in[i]) : ScanOpT::template identity<T>());
  if (lane == last_lane) warp_aggregates[warp] = value;
  __syncthreads();
  const T of_warps = scan_lanes(warp_aggregates[lane]);
  const T of_earlier_warps = parts::shuffle_from(of_warps, (warp - 1) % num_warps);
  const T of_earlier_lanes = parts::shuffle_up(value, 1);
  if (kind == parts::scan_kind::exclusive) value = lane > 0 ? of_earlier_lanes : ScanOpT::template identity<T>();
  if (warp > 0) value = scan_op(of_earlier_warps, value);
  if (i < num_items) d_scanned[i] = value;
  if (threadIdx.x == block_threads - 1) d_sums[blockIdx.x] = of_warps;
}

struct warp_shuffle : parts::scan_calls<warp_shuffle> {
  static constexpr auto idea = "warps scan their items by shuffles, then the warps' aggregates; one barrier";
  static constexpr int block_threads = 1024, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_three_phases(num_items, block_threads, 5 + 5 + 1);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    const auto scan_tiles = [&](T* d_scanned, T* d_sums, std::size_t num_tiles) {
      return parts::launch(warp_shuffle_kernel<kind, block_threads, InputIteratorT, ScanOpT, T>, num_tiles,
                           block_threads, stream, d_in, num_items, d_scanned, d_sums, scan_op);
    };
    return parts::scan_in_three_phases<block_threads, parts::access::by_items>(
        d_temp_storage, temp_storage_bytes, d_out, scan_op, seed, num_items, stream, scan_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
