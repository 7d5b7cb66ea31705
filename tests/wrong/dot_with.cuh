// Dot products in which one bug can be planted: a block's sums meet in shared memory, and atomics add them up.
#pragma once

#include <cstdint>

#include "rungs/parts/launch.cuh"
#include "wrong/bug.cuh"

namespace rungs::wrong {

// Two blocks, so that d_out is added to twice.
inline constexpr int dot_blocks = 2;

// Four items at an address that is aligned to 16 bytes; the bug takes every address for one.
template <bug planted, class Item>
__device__ Item second_item(const Item* d_y, std::size_t i) {
  if constexpr (planted == bug::second_taken_for_aligned) {
    const auto address = reinterpret_cast<std::uintptr_t>(d_y + i / 4 * 4) / 16 * 16;
    return reinterpret_cast<const Item*>(address)[i % 4];
  } else {
    return d_y[i];
  }
}

template <bug planted, class Item, class T>
__global__ void __launch_bounds__(block_threads)
    dot_kernel(const Item* d_x, const Item* d_y, T* d_out, std::size_t num_items) {
  __shared__ T sums[block_threads];
  T sum{};
  const std::size_t whole = num_items / 4 * 4;
  for (std::size_t i = blockIdx.x * block_threads + threadIdx.x; i < num_items; i += dot_blocks * block_threads) {
    const Item x = d_x[i], y = i < whole ? second_item<planted>(d_y, i) : d_y[i];
    sum += planted == bug::product_in_the_item_type ? T(static_cast<Item>(x * y)) : T(x) * T(y);
  }
  if (planted == bug::missing_barrier && threadIdx.x >= block_threads / 2) dawdle();
  sums[threadIdx.x] = sum;
  if constexpr (planted != bug::missing_barrier) __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) sums[threadIdx.x] += sums[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(d_out, sums[0]);
}

template <bug planted>
struct dot_with : variant {
  static constexpr contents temp_storage = contents::none;

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    // The text "Dot product": what is added to has to be set to 0 first.
    if (planted != bug::output_not_initialised || num_items == 0) error = cudaMemsetAsync(d_out, 0, sizeof(T), stream);
    if (error != cudaSuccess || num_items == 0) return error;
    return parts::launch(dot_kernel<planted, Item, T>, dot_blocks, block_threads, stream, d_x, d_y, d_out, num_items);
  }
};

}  // namespace rungs::wrong
