// Rung 11. One wave: every block publishes the aggregate of its tile and reads those of all earlier tiles at once.
// Against 09_warp_look_back: no chain of prefixes at all, so the distance to the first tile costs one round trip
// instead of many. The tile stays in registers, and its rows are scanned while the others' aggregates travel. All
// blocks are resident (a cooperative launch), so a block knows its tile without a ticket, and waiting is safe. Where
// one wave does not hold the input, the blocks come back for the next wave, and each reads what was published since its
// last tile.
#pragma once

#include <algorithm>

#include "rungs/contract.cuh"
#include "rungs/parts/aligned_rows.cuh"
#include "rungs/parts/gather.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/state.cuh"

namespace rungs::RUNGS_ABI::scans {

// Whole vectors come in one tile a block; only what is ragged, or too much for one wave, comes in more. One tile needs
// neither a loop nor 64-bit indices: the shorter code is up to 0.6 us faster on an H200, because it comes from DRAM
// too.
template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads, sizeof(typename Rows::item) > 4 ? 1 : 2)
    one_wave_kernel(typename Rows::input_iterator d_in, std::size_t num_items, typename Rows::output_iterator d_out,
                    ScanOpT scan_op, typename Rows::accumulator prefix, int ahead, bool by_vectors,
                    parts::mailboxes<typename Rows::item> mailboxes, parts::state* state) {
  using T = typename Rows::accumulator;
  constexpr bool one_tile = Rows::is_whole;
  using index = std::conditional_t<one_tile, unsigned, std::size_t>;
  constexpr int num_warps = block_threads / parts::warp_threads, tile_items = num_warps * Rows::warp_items;
  __shared__ typename Rows::item warp_aggregates[num_warps];
  __shared__ T tile_prefix;
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const index num_tiles = one_tile ? gridDim.x : parts::ceil_div(num_items, tile_items);
  index in_prefix = 0;  // tiles whose aggregates are in warp 0's prefix
  unsigned epoch = 0;
  if (warp == 0) {
    epoch = parts::current_epoch(state);
    if (lane == 0) mailboxes.prefetch(blockIdx.x);
  }
#pragma unroll 1
  for (index tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    const index first = tile * tile_items + warp * Rows::warp_items;
    Rows rows;
    parts::load_from(rows, d_in, first, num_items, ahead, by_vectors, scan_op);
    const auto of_warp = rows.aggregate(scan_op);
    if (lane == 0) warp_aggregates[warp] = of_warp;
    __syncthreads();
    if (warp == 0) {
      const T of_tile = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
      if (lane == 0) mailboxes.post(tile, Rows::held(of_tile), epoch);
    }
    const auto lanes = rows.scan_lanes(scan_op);
    const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
    if (warp == 0) {
      prefix = scan_op(prefix, parts::gather<4>(mailboxes, in_prefix, tile, epoch, scan_op));
      in_prefix = tile;
      if (lane == 0) tile_prefix = prefix;
      // Whoever has published has read the epoch, and the last tile's block has seen all others publish.
      if (lane == 0 && tile == num_tiles - 1) parts::end_epoch(state, epoch);
    }
    __syncthreads();
    rows.template finish<kind>(lanes, scan_op(tile_prefix, warps_before), scan_op);
    parts::store_from(rows, d_out, first, num_items, ahead, by_vectors);
    if (one_tile) return;
  }
}

struct one_wave : parts::scan_calls<one_wave> {
  static constexpr auto idea = "one wave whose blocks read the aggregates of all earlier tiles at once";
  // Two or four rows while no multiprocessor gets a second tile.
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::zeroed_once;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + 64;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using few = parts::rows<2, InputIteratorT, OutputIteratorT, T>;
    using some = parts::rows<4, InputIteratorT, OutputIteratorT, T>;
    using many = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    int num_multiprocessors;
    if (const cudaError_t error = parts::multiprocessors(num_multiprocessors)) return error;
    const std::size_t warps = std::size_t(num_multiprocessors) * (block_threads / parts::warp_threads);
    const auto launch = [&](auto rows, InputIteratorT in, OutputIteratorT out, std::size_t count, int ahead) {
      return launch_wave<kind, typename decltype(rows)::named>(d_temp_storage, temp_storage_bytes, in, out, scan_op,
                                                               seed, count, ahead, num_multiprocessors, stream);
    };
    if (num_items <= warps * few::warp_items)
      return parts::with_suiting_rows<few>(d_in, d_out, num_items, ~std::size_t{0}, launch);
    if (num_items <= warps * some::warp_items)
      return parts::with_suiting_rows<some>(d_in, d_out, num_items, ~std::size_t{0}, launch);
    return parts::with_suiting_rows<many>(d_in, d_out, num_items, ~std::size_t{0}, launch);
  }

 private:
  template <parts::scan_kind kind, class Rows, class ScanOpT>
  static cudaError_t launch_wave(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                 typename Rows::input_iterator d_in, typename Rows::output_iterator d_out,
                                 ScanOpT scan_op, typename Rows::accumulator seed, std::size_t num_items, int ahead,
                                 int num_multiprocessors, cudaStream_t stream) {
    using item = typename Rows::item;
    const auto kernel = one_wave_kernel<kind, block_threads, Rows, ScanOpT>;
    constexpr int num_warps = block_threads / parts::warp_threads;
    const std::size_t num_tiles = parts::ceil_div(num_items, num_warps * Rows::warp_items);
    // The shape depends on num_items, and what lies ahead may make one tile more; more items never ask for less
    // storage.
    const std::size_t tiles_of_a_row =
        parts::ceil_div(num_items - ahead + parts::most_ahead, num_warps * Rows::row_items);
    const std::size_t num_mailboxes =
        std::max(parts::ceil_div(tiles_of_a_row, num_rows), parts::at_most(tiles_of_a_row, num_multiprocessors + 1));
    char* region;
    cudaError_t error;
    if (parts::answered_with_state<item>(d_temp_storage, temp_storage_bytes, num_mailboxes, region, error) ||
        num_items == 0)
      return error;
    int resident_blocks;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident_blocks, kernel, block_threads, 0);
    if (error != cudaSuccess) return error;
    const std::size_t most_blocks =
        num_multiprocessors * parts::at_most(resident_blocks, std::size_t(blocks_per_multiprocessor));
    if constexpr (Rows::is_whole) {
      if (num_tiles > most_blocks)
        return launch_wave<kind, typename Rows::general>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op, seed,
                                                         num_items, ahead, num_multiprocessors, stream);
    }
    return parts::launch_cooperatively(kernel, parts::at_most(num_tiles, most_blocks), block_threads, 0, stream, d_in,
                                       num_items, d_out, scan_op, seed, ahead, Rows::vectorised(d_in, d_out),
                                       parts::behind_state<item>(region), reinterpret_cast<parts::state*>(region));
  }
};

}  // namespace rungs::RUNGS_ABI::scans
