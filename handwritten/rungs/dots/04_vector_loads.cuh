// Rung 4. Sixteen bytes a load.
// Against 03_two_passes: a quarter of the load instructions for floats, a sixteenth for bytes, and four times the bytes
// on their way from a thread. Vectors are counted from the first pair, so that the bits do not depend on addresses.
// Where an array is not aligned to 16 bytes, the items of its vectors are read one by one.
#pragma once

#include "rungs/dots/03_two_passes.cuh"

namespace rungs::RUNGS_ABI::dots {

template <bool aligned, int block_threads, class Item, class T>
__global__ void __launch_bounds__(block_threads)
    vector_loads_kernel(const Item* d_x, const Item* d_y, std::size_t num_items, T* sums) {
  constexpr std::size_t vector_items = parts::vector<Item>::num_items;
  const std::size_t thread = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads, num_vectors = num_items / vector_items;
  T sum{};
  for (std::size_t i = thread; i < num_vectors; i += num_threads)
    sum += aligned ? parts::dot_of_vectors<T>(parts::load_vector(d_x, i), parts::load_vector(d_y, i))
                   : parts::dot_of_items<T>(d_x, d_y, i);
  for (std::size_t i = num_vectors * vector_items + thread; i < num_items; i += num_threads)
    sum = parts::add_product(sum, d_x[i], d_y[i]);
  sum = parts::block_reduce<block_threads>(sum, plus{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

struct vector_loads {
  static constexpr auto idea = "16-byte loads";
  static constexpr int block_threads = 256, items_per_thread = 4;
  static constexpr int blocks_per_multiprocessor = 32;
  static constexpr bool deterministic = true;
  static std::size_t summation_height(std::size_t num_items) { return two_passes::summation_height(num_items) + 16; }

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    constexpr int block_items = block_threads * parts::vector<Item>::num_items;
    std::size_t grid_blocks;
    T* sums;
    cudaError_t error = parts::plan_blocks(num_items, block_items, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, sums, error)) return error;
    const bool aligned = parts::is_aligned(d_x) && parts::is_aligned(d_y);
    const auto kernel = aligned ? vector_loads_kernel<true, block_threads, Item, T>
                                : vector_loads_kernel<false, block_threads, Item, T>;
    error = parts::launch(kernel, grid_blocks, block_threads, stream, d_x, d_y, num_items, sums);
    if (error != cudaSuccess) return error;
    constexpr int finish_threads = two_passes::finish_threads;
    return parts::launch(add_up_kernel<finish_threads, T>, 1, finish_threads, stream, static_cast<const T*>(sums),
                         static_cast<unsigned>(grid_blocks), d_out);
  }
};

}  // namespace rungs::RUNGS_ABI::dots
