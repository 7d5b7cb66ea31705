// Rung 9. The look-back reads 32 predecessors at once, a lane each.
// Against 08_look_back: up to 32 reads through L2 one after the other become one round trip, and a warp shuffle adds up
// what they bring, so the distance to the last prefix hardly counts any more: the DRAM does. Only what was posted
// behind the last prefix in the window has to be there; a lane before it is not waited for. Traffic and barriers stay
// the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/ticket.cuh"

namespace rungs::RUNGS_ABI::scans {

// What precedes tile `tile`, in every lane of the warp that calls it.
template <class T, class ScanOpT>
__device__ parts::aggregate_of<T, ScanOpT> prefix_before(const parts::mailboxes<T>& mailboxes, long long tile,
                                                         parts::tag tag, ScanOpT scan_op) {
  const int lane = threadIdx.x % parts::warp_threads;
  auto prefix = ScanOpT::template identity<parts::aggregate_of<T, ScanOpT>>();
  for (long long first = tile - parts::warp_threads;; first -= parts::warp_threads) {  // of a window of 32 tiles
    typename parts::mailboxes<T>::letter letter{};
    bool is_here = false;
    unsigned prefixes, needed;
    do {
      if (!is_here && first + lane >= 0) {
        letter = mailboxes.read(first + lane);
        is_here = letter.is_of(tag);
      }
      prefixes = __ballot_sync(parts::full_mask, is_here && letter.what(tag) == parts::posted::prefix);
      needed = prefixes == 0 ? parts::full_mask : parts::full_mask << (31 - __clz(prefixes));  // from the last one on
    } while ((needed & ~__ballot_sync(parts::full_mask, is_here)) != 0);
    if constexpr (std::is_same_v<T, parts::aggregate_of<T, ScanOpT>>) {
      const T value = needed >> lane & 1 ? letter.value() : ScanOpT::template identity<T>();
      prefix = scan_op(parts::warp_aggregate(value, scan_op), prefix);
    } else {
      const int begin = __ffs(needed) - 1;
      const T value = parts::shuffle_from(letter.value(), (begin + lane) % parts::warp_threads);
      prefix = scan_op(parts::aggregate_of_lanes(value, parts::warp_threads - begin, scan_op), prefix);
    }
    if (prefixes != 0) return prefix;
  }
}

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    warp_look_back_kernel(typename Rows::input_iterator d_in, std::size_t num_items,
                          typename Rows::output_iterator d_out, ScanOpT scan_op, typename Rows::accumulator seed,
                          bool by_vectors, parts::mailboxes<typename Rows::item> mailboxes, parts::state* state) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ unsigned long long drawn;
  __shared__ typename Rows::item warp_aggregates[num_warps];
  __shared__ T tile_prefix;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  if (threadIdx.x == 0) drawn = parts::draw(state, gridDim.x);
  __syncthreads();
  const unsigned tile = parts::ticket_of(drawn), epoch = parts::epoch_of(drawn);
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, tile, num_items, by_vectors, scan_op);
  const auto of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  T of_tile;
  if (warp == 0) {
    of_tile = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
    if (lane == 0)
      mailboxes.post(tile, Rows::held(tile > 0 ? of_tile : scan_op(seed, of_tile)), epoch,
                     tile > 0 ? parts::posted::aggregate : parts::posted::prefix);
  }
  const auto lanes = rows.scan_lanes(scan_op);
  const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  if (warp == 0) {
    const T prefix = tile > 0 ? prefix_before(mailboxes, tile, epoch, scan_op) : seed;
    if (lane == 0 && tile > 0) mailboxes.post(tile, Rows::held(scan_op(prefix, of_tile)), epoch, parts::posted::prefix);
    if (lane == 0) tile_prefix = prefix;
  }
  __syncthreads();
  rows.template finish<kind>(lanes, scan_op(tile_prefix, warps_before), scan_op);
  parts::store_tile<block_threads>(rows, d_out, tile, num_items, by_vectors);
}

struct warp_look_back : parts::scan_calls<warp_look_back> {
  static constexpr auto idea = "the look-back reads 32 predecessors at once, a lane each";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = false;  // where the last prefix is met is a matter of timing
  static constexpr contents temp_storage = contents::zeroed_once;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + parts::row_tile_height(num_rows) + 1;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using rows = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    using item = typename rows::item;
    const std::size_t num_tiles = parts::ceil_div(num_items, parts::row_tile_items<block_threads, rows>);
    char* region;
    cudaError_t error;
    if (parts::answered_with_state<item>(d_temp_storage, temp_storage_bytes, num_tiles, region, error) ||
        num_items == 0)
      return error;
    const auto kernel = warp_look_back_kernel<kind, block_threads, rows, ScanOpT>;
    return parts::launch(kernel, num_tiles, block_threads, stream, d_in, num_items, d_out, scan_op, seed,
                         rows::vectorised(d_in, d_out), parts::behind_state<item>(region),
                         reinterpret_cast<parts::state*>(region));
  }
};

}  // namespace rungs::RUNGS_ABI::scans
