// Rung 10. One block, registers only, for inputs so small that a second block costs more than it saves.
// Against 09_warp_look_back: nobody looks back, and there is no workspace and no state. Each warp scans its rows in
// registers; the warps' aggregates meet in shared memory at the one barrier. Few items get a smaller block, for warps
// without items cost too (1 Ki floats on an H200: 0.2 us). Larger inputs go through the block tile by tile.
#pragma once

#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/parts/aligned_rows.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    one_block_kernel(typename Rows::input_iterator d_in, std::size_t num_items, typename Rows::output_iterator d_out,
                     ScanOpT scan_op, typename Rows::accumulator prefix, bool by_vectors) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads, last_lane = parts::warp_threads - 1;
  // Where one instruction aggregates a warp, that is done first, and the scan need not end before the barrier.
  constexpr bool aggregates_first = parts::has_redux && sizeof(T) == 4 && std::is_integral_v<T>;
  // Two, so that a tile's barrier also frees the last tile's.
  __shared__ typename Rows::item warp_aggregates[2][num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  std::size_t first = std::size_t(warp) * Rows::warp_items;
  for (int turn = 0;; turn ^= 1) {
    Rows rows;
    rows.load_present(d_in, first, num_items, by_vectors, scan_op);
    typename Rows::lane_prefixes lanes;
    typename Rows::item aggregate;  // in the last lane
    if constexpr (aggregates_first) {
      aggregate = rows.aggregate(scan_op);
    } else {
      lanes = rows.scan_lanes(scan_op);
      constexpr int last_row = Rows::rows_of_warp - 1;
      aggregate = scan_op(lanes.of_rows[last_row], rows.of_lane(last_row, scan_op));
    }
    if (lane == last_lane) warp_aggregates[turn][warp] = aggregate;
    __syncthreads();
    const T before = scan_op(prefix, parts::before_warp<num_warps>(warp_aggregates[turn], warp, scan_op));
    if constexpr (aggregates_first) lanes = rows.scan_lanes(scan_op);
    rows.template finish<kind>(lanes, before, scan_op);
    rows.store_present(d_out, first, num_items, by_vectors);
    first += num_warps * Rows::warp_items;
    if (first - warp * Rows::warp_items >= num_items) return;
    prefix = scan_op(prefix, parts::before_warp<num_warps>(warp_aggregates[turn], num_warps, scan_op));
  }
}

struct one_block : parts::scan_calls<one_block> {
  static constexpr auto idea = "one block and nothing else, for small inputs";
  static constexpr int block_threads = 512, num_rows = 2, items_per_thread = 4 * num_rows;
  static constexpr int small_block_threads = 256;  // where it takes all items at once
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + 32;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream);
};

template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
cudaError_t one_block::scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items,
                            cudaStream_t stream) {
  using any = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
  char* unused;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_items == 0) return error;
  constexpr std::size_t small_items = small_block_threads / parts::warp_threads * any::warp_items;
  return parts::with_rows<any>(d_in, d_out, num_items, [&](auto rows) {
    const auto launch = [&](auto threads) {
      return parts::launch(one_block_kernel<kind, threads(), typename decltype(rows)::named, ScanOpT>, 1, threads(),
                           stream, d_in, num_items, d_out, scan_op, seed, any::vectorised(d_in, d_out));
    };
    if (num_items <= small_items) return launch(std::integral_constant<int, small_block_threads>{});
    return launch(std::integral_constant<int, block_threads>{});
  });
}

}  // namespace rungs::RUNGS_ABI::scans
