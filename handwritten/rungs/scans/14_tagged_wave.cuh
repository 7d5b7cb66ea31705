// Rung 14. A tag that no other call has, instead of an epoch in storage; and nobody needs all blocks at once.
// Against 11_one_wave: the storage may hold anything, and nothing is cleared. A block takes the tile of its index and
// waits only for blocks of lower indices, which start first, so the launch need not be cooperative: it ends beside
// kernels that hold multiprocessors, and on a part of the device. Every block has one tile, however many there are.
// Traffic and barriers stay the same. Did not help on an H200: two rows a warp (-1 % to +3 % below 256 Ki floats),
// blocks of 128 and 512 threads (2 Mi floats 2 % faster by 512, others up to 12 % slower).
#pragma once

#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/parts/aligned_rows.cuh"
#include "rungs/parts/gather.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads, sizeof(typename Rows::item) > 4 ? 1 : 2)
    tagged_wave_kernel(typename Rows::input_iterator d_in, std::size_t num_items, typename Rows::output_iterator d_out,
                       ScanOpT scan_op, typename Rows::accumulator seed, int ahead, bool by_vectors,
                       parts::mailboxes<typename Rows::item> mailboxes, parts::tag tag) {
  using T = typename Rows::accumulator;
  using index = std::conditional_t<Rows::is_whole, unsigned, std::size_t>;  // whole vectors are few
  constexpr int num_warps = block_threads / parts::warp_threads, tile_items = num_warps * Rows::warp_items;
  __shared__ typename Rows::item warp_aggregates[num_warps];
  __shared__ T tile_prefix;
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  if (threadIdx.x == 0) mailboxes.prefetch(blockIdx.x);
  const index first = index(blockIdx.x) * tile_items + warp * Rows::warp_items;
  Rows rows;
  parts::load_from(rows, d_in, first, num_items, ahead, by_vectors, scan_op);
  const auto of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  if (warp == 0) {
    parts::wait_until_cleared();
    const T of_tile = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
    if (lane == 0 && blockIdx.x != gridDim.x - 1) mailboxes.post(blockIdx.x, Rows::held(of_tile), tag);
  }
  const auto lanes = rows.scan_lanes(scan_op);
  const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  if (warp == 0) {
    const T prefix = scan_op(seed, parts::gather<4>(mailboxes, 0, blockIdx.x, tag, scan_op));
    if (lane == 0) tile_prefix = prefix;
  }
  __syncthreads();
  rows.template finish<kind>(lanes, scan_op(tile_prefix, warps_before), scan_op);
  parts::store_from(rows, d_out, first, num_items, ahead, by_vectors);
}

struct tagged_wave : parts::scan_calls<tagged_wave> {
  static constexpr auto idea = "a tag that no other call has, instead of an epoch in storage; blocks in their order";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr int few_rows = 4;  // where there is no more than one such tile for each multiprocessor
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + 64;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream);
};

template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
cudaError_t tagged_wave::scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                              OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items,
                              cudaStream_t stream) {
  using few = parts::rows<few_rows, InputIteratorT, OutputIteratorT, T>;
  using many = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
  using mailboxes = parts::mailboxes<typename many::item>;
  constexpr int num_warps = block_threads / parts::warp_threads;
  int num_multiprocessors;
  if (const cudaError_t error = parts::multiprocessors(num_multiprocessors)) return error;
  const std::size_t most_of_few = std::size_t(num_multiprocessors) * num_warps * few::warp_items;
  // What lies ahead may make one tile more; more items never ask for less storage.
  const std::size_t tiles_of_few =
      parts::ceil_div(parts::at_most(num_items, most_of_few) + parts::most_ahead, num_warps * few::warp_items);
  const std::size_t tiles_of_many = parts::ceil_div(num_items + parts::most_ahead, num_warps * many::warp_items);
  const std::size_t bytes = mailboxes::bytes(tiles_of_few > tiles_of_many ? tiles_of_few : tiles_of_many);
  parts::opened_storage storage;
  cudaError_t error;
  if (storage.answers(d_temp_storage, temp_storage_bytes, bytes, num_items, stream, error)) return error;
  const auto launch = [&](auto rows_type, InputIteratorT in, OutputIteratorT out, std::size_t count, int ahead) {
    using rows = typename decltype(rows_type)::named;
    return parts::launch_overlapped(tagged_wave_kernel<kind, block_threads, rows, ScanOpT>,
                                    parts::ceil_div(count, num_warps * rows::warp_items), block_threads, 0,
                                    storage.clears, stream, in, count, out, scan_op, seed, ahead,
                                    rows::vectorised(in, out), mailboxes(storage.region), storage.of_call);
  };
  constexpr std::size_t most_whole = 0xffffffff;
  if (num_items <= most_of_few) return parts::with_suiting_rows<few>(d_in, d_out, num_items, most_whole, launch);
  return parts::with_suiting_rows<many>(d_in, d_out, num_items, most_whole, launch);
}

}  // namespace rungs::RUNGS_ABI::scans
