// Rung 3. Four rows of a warp in registers, 16 bytes an access: 16 items of four bytes a thread.
// Against 02_look_back: a tile has eight times as many items, so an eighth as many counts are posted and waited for,
// and a thread has 64 bytes on their way. 32 lanes look back at once, as in scans/09_warp_look_back. Each of a lane's
// neighbours has a ballot of its own. A lane stores its chosen items one after the other, so what a warp stores at a
// time has gaps. DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/scans/09_warp_look_back.cuh"
#include "rungs/selections/02_look_back.cuh"

namespace rungs::RUNGS_ABI::selections {

// 16 bytes of items, the lane's part of a row.
template <class T>
struct alignas(16) neighbours {
  static constexpr int count = 16 / sizeof(T);
  T items[count];
};

// The rows of a warp.
template <int num_rows, class T>
struct rows_of_warp {
  static constexpr int count = neighbours<T>::count, row_items = parts::warp_threads * count;
  neighbours<T> rows[num_rows];
  unsigned chosen = 0;  // a bit for each of the lane's items
  int ranks[num_rows];  // how many of the warp's chosen items precede the lane's of that row
  int num_chosen = 0;   // of the warp

  // The items from `first` on. Items behind the last one are not chosen.
  template <class SelectOp>
  __device__ void read(const T* d_in, std::size_t first, std::size_t num_items, bool is_aligned, SelectOp select_op) {
    const int lane = threadIdx.x % parts::warp_threads;
    const bool by_vectors = is_aligned && first + num_rows * row_items <= num_items;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const std::size_t at = first + row * row_items + lane * count;
      if (by_vectors) rows[row] = *reinterpret_cast<const neighbours<T>*>(d_in + at);
      for (int k = 0; k < count && !by_vectors; ++k)
        if (at + k < num_items) rows[row].items[k] = d_in[at + k];
    }
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const std::size_t at = first + row * row_items + lane * count;
      ranks[row] = num_chosen;
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const bool is_chosen = (by_vectors || at + k < num_items) && select_op(rows[row].items[k]);
        const unsigned chosen_lanes = __ballot_sync(parts::full_mask, is_chosen);
        ranks[row] += __popc(chosen_lanes & ((1u << lane) - 1));
        num_chosen += __popc(chosen_lanes);
        chosen |= unsigned{is_chosen} << (row * count + k);
      }
    }
  }
  // to[0 …] = the warp's chosen items.
  __device__ void store(T* to) const {
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      T* next = to + ranks[row];
#pragma unroll
      for (int k = 0; k < count; ++k)
        if ((chosen >> (row * count + k) & 1) != 0) *next++ = rows[row].items[k];
    }
  }
};

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

template <int block_threads, int num_rows, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    vector_items_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out,
                        SelectOp select_op, mailboxes posts, parts::tag tag, bool is_aligned) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  __shared__ unsigned long long tile_place;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  rows_of_warp<num_rows, T> rows;
  const std::size_t first = (std::size_t(blockIdx.x) * num_warps + warp) * num_rows * rows.row_items;
  rows.read(d_in, first, num_items, is_aligned, select_op);
  if (lane == 0) warp_counts[warp] = rows.num_chosen;
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
  rows.store(d_out + tile_place + warp_place);
}

struct vector_items {
  static constexpr auto idea = "four rows of a warp in registers, 16 bytes an access";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  // As in 00_flags_scan_scatter.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    constexpr int tile_items = block_threads * num_rows * neighbours<T>::count;
    // No items have a tile, too, which writes that none is chosen.
    const std::size_t num_tiles = parts::ceil_div(num_items > 0 ? num_items : 1, tile_items);
    const std::size_t bytes = mailboxes::bytes(num_tiles);
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    parts::opened_storage storage;
    error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    return parts::launch_overlapped(vector_items_kernel<block_threads, num_rows, T, SelectOp>, num_tiles, block_threads,
                                    0, storage.clears, stream, d_in, num_items, d_out, d_num_selected_out, select_op,
                                    mailboxes(region), storage.of_call,
                                    reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
