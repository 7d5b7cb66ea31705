// Rung 2. One pass: a tile adds up the counts of the tiles before it, back to one that knows all of them.
// Against 01_tile_counts: DRAM carries the items once and what is chosen, and three launches and more become one. This
// is Merrill and Garland's decoupled look-back, as in scans/08_look_back. A tile posts its count, and the sum of all
// counts up to its own as soon as it knows it. Posts bear a tag of the call, as in scans/15_tagged_look_back. One
// thread looks back, a tile at a time, while the block waits.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::selections {

using mailboxes = parts::mailboxes<unsigned long long>;

template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    look_back_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out, SelectOp select_op,
                     mailboxes posts, parts::tag tag) {
  using parts::posted;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  __shared__ unsigned long long tile_place;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const T item = i < num_items ? d_in[i] : T{};
  const bool is_chosen = i < num_items && select_op(item);
  const unsigned chosen_lanes = __ballot_sync(parts::full_mask, is_chosen);
  if (lane == 0) warp_counts[warp] = __popc(chosen_lanes);
  __syncthreads();
  int rank = __popc(chosen_lanes & ((1u << lane) - 1)), count = 0;  // in the tile
  for (int earlier = 0; earlier < warp; ++earlier) rank += warp_counts[earlier];
  for (const int of_warp : warp_counts) count += of_warp;
  if (threadIdx.x == 0) {
    parts::wait_until_cleared();
    unsigned long long before = 0, of_earlier;
    posted what = posted::aggregate;
    if (blockIdx.x > 0) posts.post(blockIdx.x, count, tag, what);
    for (unsigned earlier = blockIdx.x; earlier > 0 && what == posted::aggregate; --earlier) {
      while (!posts.peek(earlier - 1, of_earlier, tag, what)) continue;
      before += of_earlier;
    }
    posts.post(blockIdx.x, before + count, tag, posted::prefix);
    if (blockIdx.x == gridDim.x - 1) *d_num_selected_out = before + count;
    tile_place = before;
  }
  __syncthreads();
  if (is_chosen) d_out[tile_place + rank] = item;
}

struct look_back {
  static constexpr auto idea = "one pass: a tile looks back over the counts of earlier tiles";
  static constexpr int block_threads = 512, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  // As in 00_flags_scan_scatter.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    // No items have a tile, too, which writes that none is chosen.
    const std::size_t num_tiles = parts::ceil_div(num_items > 0 ? num_items : 1, block_threads);
    const std::size_t bytes = mailboxes::bytes(num_tiles);
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    parts::opened_storage storage;
    error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    return parts::launch_overlapped(look_back_kernel<block_threads, T, SelectOp>, num_tiles, block_threads, 0,
                                    storage.clears, stream, d_in, num_items, d_out, d_num_selected_out, select_op,
                                    mailboxes(region), storage.of_call);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
