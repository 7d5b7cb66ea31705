// Rung 1. Each thread adds up products of its own, a block folds them in shared memory, and sends one atomic: claim B2.
// Against 00_atomic_per_element: as many atomics as blocks, of which there are at most 32 a multiprocessor. The tree
// has a barrier a level. The text recommends blocks of 128, 256 or 512 threads: the larger the block, the more barriers
// and the fewer atomics. So there are three rungs here.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::dots {

template <int block_threads, class Item, class T>
__global__ void __launch_bounds__(block_threads)
    shared_tree_kernel(const Item* d_x, const Item* d_y, std::size_t num_items, T* d_out) {
  __shared__ T partials[block_threads];
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  T sum{};
  for (std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items; i += num_threads)
    sum = parts::add_product(sum, d_x[i], d_y[i]);
  partials[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partials[threadIdx.x] += partials[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) parts::atomic_combine(d_out, partials[0], plus{});
}

template <int block_threads_>
struct shared_tree_of {
  static constexpr auto idea = "a tree in shared memory, one atomic a block, at most 32 blocks a multiprocessor";
  static constexpr int block_threads = block_threads_, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 32;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    char* unused;
    std::size_t grid_blocks;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::plan_blocks(num_items, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = parts::initialise(d_out, T{}, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    return parts::launch(shared_tree_kernel<block_threads, Item, T>, grid_blocks, block_threads, stream, d_x, d_y,
                         num_items, d_out);
  }
};

using shared_tree = shared_tree_of<256>;
using shared_tree_128 = shared_tree_of<128>;
using shared_tree_512 = shared_tree_of<512>;

}  // namespace rungs::RUNGS_ABI::dots
