// Rung 5. The tile's chosen items meet in shared memory, from where neighbours are stored by neighbours.
// Against 04_vector_items: a warp stores 32 items that stand side by side, so few of its stores are split over more
// sectors than they fill. Items are staged while the first warp looks back. It takes a tile of shared memory and as
// many accesses to it; DRAM traffic stays the same.
#pragma once

#include "rungs/selections/04_vector_items.cuh"

namespace rungs::RUNGS_ABI::selections {

template <int block_threads, class Rows, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    staged_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out, SelectOp select_op,
                  mailboxes posts, parts::tag tag, bool by_vectors) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  __shared__ unsigned long long tile_place;
  __shared__ T staged[parts::row_tile_items<block_threads, Rows>];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t first = (std::size_t(blockIdx.x) * num_warps + warp) * Rows::warp_items;
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, blockIdx.x, num_items, by_vectors, plus{});
  const chosen_of_warp<Rows> chosen(rows, first < num_items ? num_items - first : 0, select_op);
  if (lane == 0) warp_counts[warp] = chosen.count;
  __syncthreads();
  int warp_place = 0, count = 0;  // in the tile
  for (int earlier = 0; earlier < warp; ++earlier) warp_place += warp_counts[earlier];
  for (const int of_warp : warp_counts) count += of_warp;
  chosen.store(rows, staged + warp_place);
  if (warp == 0) {
    const unsigned long long before = count_before(posts, tag, blockIdx.x, count);
    if (lane == 0) tile_place = before;
    if (lane == 0 && blockIdx.x == gridDim.x - 1) *d_num_selected_out = before + count;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += block_threads) d_out[tile_place + i] = staged[i];
}

struct staged : parts::selection_calls<staged> {
  static constexpr auto idea = "chosen items meet in shared memory; neighbours are stored by neighbours";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;

  template <class T>
  using rows = parts::rows<num_rows, const T*, T*, T>;
  template <class T>
  static constexpr int tile_items = parts::row_tile_items<block_threads, rows<T>>;
  template <class T, class SelectOp>
  static constexpr auto kernel() {
    return staged_kernel<block_threads, rows<T>, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
