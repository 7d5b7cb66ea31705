// Rung 5. Persistent blocks: bulk copies (TMA) bring the next tiles while a tile waits for its place, and store it.
// Against 04_staged: a block goes from tile to tile, and three of them are on their way or held, so that the DRAM is
// busy while the block looks back. One instruction stores what is staged, but for less than 16 bytes at both ends: it
// is staged as far behind a multiple of 16 bytes as it stands in the output. So staging waits for the look-back. All
// blocks are resident (a cooperative launch), and each takes its tiles in order: who holds the first open tile never
// waits. Items that are not aligned, and the last tile, are read as before. DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/bulk_copy.cuh"
#include "rungs/selections/03_vector_items.cuh"

namespace rungs::RUNGS_ABI::selections {

// Stores `bytes` bytes, a multiple of 16, from shared memory; both addresses are aligned to 16. What was written there
// the ordinary way is ordered before it by who wrote it.
__device__ inline void bulk_store(void* to, const void* shared_from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared_from))), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until the thread's bulk stores have read all that they store.
__device__ inline void wait_for_bulk_stores() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

template <int block_threads, int num_rows, int stages, class T>
struct pipeline_memory {
  static constexpr int tile_items = block_threads * num_rows * neighbours<T>::count;
  alignas(16) T tiles[stages][tile_items];
  alignas(16) T staged[tile_items + neighbours<T>::count];
  parts::phase_barrier arrived[stages];
  unsigned long long tile_place;
  int warp_counts[block_threads / parts::warp_threads];
};

template <int block_threads, int num_rows, int stages, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    bulk_pipeline_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out,
                         SelectOp select_op, mailboxes posts, parts::tag tag, bool is_aligned, std::size_t num_tiles) {
#if __CUDA_ARCH__ >= 900
  using memory_of_block = pipeline_memory<block_threads, num_rows, stages, T>;
  extern __shared__ __align__(128) unsigned char dynamic_memory[];
  auto& memory = *reinterpret_cast<memory_of_block*>(dynamic_memory);
  constexpr int tile_items = memory_of_block::tile_items, per_vector = neighbours<T>::count;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const auto comes_in_bulk = [=](std::size_t tile) { return is_aligned && (tile + 1) * tile_items <= num_items; };
  const auto order = [&](std::size_t tile, int stage) {
    if (threadIdx.x != 0 || !comes_in_bulk(tile)) return;
    memory.arrived[stage].arrive_and_expect(sizeof(memory.tiles[stage]));
    parts::bulk_load(memory.tiles[stage], d_in + tile * tile_items, sizeof(memory.tiles[stage]), memory.arrived[stage]);
  };
  if (threadIdx.x == 0) {
    for (auto& each : memory.arrived) each.initialise(1);
    parts::publish_barriers();
  }
  for (int stage = 0; stage < stages; ++stage) order(blockIdx.x + std::size_t(stage) * gridDim.x, stage);
  __syncthreads();
  parts::ring_position<stages> at;
  for (std::size_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x, at.advance()) {
    rows_of_warp<num_rows, T> rows;
    const std::size_t in_tile = std::size_t(warp) * num_rows * rows.row_items;
    if (comes_in_bulk(tile)) {
      memory.arrived[at.stage].wait(at.parity);
      rows.read(memory.tiles[at.stage], in_tile, tile_items, true, select_op);
    } else {
      rows.read(d_in, tile * tile_items + in_tile, num_items, is_aligned, select_op);
    }
    if (lane == 0) memory.warp_counts[warp] = rows.num_chosen;
    if (threadIdx.x == 0) wait_for_bulk_stores();  // of the tile before: what is staged may be overwritten
    __syncthreads();
    order(tile + std::size_t(stages) * gridDim.x, at.stage);
    int warp_place = 0, count = 0;  // in the tile
    for (int earlier = 0; earlier < warp; ++earlier) warp_place += memory.warp_counts[earlier];
    for (const int of_warp : memory.warp_counts) count += of_warp;
    if (warp == 0) {
      const unsigned long long before = count_before(posts, tag, tile, count);
      if (lane == 0) memory.tile_place = before;
      if (lane == 0 && tile == num_tiles - 1) *d_num_selected_out = before + count;
    }
    __syncthreads();
    T* const to = d_out + memory.tile_place;
    T* const staged = memory.staged + reinterpret_cast<std::uintptr_t>(to) % 16 / sizeof(T);
    rows.store(staged + warp_place);
    parts::order_bulk_after_stores();
    __syncthreads();
    const int to_vector = static_cast<int>(memory.staged + per_vector - staged) % per_vector;
    const int head = to_vector < count ? to_vector : count, in_bulk = (count - head) / per_vector * per_vector;
    if (threadIdx.x == 0 && in_bulk > 0) bulk_store(to + head, staged + head, in_bulk * sizeof(T));
    const int edge = static_cast<int>(threadIdx.x) + (static_cast<int>(threadIdx.x) < head ? 0 : in_bulk);
    if (edge < count) to[edge] = staged[edge];
  }
  if (threadIdx.x == 0) wait_for_bulk_stores();
#endif
}

struct bulk_pipeline {
  static constexpr auto idea = "persistent blocks: bulk copies bring the next tiles, and store what is staged";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows, stages = 3;
  static constexpr int blocks_per_multiprocessor = 3;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;

  // As in 00_flags_scan_scatter.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    using memory = pipeline_memory<block_threads, num_rows, stages, T>;
    // No items have a tile, too, which writes that none is chosen.
    const std::size_t num_tiles = parts::ceil_div(num_items > 0 ? num_items : 1, memory::tile_items);
    const std::size_t bytes = mailboxes::bytes(num_tiles);
    const auto kernel = bulk_pipeline_kernel<block_threads, num_rows, stages, T, SelectOp>;
    char* region;
    int multiprocessors = 0;
    cudaError_t error = parts::require(min_cc);
    if (error == cudaSuccess) error = parts::multiprocessors(multiprocessors);
    if (error != cudaSuccess || parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    error = parts::allow_shared_memory(kernel, sizeof(memory));
    parts::opened_storage storage;
    if (error == cudaSuccess) error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    const auto most_blocks = static_cast<std::size_t>(multiprocessors) * blocks_per_multiprocessor;
    return parts::launch_cooperatively(kernel, parts::at_most(num_tiles, most_blocks), block_threads, sizeof(memory),
                                       stream, d_in, num_items, d_out, d_num_selected_out, select_op, mailboxes(region),
                                       storage.of_call, reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0, num_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
