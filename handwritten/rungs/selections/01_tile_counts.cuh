// Rung 1. A count for every tile instead of a flag for every item; inside a tile, ballots say what precedes an item.
// Against 00_flags_scan_scatter: what is written, scanned and read again shrinks from a word an item to a word for 512.
// DRAM carries twice the items and what is chosen. A ballot makes one word of a warp's flags, whose lower bits are
// counted in one instruction. The counts of warps meet in shared memory behind one barrier.
#pragma once

#include "rungs/parts/selections_in_steps.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::selections {

// There is one count more than tiles: the scan makes of it how many are chosen.
template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    count_kernel(const T* d_in, std::size_t num_items, unsigned long long* d_counts, SelectOp select_op) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const int count = __syncthreads_count(i < num_items && select_op(d_in[i]));
  if (threadIdx.x == 0) d_counts[blockIdx.x] = count;
}

template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    scatter_tiles_kernel(const T* d_in, std::size_t num_items, const unsigned long long* d_places, T* d_out,
                         long long* d_num_selected_out, SelectOp select_op) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const bool is_chosen = i < num_items && select_op(d_in[i]);
  const unsigned chosen_lanes = __ballot_sync(parts::full_mask, is_chosen);
  if (lane == 0) warp_counts[warp] = __popc(chosen_lanes);
  __syncthreads();
  int rank = __popc(chosen_lanes & ((1u << lane) - 1));  // in the tile
  for (int earlier = 0; earlier < warp; ++earlier) rank += warp_counts[earlier];
  if (is_chosen) d_out[d_places[blockIdx.x] + rank] = d_in[i];
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *d_num_selected_out = d_places[blockIdx.x];
}

struct tile_counts : parts::selects_in_steps<tile_counts> {
  static constexpr auto idea = "a count for every tile, ballots inside it";
  static constexpr int block_threads = 512, items_per_thread = 1, places_of_block = 1;
  static constexpr std::size_t num_places(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads) + 1;
  }
  using place = unsigned long long;

  template <class T, class SelectOp>
  static constexpr auto mark() {
    return count_kernel<block_threads, T, SelectOp>;
  }
  template <class T, class SelectOp>
  static constexpr auto scatter() {
    return scatter_tiles_kernel<block_threads, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
