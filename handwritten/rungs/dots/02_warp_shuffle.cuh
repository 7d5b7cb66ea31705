// Rung 2. The sums of a warp meet in registers, and shared memory carries one a warp: claim B3.
// Against 01_shared_tree: eight barriers become one. Traffic and atomics stay the same, so only small n can gain.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::dots {

template <int block_threads, class Item, class T>
__global__ void __launch_bounds__(block_threads)
    warp_shuffle_kernel(const Item* d_x, const Item* d_y, std::size_t num_items, T* d_out) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ T warp_sums[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  T sum{};
  for (std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items; i += num_threads)
    sum = parts::add_product(sum, d_x[i], d_y[i]);
#pragma unroll
  for (int offset = parts::warp_threads / 2; offset > 0; offset /= 2) sum += parts::shuffle_down(sum, offset);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp > 0) return;
  sum = warp_sums[lane % num_warps];
#pragma unroll
  for (int offset = num_warps / 2; offset > 0; offset /= 2) sum += parts::shuffle_down(sum, offset);
  if (lane == 0) parts::atomic_combine(d_out, sum, plus{});
}

struct warp_shuffle {
  static constexpr auto idea = "the sums of a warp meet in registers; one barrier is left";
  static constexpr int block_threads = 256, items_per_thread = 1;
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
    return parts::launch(warp_shuffle_kernel<block_threads, Item, T>, grid_blocks, block_threads, stream, d_x, d_y,
                         num_items, d_out);
  }
};

}  // namespace rungs::RUNGS_ABI::dots
