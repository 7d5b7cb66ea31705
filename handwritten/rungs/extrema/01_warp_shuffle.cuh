// Rung 1. The pairs of a warp meet in registers, and shared memory carries one a warp.
// Against 00_shared_tree: nine barriers become one, in both launches. A pair travels as four words, so each level of a
// warp takes four shuffles.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/placed.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::extrema {

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads)
    warp_shuffle_kernel(const T* d_in, std::size_t num_items, parts::placed<T>* found, ReductionOpT) {
  const parts::first_of<ReductionOpT> first;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  parts::placed<T> best = parts::no_item<ReductionOpT, T>();
  for (std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items; i += num_threads)
    best = first(best, {d_in[i], static_cast<long long>(i)});
  best = parts::block_reduce<block_threads>(best, first);
  if (threadIdx.x == 0) found[blockIdx.x] = best;
}

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads)
    finish_shuffles_kernel(const parts::placed<T>* found, unsigned num_found, T* d_item, long long* d_index,
                           ReductionOpT) {
  const parts::first_of<ReductionOpT> first;
  parts::placed<T> best = parts::no_item<ReductionOpT, T>();
  for (unsigned i = threadIdx.x; i < num_found; i += block_threads) best = first(best, found[i]);
  best = parts::block_reduce<block_threads>(best, first);
  if (threadIdx.x == 0) parts::write_place(best, d_item, d_index);
}

struct warp_shuffle {
  static constexpr auto idea = "the pairs of a warp meet in registers; one barrier is left";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT reduction_op,
                                  cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    parts::placed<T>* found;
    cudaError_t error = parts::plan_blocks(num_items, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, found, error)) return error;
    error = parts::launch(warp_shuffle_kernel<block_threads, T, ReductionOpT>, grid_blocks, block_threads, stream, d_in,
                          num_items, found, reduction_op);
    if (error != cudaSuccess) return error;
    return parts::launch(finish_shuffles_kernel<block_threads, T, ReductionOpT>, 1, block_threads, stream,
                         static_cast<const parts::placed<T>*>(found), static_cast<unsigned>(grid_blocks), d_item,
                         d_index, reduction_op);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
