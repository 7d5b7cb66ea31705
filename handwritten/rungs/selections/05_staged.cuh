// Rung 5. The tile's chosen items meet in shared memory, from where neighbours are stored by neighbours.
// Against 04_vector_items: a warp stores 32 items that stand side by side, so few of its stores are split over more
// sectors than they fill. Items are staged while the first warp looks back. It takes a tile of shared memory and as
// many accesses to it; DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
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

struct staged {
  static constexpr auto idea = "chosen items meet in shared memory; neighbours are stored by neighbours";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  // As in 00_flags_scan_scatter.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    using rows = parts::rows<num_rows, const T*, T*, T>;
    constexpr int tile_items = parts::row_tile_items<block_threads, rows>;
    // No items have a tile, too, which writes that none is chosen.
    const std::size_t num_tiles = parts::ceil_div(num_items > 0 ? num_items : 1, tile_items);
    const std::size_t bytes = mailboxes::bytes(num_tiles);
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    parts::opened_storage storage;
    error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    return parts::launch_overlapped(staged_kernel<block_threads, rows, T, SelectOp>, num_tiles, block_threads, 0,
                                    storage.clears, stream, d_in, num_items, d_out, d_num_selected_out, select_op,
                                    mailboxes(region), storage.of_call, rows::reads_aligned(d_in));
  }
};

}  // namespace rungs::RUNGS_ABI::selections
