// Rung 4. Eight rows of a warp in registers: 16 bytes an access, 32 four-byte items a thread.
// Against 03_warp_shuffle: a quarter of the load and store instructions, 128 bytes in flight per thread, which is what
// DRAM latency asks for, and tiles of 8192 items instead of 1024: an eighth of the barriers and of the sums that one
// block walks over. Registers hold the tile, so fewer threads are resident. DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/three_phases.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    vector_items_kernel(typename Rows::input_iterator d_in, std::size_t num_items,
                        typename Rows::output_iterator d_scanned, typename Rows::accumulator* d_sums, ScanOpT scan_op,
                        bool by_vectors) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, blockIdx.x, num_items, by_vectors, scan_op);
  const T of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  const T before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  rows.template scan<kind>(before, scan_op);
  parts::store_tile<block_threads>(rows, d_scanned, blockIdx.x, num_items, by_vectors);
  if (threadIdx.x == block_threads - 1) d_sums[blockIdx.x] = scan_op(before, of_warp);
}

struct vector_items : parts::scan_calls<vector_items> {
  static constexpr auto idea = "16-byte accesses, eight rows of a warp in registers";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_three_phases(num_items, block_threads * num_rows, parts::row_tile_height(num_rows));
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using rows = parts::rows<num_rows, InputIteratorT, T*, T>;
    const auto scan_tiles = [&](T* d_scanned, T* d_sums, std::size_t num_tiles) {
      return parts::launch(vector_items_kernel<kind, block_threads, rows, ScanOpT>, num_tiles, block_threads, stream,
                           d_in, num_items, d_scanned, d_sums, scan_op, rows::vectorised(d_in, d_scanned));
    };
    return parts::scan_in_three_phases<parts::row_tile_items<block_threads, rows>, parts::access::by_vectors>(
        d_temp_storage, temp_storage_bytes, d_out, scan_op, seed, num_items, stream, scan_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
