// Rung 15. The look-back with a tag instead of an epoch and a ticket.
// Against 09_warp_look_back: the storage may hold anything, and nothing is cleared. A block takes the tile of its
// index, which spares the ticket's round trip before the loads; blocks of lower indices start first. Traffic and
// barriers stay the same.
#pragma once

#include "rungs/parts/tags.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads, 1)
    tagged_look_back_kernel(typename Rows::input_iterator d_in, std::size_t num_items,
                            typename Rows::output_iterator d_out, ScanOpT scan_op, typename Rows::accumulator seed,
                            bool by_vectors, parts::mailboxes<typename Rows::item> mailboxes, parts::tag tag) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ typename Rows::item warp_aggregates[num_warps];
  __shared__ T tile_prefix;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const unsigned tile = blockIdx.x;
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, tile, num_items, by_vectors, scan_op);
  const auto of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  T of_tile;
  if (warp == 0) {
    parts::wait_until_cleared();
    of_tile = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
    if (lane == 0)
      mailboxes.post(tile, Rows::held(tile > 0 ? of_tile : scan_op(seed, of_tile)), tag,
                     tile > 0 ? parts::posted::aggregate : parts::posted::prefix);
  }
  const auto lanes = rows.scan_lanes(scan_op);
  const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  if (warp == 0) {
    const T prefix = tile > 0 ? prefix_before(mailboxes, tile, tag, scan_op) : seed;
    if (lane == 0 && tile > 0) mailboxes.post(tile, Rows::held(scan_op(prefix, of_tile)), tag, parts::posted::prefix);
    if (lane == 0) tile_prefix = prefix;
  }
  __syncthreads();
  rows.template finish<kind>(lanes, scan_op(tile_prefix, warps_before), scan_op);
  parts::store_tile<block_threads>(rows, d_out, tile, num_items, by_vectors);
}

struct tagged_look_back : parts::scan_calls<tagged_look_back> {
  static constexpr auto idea = "the look-back with a tag instead of an epoch and a ticket";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = false;  // where the last prefix is met is a matter of timing
  static constexpr progress forward_progress = progress::by_block_order;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return warp_look_back::summation_height(num_items);
  }
  // Of what hardly fits into registers a warp holds one row.
  template <class T>
  static constexpr int rows_of = sizeof(T) <= 32 ? num_rows : 1;

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream);
};

template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
cudaError_t tagged_look_back::scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items,
                                   cudaStream_t stream) {
  using rows = parts::rows<rows_of<T>, InputIteratorT, OutputIteratorT, T>;
  using mailboxes = parts::mailboxes<typename rows::item>;
  const std::size_t num_tiles = parts::ceil_div(num_items, parts::row_tile_items<block_threads, rows>);
  const std::size_t bytes = mailboxes::bytes(num_tiles);
  parts::opened_storage storage;
  cudaError_t error;
  if (storage.answers(d_temp_storage, temp_storage_bytes, bytes, num_items, stream, error)) return error;
  const auto kernel = tagged_look_back_kernel<kind, block_threads, rows, ScanOpT>;
  return parts::launch_overlapped(kernel, num_tiles, block_threads, 0, storage.clears, stream, d_in, num_items, d_out,
                                  scan_op, seed, rows::vectorised(d_in, d_out), mailboxes(storage.region),
                                  storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::scans
