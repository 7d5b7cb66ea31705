// Rung 7. A single pass: each tile waits for the prefix of the tile before it and hands its own on.
// Against 06_reduce_then_scan: one launch instead of three or five, and one read and one write of every item, which is
// what a scan has to move. In exchange, all tiles hang on one chain of stores and loads through L2: with tiles of 32 KB
// a hop of 0.3 us (on an H200) allows no more than 110 GB/s read, whatever the DRAM could do. A block takes its tile by
// a ticket from an atomic, so it waits only for blocks that have started. A prefix travels with the epoch of the call
// in one store: no fence, and no reset of the mailboxes between two calls.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/ticket.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    chained_kernel(typename Rows::input_iterator d_in, std::size_t num_items, typename Rows::output_iterator d_out,
                   ScanOpT scan_op, typename Rows::accumulator seed, bool by_vectors,
                   parts::mailboxes<typename Rows::accumulator> mailboxes, parts::state* state) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ unsigned long long drawn;
  __shared__ T warp_aggregates[num_warps];
  __shared__ T tile_prefix;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  if (threadIdx.x == 0) drawn = parts::draw(state, gridDim.x);
  __syncthreads();
  const unsigned tile = parts::ticket_of(drawn), epoch = parts::epoch_of(drawn);
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, tile, num_items, by_vectors, scan_op);
  const T of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  const auto lanes = rows.scan_lanes(scan_op);
  const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  if (warp == 0) {
    const T of_tile = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
    if (lane == 0) {
      T prefix = seed;
      while (tile > 0 && !mailboxes.peek(tile - 1, prefix, epoch)) continue;
      mailboxes.post(tile, scan_op(prefix, of_tile), epoch, parts::posted::prefix);
      tile_prefix = prefix;
    }
  }
  __syncthreads();
  rows.template finish<kind>(lanes, scan_op(tile_prefix, warps_before), scan_op);
  parts::store_tile<block_threads>(rows, d_out, tile, num_items, by_vectors);
}

struct chained : parts::scan_calls<chained> {
  static constexpr auto idea = "a single pass; each tile waits for the prefix of the tile before it";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::zeroed_once;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + parts::row_tile_height(num_rows) + 1;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using rows = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    const std::size_t num_tiles = parts::ceil_div(num_items, parts::row_tile_items<block_threads, rows>);
    char* region;
    cudaError_t error;
    if (parts::answered_with_state<T>(d_temp_storage, temp_storage_bytes, num_tiles, region, error) || num_items == 0)
      return error;
    const auto kernel = chained_kernel<kind, block_threads, rows, ScanOpT>;
    return parts::launch(kernel, num_tiles, block_threads, stream, d_in, num_items, d_out, scan_op, seed,
                         rows::vectorised(d_in, d_out), parts::behind_state<T>(region),
                         reinterpret_cast<parts::state*>(region));
  }
};

}  // namespace rungs::RUNGS_ABI::scans
