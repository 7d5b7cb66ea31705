// Rung 3. 32 lanes look back at once.
// Against 02_look_back: 32 reads through the L2 one after the other become one round trip, and a warp shuffle adds up
// what they bring. It is the look-back of scans/09_warp_look_back, as it stands there. Traffic and barriers stay the
// same.
#pragma once

#include "rungs/scans/09_warp_look_back.cuh"
#include "rungs/selections/02_look_back.cuh"

namespace rungs::RUNGS_ABI::selections {

// How many items of earlier tiles are chosen, where this one has `count` of them. The lanes of one warp call it.
__device__ inline unsigned long long count_before(mailboxes posts, parts::tag tag, std::size_t tile,
                                                  unsigned long long count) {
  using parts::posted;
  const int lane = threadIdx.x % parts::warp_threads;
  parts::wait_until_cleared();
  if (lane == 0) posts.post(tile, count, tag, tile > 0 ? posted::aggregate : posted::prefix);
  const unsigned long long before = tile > 0 ? scans::prefix_before(posts, tile, tag, plus{}) : 0;
  if (lane == 0 && tile > 0) posts.post(tile, before + count, tag, posted::prefix);
  return before;
}

template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    warp_look_back_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out,
                          SelectOp select_op, mailboxes posts, parts::tag tag) {
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
  if (warp == 0) {
    const unsigned long long before = count_before(posts, tag, blockIdx.x, count);
    if (lane == 0) tile_place = before;
    if (lane == 0 && blockIdx.x == gridDim.x - 1) *d_num_selected_out = before + count;
  }
  __syncthreads();
  if (is_chosen) d_out[tile_place + rank] = item;
}

struct warp_look_back : parts::selection_calls<warp_look_back> {
  static constexpr auto idea = "32 lanes look back at once";
  static constexpr int block_threads = 512, items_per_thread = 1;

  template <class T>
  static constexpr int tile_items = block_threads;
  template <class T, class SelectOp>
  static constexpr auto kernel() {
    return warp_look_back_kernel<block_threads, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
