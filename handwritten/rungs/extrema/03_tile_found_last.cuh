// Rung 3. Four 16-byte loads on their way from a thread, which remembers a tile instead of an index.
// Against 01_warp_shuffle: of a tile a thread folds its items alone, as a minimum does. It remembers the first tile
// that gave something better, and at the end looks for the place in that one. So an item takes one operation, and none
// of 64 bits. Where d_in is not aligned to 16 bytes, the items are read one by one.
#pragma once

#include "rungs/extrema/01_warp_shuffle.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/tile_vectors.cuh"

namespace rungs::RUNGS_ABI::extrema {

// The calling thread's best pair of the tiles first_tile, first_tile + num_blocks … and of what is behind the last
// whole tile, of which the threads of all blocks take turns.
template <bool aligned, int block_threads, int vectors_per_thread, class T, class ReductionOpT>
__device__ parts::placed<T> best_of_tiles(const T* d_in, std::size_t num_items, std::size_t first_tile,
                                          std::size_t num_blocks, ReductionOpT reduction_op) {
  constexpr int vector_items = parts::vector<T>::num_items;
  constexpr std::size_t tile_items = std::size_t(block_threads) * vectors_per_thread * vector_items;
  const std::size_t num_tiles = num_items / tile_items;
  T best{};
  std::size_t best_tile = num_tiles;
  for (std::size_t tile = first_tile; tile < num_tiles; tile += num_blocks) {
    parts::vector<T> loaded[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k)
      loaded[k] = parts::vector_at<aligned>(d_in + tile * tile_items, k * block_threads + threadIdx.x);
    const T of_tile = parts::fold_vectors(loaded, reduction_op);
    if (best_tile != num_tiles && !parts::is_better<ReductionOpT>(of_tile, best)) continue;
    best = of_tile;
    best_tile = tile;
  }

  parts::placed<T> mine = parts::no_item<ReductionOpT, T>();
  // The tile is read once more, and its items are looked at backwards: what is found last stands first.
  if (best_tile != num_tiles) {
    parts::vector<T> loaded[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k)
      loaded[k] = parts::vector_at<aligned>(d_in + best_tile * tile_items, k * block_threads + threadIdx.x);
#pragma unroll
    for (int k = vectors_per_thread * vector_items - 1; k >= 0; --k) {
      const T item = loaded[k / vector_items][k % vector_items];
      const int in_tile = (k / vector_items * block_threads + static_cast<int>(threadIdx.x)) * vector_items;
      if (!parts::is_better<ReductionOpT>(best, item)) mine = {item, in_tile + k % vector_items};
    }
    mine.index += static_cast<long long>(best_tile * tile_items);
  }
  for (std::size_t i = num_tiles * tile_items + first_tile * block_threads + threadIdx.x; i < num_items;
       i += num_blocks * block_threads)
    mine = parts::first_of<ReductionOpT>{}(mine, {d_in[i], static_cast<long long>(i)});
  return mine;
}

template <bool aligned, int block_threads, int vectors_per_thread, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads)
    tile_found_last_kernel(const T* d_in, std::size_t num_items, parts::placed<T>* found, ReductionOpT reduction_op) {
  parts::placed<T> best =
      best_of_tiles<aligned, block_threads, vectors_per_thread>(d_in, num_items, blockIdx.x, gridDim.x, reduction_op);
  best = parts::block_reduce<block_threads>(best, parts::first_of<ReductionOpT>{});
  if (threadIdx.x == 0) found[blockIdx.x] = best;
}

struct tile_found_last {
  static constexpr auto idea =
      "16-byte loads, the items alone; the place is looked for in the first tile that gave the best";
  static constexpr int block_threads = 256, vectors_per_thread = 4;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT reduction_op,
                                  cudaStream_t stream = nullptr) {
    constexpr int tile_items = block_threads * vectors_per_thread * parts::vector<T>::num_items;
    std::size_t grid_blocks;
    parts::placed<T>* found;
    cudaError_t error = parts::plan_blocks(num_items, tile_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, found, error)) return error;
    const auto kernel = parts::is_aligned(d_in)
                            ? tile_found_last_kernel<true, block_threads, vectors_per_thread, T, ReductionOpT>
                            : tile_found_last_kernel<false, block_threads, vectors_per_thread, T, ReductionOpT>;
    error = parts::launch(kernel, grid_blocks, block_threads, stream, d_in, num_items, found, reduction_op);
    if (error != cudaSuccess) return error;
    return parts::launch(finish_shuffles_kernel<block_threads, T, ReductionOpT>, 1, block_threads, stream,
                         static_cast<const parts::placed<T>*>(found), static_cast<unsigned>(grid_blocks), d_item,
                         d_index, reduction_op);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
