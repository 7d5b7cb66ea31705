// Rung 3. Every block leaves its sum in the workspace, and a second launch of one block adds those up: claim B4.
// Against 02_warp_shuffle: no atomics, so the order is fixed and the bits repeat. d_out need not be cleared first, so
// there are two launches as before, but the second waits for the first to drain.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::dots {

template <int block_threads, class Item, class T>
__global__ void __launch_bounds__(block_threads)
    two_passes_kernel(const Item* d_x, const Item* d_y, std::size_t num_items, T* sums) {
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  T sum{};
  for (std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items; i += num_threads)
    sum = parts::add_product(sum, d_x[i], d_y[i]);
  sum = parts::block_reduce<block_threads>(sum, plus{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) add_up_kernel(const T* sums, unsigned num_sums, T* d_out) {
  T sum{};
  for (unsigned i = threadIdx.x; i < num_sums; i += block_threads) sum += sums[i];
  sum = parts::block_reduce<block_threads>(sum, plus{});
  if (threadIdx.x == 0) *d_out = sum;
}

struct two_passes {
  static constexpr auto idea = "a sum a block to memory, a second launch adds them up";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 32;
  static constexpr int finish_threads = 512;
  static constexpr bool deterministic = true;
  static std::size_t summation_height(std::size_t num_items) {
    return 2 * parts::grid_height(num_items, block_threads, 1, blocks_per_multiprocessor);
  }

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    T* sums;
    cudaError_t error = parts::plan_blocks(num_items, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, sums, error)) return error;
    error = parts::launch(two_passes_kernel<block_threads, Item, T>, grid_blocks, block_threads, stream, d_x, d_y,
                          num_items, sums);
    if (error != cudaSuccess) return error;
    return parts::launch(add_up_kernel<finish_threads, T>, 1, finish_threads, stream, static_cast<const T*>(sums),
                         static_cast<unsigned>(grid_blocks), d_out);
  }
};

}  // namespace rungs::RUNGS_ABI::dots
