// Rung 2. One pass: a tile adds up the counts of the tiles before it, back to one that knows all of them.
// Against 01_tile_counts: DRAM carries the items once and what is chosen, and three launches and more become one. This
// is Merrill and Garland's decoupled look-back, as in scans/08_look_back. A tile posts its count, and the sum of all
// counts up to its own as soon as it knows it. Posts bear a tag of the call, as in scans/15_tagged_look_back. One
// thread looks back, a tile at a time, while the block waits.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/selection_calls.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::selections {

using mailboxes = parts::posted_counts;

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

struct look_back : parts::selection_calls<look_back> {
  static constexpr auto idea = "one pass: a tile looks back over the counts of earlier tiles";
  static constexpr int block_threads = 512, items_per_thread = 1;

  template <class T>
  static constexpr int tile_items = block_threads;
  template <class T, class SelectOp>
  static constexpr auto kernel() {
    return look_back_kernel<block_threads, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
