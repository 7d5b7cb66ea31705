// Rung 7. Persistent blocks: bulk copies bring the next tiles while a tile waits for its place.
// Against 06_bulk_stores: a block goes from tile to tile and has the next two on their way, so that the DRAM is busy
// while the block looks back. A stage of the ring is ordered anew as soon as its items are in registers. All blocks are
// resident (a cooperative launch), and each takes its tiles in order: who holds the first open tile never waits. Items
// that are not aligned, and the last tile, are read as before. DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/selections/06_bulk_stores.cuh"

namespace rungs::RUNGS_ABI::selections {

template <int block_threads, int stages, class Rows, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    bulk_pipeline_kernel(const T* d_in, std::size_t num_items, T* d_out, long long* d_num_selected_out,
                         SelectOp select_op, mailboxes posts, parts::tag tag, bool by_vectors, std::size_t num_tiles) {
#if __CUDA_ARCH__ >= 900
  constexpr int num_warps = block_threads / parts::warp_threads;
  constexpr int tile_items = parts::row_tile_items<block_threads, Rows>;
  extern __shared__ __align__(128) unsigned char dynamic_memory[];
  const auto tiles = reinterpret_cast<T(*)[tile_items]>(dynamic_memory);  // so many as there are stages
  __shared__ parts::phase_barrier arrived[stages];
  __shared__ int warp_counts[num_warps];
  __shared__ unsigned long long tile_place;
  __shared__ alignas(16) T memory[tile_items + 16 / sizeof(T)];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const auto comes_in_bulk = [=](std::size_t tile) { return by_vectors && (tile + 1) * tile_items <= num_items; };
  const auto order = [&](std::size_t tile, int stage) {
    if (threadIdx.x != 0 || !comes_in_bulk(tile)) return;
    arrived[stage].arrive_and_expect(sizeof tiles[stage]);
    parts::bulk_load(tiles[stage], d_in + tile * tile_items, sizeof tiles[stage], arrived[stage]);
  };
  if (threadIdx.x == 0) {
    for (auto& each : arrived) each.initialise(1);
    parts::publish_barriers();
  }
  __syncwarp();  // to racecheck, all of the warp initialises them
  for (int stage = 0; stage < stages; ++stage) order(blockIdx.x + std::size_t(stage) * gridDim.x, stage);
  __syncthreads();
  parts::ring_position<stages> at;
  for (std::size_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x, at.advance()) {
    const std::size_t first = (tile * num_warps + warp) * Rows::warp_items;
    Rows rows;
    if (comes_in_bulk(tile)) {
      arrived[at.stage].wait(at.parity);
      rows.load(tiles[at.stage], warp * Rows::warp_items);
    } else {
      parts::load_tile<block_threads>(rows, d_in, tile, num_items, by_vectors, plus{});
    }
    const chosen_of_warp<Rows> chosen(rows, first < num_items ? num_items - first : 0, select_op);
    if (lane == 0) warp_counts[warp] = chosen.count;
    if (threadIdx.x == 0) wait_for_bulk_stores();  // of the tile before: what is staged may be overwritten
    __syncthreads();
    order(tile + std::size_t(stages) * gridDim.x, at.stage);
    int warp_place = 0, count = 0;  // in the tile
    for (int earlier = 0; earlier < warp; ++earlier) warp_place += warp_counts[earlier];
    for (const int of_warp : warp_counts) count += of_warp;
    if (warp == 0) {
      const unsigned long long before = count_before(posts, tag, tile, count);
      if (lane == 0) tile_place = before;
      if (lane == 0 && tile == num_tiles - 1) *d_num_selected_out = before + count;
    }
    __syncthreads();
    T* const to = d_out + tile_place;
    T* const staged = staged_for(to, memory);
    chosen.store(rows, staged + warp_place);
    parts::order_bulk_after_stores();
    __syncthreads();
    store_in_bulk(to, staged, count);
  }
  if (threadIdx.x == 0) wait_for_bulk_stores();
#endif
}

struct bulk_pipeline {
  static constexpr auto idea = "persistent blocks: bulk copies bring the next tiles while one waits for its place";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows, stages = 3;
  static constexpr int blocks_per_multiprocessor = 3;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;

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
    const std::size_t dynamic_bytes = std::size_t(stages) * tile_items * sizeof(T);
    const auto kernel = bulk_pipeline_kernel<block_threads, stages, rows, T, SelectOp>;
    char* region;
    int multiprocessors = 0;
    cudaError_t error = parts::require(min_cc);
    if (error == cudaSuccess) error = parts::multiprocessors(multiprocessors);
    if (error != cudaSuccess || parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    error = parts::allow_shared_memory(kernel, dynamic_bytes);
    parts::opened_storage storage;
    if (error == cudaSuccess) error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    const auto most_blocks = static_cast<std::size_t>(multiprocessors) * blocks_per_multiprocessor;
    return parts::launch_cooperatively(kernel, parts::at_most(num_tiles, most_blocks), block_threads, dynamic_bytes,
                                       stream, d_in, num_items, d_out, d_num_selected_out, select_op, mailboxes(region),
                                       storage.of_call, rows::reads_aligned(d_in), num_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
