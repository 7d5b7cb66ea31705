// Rung 6. One bulk copy (TMA) stores what is staged.
// Against 05_staged: a store an item becomes one instruction of one thread. It wants addresses and lengths that are
// multiples of 16 bytes, so the tile is staged as far behind one as it stands in the output, and a few threads store
// what is less than 16 bytes at both ends. So staging has to wait for the look-back. DRAM traffic stays the same.
#pragma once

#include "rungs/parts/bulk_copy.cuh"
#include "rungs/selections/04_vector_items.cuh"

namespace rungs::RUNGS_ABI::selections {

// Where an item that goes to `to` is staged: as far behind a multiple of 16 bytes.
template <class T>
__device__ T* staged_for(const T* to, T* staged) {
  return staged + reinterpret_cast<std::uintptr_t>(to) % 16 / sizeof(T);
}
// to[0 …] = staged[0 …], `count` items. All threads call it, behind a barrier that follows order_bulk_after_stores().
template <class T>
__device__ void store_in_bulk(T* to, const T* staged, int count) {
  constexpr int vector_items = 16 / sizeof(T);
  const int behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % 16 / sizeof(T));
  const int to_vector = (vector_items - behind) % vector_items, head = to_vector < count ? to_vector : count;
  const int in_bulk = (count - head) / vector_items * vector_items;
  if (threadIdx.x == 0 && in_bulk > 0)
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n cp.async.bulk.commit_group;" ::"l"(to + head),
        "r"(static_cast<unsigned>(__cvta_generic_to_shared(staged + head))), "r"(in_bulk * static_cast<int>(sizeof(T)))
        : "memory");
  const int edge = static_cast<int>(threadIdx.x) + (static_cast<int>(threadIdx.x) < head ? 0 : in_bulk);
  if (edge < count) to[edge] = staged[edge];
}
// Waits until the bulk stores of the thread have read all that they store.
__device__ inline void wait_for_bulk_stores() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

template <int block_threads, class Rows, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    bulk_stores_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out,
                       SelectOp select_op, mailboxes posts, parts::tag tag, bool by_vectors) {
#if __CUDA_ARCH__ >= 900
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  __shared__ unsigned long long tile_place;
  __shared__ alignas(16) T memory[parts::row_tile_items<block_threads, Rows> + 16 / sizeof(T)];
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
  T* const to = d_out + tile_place;
  T* const staged = staged_for(to, memory);
  chosen.store(rows, staged + warp_place);
  parts::order_bulk_after_stores();
  __syncthreads();
  store_in_bulk(to, staged, count);
  if (threadIdx.x == 0) wait_for_bulk_stores();
#endif
}

struct bulk_stores : parts::selection_calls<bulk_stores> {
  static constexpr auto idea = "one bulk copy stores what is staged";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;
  static constexpr int min_cc = 90;

  template <class T>
  using rows = parts::rows<num_rows, const T*, T*, T>;
  template <class T>
  static constexpr int tile_items = parts::row_tile_items<block_threads, rows<T>>;
  template <class T, class SelectOp>
  static constexpr auto kernel() {
    return bulk_stores_kernel<block_threads, rows<T>, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
