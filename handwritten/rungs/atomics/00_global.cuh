// Rung 0. Atomics in memory that answer nothing.
// A thread sends an atomic for each of its operations and goes on. They are done in the L2, where those on one address
// come one after the other, and lanes of a warp on one address arrive together.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"

namespace rungs::RUNGS_ABI::atomics {

template <class Op, class T>
__global__ void global_kernel(T* d_values, parts::updates work, Op op) {
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    parts::native_update(d_values + work.address_of(bits), work.value_of<Op, T>(i, bits), op);
  }
}

struct global : parts::update_calls<global> {
  static constexpr auto idea = "atomics in memory that answer nothing";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::has_native<Op, T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch(global_kernel<Op, T>, grid_blocks, block_threads, stream, d_values, work, op);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
