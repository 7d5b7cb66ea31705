// Rung 5. Eight 16-byte loads on their way from a thread.
// Against 04_vector_loads: two blocks of 512 threads a multiprocessor instead of 32 smaller ones, each with four
// vectors of either array in flight: 128 KiB a multiprocessor, which is what DRAM's latency asks for.
#pragma once

#include "rungs/dots/04_vector_loads.cuh"
#include "rungs/parts/pair_of_arrays.cuh"

namespace rungs::RUNGS_ABI::dots {

// Tiles of block_threads_ * vectors_per_thread vectors of each array, of which thread t owns the vectors t, t +
// block_threads … The order of the additions follows from num_items and the grid alone.
template <int block_threads_, int vectors_per_thread, bool aligned, class Item>
struct tile_of_pairs {
  using iterator = parts::pair_of_arrays<Item>;
  static constexpr int block_threads = block_threads_;
  static constexpr int vector_items = parts::vector<Item>::num_items;
  static constexpr int tile_vectors = block_threads * vectors_per_thread, tile_items = tile_vectors * vector_items;

  // Adds the thread's products of the tiles first_tile, first_tile + stride … to `sum`: full tiles without a predicate,
  // then the last one. The reader of tile 0 takes what is behind the last whole vector, too.
  template <class T>
  static __device__ T reduce(iterator d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride, T sum,
                             plus) {
    const std::size_t num_vectors = num_items / vector_items;
    std::size_t first = first_tile * tile_vectors;
    for (; first + tile_vectors <= num_vectors; first += stride * tile_vectors)
      sum += dot_of_present<T>(d_in, first + threadIdx.x, [](int) { return true; });
    if (first < num_vectors) {
      const int left = static_cast<int>(num_vectors - first) - static_cast<int>(threadIdx.x);
      sum += dot_of_present<T>(d_in, first + threadIdx.x, [=](int k) { return k * block_threads < left; });
    }
    return parts::add_behind(sum, d_in, num_items, first_tile);
  }

 protected:
  // Of those of the thread's vectors that are present(k); `mine` is the first of them. All loads are issued before the
  // first of them is used.
  template <class T, class Present>
  static __device__ T dot_of_present(iterator d_in, std::size_t mine, Present present) {
    parts::vector<Item> x[vectors_per_thread], y[vectors_per_thread];
    T sums[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) {
      if (!aligned || !present(k)) continue;
      x[k] = parts::load_vector(d_in.x, mine + k * block_threads);
      y[k] = parts::load_vector(d_in.y, mine + k * block_threads);
    }
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) {
      sums[k] = T{};
      if (present(k))
        sums[k] = aligned ? parts::dot_of_vectors<T>(x[k], y[k])
                          : parts::dot_of_items<T>(d_in.x, d_in.y, mine + k * block_threads);
    }
    return parts::fold<T, 0, vectors_per_thread>(sums, plus{});
  }
};

template <class Tile, class T>
__global__ void __launch_bounds__(Tile::block_threads, 2)
    loads_in_flight_kernel(typename Tile::iterator pairs, std::size_t num_items, T* sums) {
  T sum = Tile::reduce(pairs, num_items, blockIdx.x, gridDim.x, T{}, plus{});
  sum = parts::block_reduce<Tile::block_threads>(sum, plus{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

struct loads_in_flight {
  static constexpr auto idea = "eight 16-byte loads in flight a thread";
  static constexpr int block_threads = 512, vectors_per_thread = 4;  // of each array
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr bool deterministic = true;
  static std::size_t summation_height(std::size_t num_items) {
    return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor) + 16;
  }

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    using tile = tile_of_pairs<block_threads, vectors_per_thread, true, Item>;
    using unaligned = tile_of_pairs<block_threads, vectors_per_thread, false, Item>;
    std::size_t grid_blocks;
    T* sums;
    cudaError_t error = parts::plan_blocks(num_items, tile::tile_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, sums, error)) return error;
    const bool aligned = parts::is_aligned(d_x) && parts::is_aligned(d_y);
    const auto kernel = aligned ? loads_in_flight_kernel<tile, T> : loads_in_flight_kernel<unaligned, T>;
    error = parts::launch(kernel, grid_blocks, block_threads, stream, parts::pair_of_arrays<Item>{d_x, d_y}, num_items,
                          sums);
    if (error != cudaSuccess) return error;
    return parts::launch(add_up_kernel<block_threads, T>, 1, block_threads, stream, static_cast<const T*>(sums),
                         static_cast<unsigned>(grid_blocks), d_out);
  }
};

}  // namespace rungs::RUNGS_ABI::dots
