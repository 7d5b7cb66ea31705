// Rung 4. Four rows of a warp in registers, 16 bytes an access: 16 items of four bytes a thread.
// Against 03_warp_look_back: a tile has eight times as many items, so an eighth as many counts are posted and waited
// for, and a thread has 64 bytes on their way. The rows are those of scans/04_vector_items, from parts/rows.cuh. Each
// of a lane's neighbours has a ballot. A lane stores its chosen items one after the other, so what a warp
// stores at a time has gaps. DRAM traffic stays the same.
#pragma once

#include "rungs/parts/row_tile.cuh"
#include "rungs/selections/03_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::selections {

// Which of the items in a warp's rows are chosen.
template <class Rows>
struct chosen_of_warp {
  unsigned flags = 0;             // a bit for each of the lane's items
  int ranks[Rows::rows_of_warp];  // how many of the warp's chosen items precede the lane's of that row
  int count = 0;                  // of the warp

  // Of the first `num_present` items.
  template <class SelectOp>
  __device__ chosen_of_warp(const Rows& rows, std::size_t num_present, SelectOp select_op) {
    const unsigned lanes_below = (1u << threadIdx.x % parts::warp_threads) - 1;
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row) {
      ranks[row] = count;
#pragma unroll
      for (int k = 0; k < Rows::lane_items; ++k) {
        const bool is_chosen = rows.position(row) + k < num_present && select_op(rows.items[row][k]);
        const unsigned chosen_lanes = __ballot_sync(parts::full_mask, is_chosen);
        ranks[row] += __popc(chosen_lanes & lanes_below);
        count += __popc(chosen_lanes);
        flags |= unsigned{is_chosen} << (row * Rows::lane_items + k);
      }
    }
  }
  // to[0 …] = the warp's chosen items.
  __device__ void store(const Rows& rows, typename Rows::item* to) const {
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row) {
      int rank = ranks[row];
#pragma unroll
      for (int k = 0; k < Rows::lane_items; ++k)
        if ((flags >> (row * Rows::lane_items + k) & 1) != 0) to[rank++] = rows.items[row][k];
    }
  }
};

template <int block_threads, class Rows, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    vector_items_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out,
                        SelectOp select_op, mailboxes posts, parts::tag tag, bool by_vectors) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  __shared__ unsigned long long tile_place;
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
  if (warp == 0) {
    const unsigned long long before = count_before(posts, tag, blockIdx.x, count);
    if (lane == 0) tile_place = before;
    if (lane == 0 && blockIdx.x == gridDim.x - 1) *d_num_selected_out = before + count;
  }
  __syncthreads();
  chosen.store(rows, d_out + tile_place + warp_place);
}

struct vector_items : parts::selection_calls<vector_items> {
  static constexpr auto idea = "four rows of a warp in registers, 16 bytes an access";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;

  template <class T>
  using rows = parts::rows<num_rows, const T*, T*, T>;
  template <class T>
  static constexpr int tile_items = parts::row_tile_items<block_threads, rows<T>>;
  template <class T, class SelectOp>
  static constexpr auto kernel() {
    return vector_items_kernel<block_threads, rows<T>, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
