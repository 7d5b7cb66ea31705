// Rung 5. The least and the greatest item of one read.
// Against 03_tile_found_last: a tile is folded twice while its items are in registers, and a thread remembers two
// tiles. Half the bytes of two calls are read, and two launches are left of four.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/extrema/03_tile_found_last.cuh"
#include "rungs/parts/best_tile.cuh"

namespace rungs::RUNGS_ABI::extrema {

template <class T>
struct both_places {
  parts::placed<T> least, greatest;
};

struct first_of_both {
  template <class T>
  __device__ both_places<T> operator()(const both_places<T>& a, const both_places<T>& b) const {
    return {parts::first_of<minimum>{}(a.least, b.least), parts::first_of<maximum>{}(a.greatest, b.greatest)};
  }
};

template <class T>
__device__ both_places<T> no_items() {
  return {parts::no_item<minimum, T>(), parts::no_item<maximum, T>()};
}

template <bool aligned, int block_threads, int vectors_per_thread, class T>
__global__ void __launch_bounds__(block_threads)
    both_at_once_kernel(const T* d_in, std::size_t num_items, both_places<T>* found) {
  constexpr std::size_t tile_items = std::size_t(block_threads) * vectors_per_thread * parts::vector<T>::num_items;
  const std::size_t num_tiles = num_items / tile_items;
  parts::best_tile<T, minimum> least;
  parts::best_tile<T, maximum> greatest;
  for (std::size_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    parts::vector<T> loaded[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k)
      loaded[k] = parts::vector_at<aligned>(d_in + tile * tile_items, k * block_threads + threadIdx.x);
    least.look_at(loaded, tile);
    greatest.look_at(loaded, tile);
  }
  both_places<T> mine{least.template found<aligned, block_threads, vectors_per_thread>(d_in),
                      greatest.template found<aligned, block_threads, vectors_per_thread>(d_in)};
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  for (std::size_t i = num_tiles * tile_items + std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items;
       i += num_threads) {
    const parts::placed<T> item{d_in[i], static_cast<long long>(i)};
    mine = first_of_both{}(mine, {item, item});
  }
  mine = parts::block_reduce<block_threads>(mine, first_of_both{});
  if (threadIdx.x == 0) found[blockIdx.x] = mine;
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads)
    finish_both_kernel(const both_places<T>* found, unsigned num_found, T* d_min_item, long long* d_min_index,
                       T* d_max_item, long long* d_max_index) {
  both_places<T> best = no_items<T>();
  for (unsigned i = threadIdx.x; i < num_found; i += block_threads) best = first_of_both{}(best, found[i]);
  best = parts::block_reduce<block_threads>(best, first_of_both{});
  if (threadIdx.x != 0) return;
  parts::write_place(best.least, d_min_item, d_min_index);
  parts::write_place(best.greatest, d_max_item, d_max_index);
}

struct both_at_once {
  static constexpr auto idea = "one read for both: a tile is folded by minimum and by maximum";
  static constexpr int block_threads = 256, vectors_per_thread = 4;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;

  // *d_min_item and *d_min_index = the first of the least items and its index, *d_max_item and *d_max_index those of
  // the greatest, as parts/placed.cuh compares them.
  template <class T>
  static cudaError_t arg_extrema(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_min_item,
                                 long long* d_min_index, T* d_max_item, long long* d_max_index, std::size_t num_items,
                                 cudaStream_t stream = nullptr) {
    constexpr int tile_items = block_threads * vectors_per_thread * parts::vector<T>::num_items;
    std::size_t grid_blocks;
    both_places<T>* found;
    cudaError_t error = parts::plan_blocks(num_items, tile_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, found, error)) return error;
    const auto kernel = parts::is_aligned(d_in) ? both_at_once_kernel<true, block_threads, vectors_per_thread, T>
                                                : both_at_once_kernel<false, block_threads, vectors_per_thread, T>;
    error = parts::launch(kernel, grid_blocks, block_threads, stream, d_in, num_items, found);
    if (error != cudaSuccess) return error;
    return parts::launch(finish_both_kernel<block_threads, T>, 1, block_threads, stream,
                         static_cast<const both_places<T>*>(found), static_cast<unsigned>(grid_blocks), d_min_item,
                         d_min_index, d_max_item, d_max_index);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
