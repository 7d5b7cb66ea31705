// Rung 0. The skeleton of a sum, on pairs of an item and its index: claim A6.
// Each thread keeps the best of its own pairs, a block folds them in a tree in shared memory, and a second launch of
// one block folds what the blocks found. A pair has 16 bytes where a sum has four, and takes two comparisons.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/placed.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::extrema {

// The block's best pair, in thread 0.
template <int block_threads, class T, class ReductionOpT>
__device__ parts::placed<T> fold_in_tree(const parts::placed<T>& mine, parts::first_of<ReductionOpT> first) {
  __shared__ parts::placed<T> pairs[block_threads];
  pairs[threadIdx.x] = mine;
  __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) pairs[threadIdx.x] = first(pairs[threadIdx.x], pairs[threadIdx.x + stride]);
    __syncthreads();
  }
  return pairs[0];
}

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads)
    shared_tree_kernel(const T* d_in, std::size_t num_items, parts::placed<T>* found, ReductionOpT) {
  const parts::first_of<ReductionOpT> first;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  parts::placed<T> best = parts::no_item<ReductionOpT, T>();
  for (std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items; i += num_threads)
    best = first(best, {d_in[i], static_cast<long long>(i)});
  best = fold_in_tree<block_threads>(best, first);
  if (threadIdx.x == 0) found[blockIdx.x] = best;
}

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads)
    finish_tree_kernel(const parts::placed<T>* found, unsigned num_found, T* d_item, long long* d_index, ReductionOpT) {
  const parts::first_of<ReductionOpT> first;
  parts::placed<T> best = parts::no_item<ReductionOpT, T>();
  for (unsigned i = threadIdx.x; i < num_found; i += block_threads) best = first(best, found[i]);
  best = fold_in_tree<block_threads>(best, first);
  if (threadIdx.x == 0) parts::write_place(best, d_item, d_index);
}

struct shared_tree {
  static constexpr auto idea = "pairs of item and index in a tree in shared memory, a second launch";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;

  // *d_item = the least item for minimum, the greatest for maximum, *d_index = where the first of its equals stands.
  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT reduction_op,
                                  cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    parts::placed<T>* found;
    cudaError_t error = parts::plan_blocks(num_items, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, found, error)) return error;
    error = parts::launch(shared_tree_kernel<block_threads, T, ReductionOpT>, grid_blocks, block_threads, stream, d_in,
                          num_items, found, reduction_op);
    if (error != cudaSuccess) return error;
    return parts::launch(finish_tree_kernel<block_threads, T, ReductionOpT>, 1, block_threads, stream,
                         static_cast<const parts::placed<T>*>(found), static_cast<unsigned>(grid_blocks), d_item,
                         d_index, reduction_op);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
