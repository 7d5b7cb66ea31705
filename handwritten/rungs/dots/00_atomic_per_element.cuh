// Rung 0. A thread a pair, and one global atomic for each product, all of them on one address: claim B1.
// A product costs one instruction, and then it queues behind all others. What is written before the launch is 0: the
// text's first program adds to whatever stands there if nobody clears it.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::dots {

template <class Item, class T>
__global__ void atomic_per_element_kernel(const Item* d_x, const Item* d_y, std::size_t num_items, T* d_out) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < num_items) parts::atomic_combine(d_out, parts::add_product(T{}, d_x[i], d_y[i]), plus{});
}

struct atomic_per_element {
  static constexpr auto idea = "one global atomic for each product, all on one address";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  // *d_out = d_x[0] * d_y[0] + … + d_x[num_items - 1] * d_y[num_items - 1], in any order, accumulated in T. The dot
  // product of no items is 0.
  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::initialise(d_out, T{}, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    return parts::launch(atomic_per_element_kernel<Item, T>, parts::ceil_div(num_items, block_threads), block_threads,
                         stream, d_x, d_y, num_items, d_out);
  }
};

}  // namespace rungs::RUNGS_ABI::dots
