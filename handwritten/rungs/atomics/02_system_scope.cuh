// Rung 2. Atomics that the host and other devices would see happen at once, too.
// Against 00_global: the scope is the whole system, not the device. For memory that lies on the device the work is done
// in the same L2, and what the wider promise costs is what the row shows.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"

namespace rungs::RUNGS_ABI::atomics {

template <class Op, class T>
__global__ void system_scope_kernel(T* d_values, parts::updates work, Op op) {
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    parts::native_update<parts::scope::system>(d_values + work.address_of(bits), work.value_of<Op, T>(i, bits), op);
  }
}

struct system_scope : parts::update_calls<system_scope> {
  static constexpr auto idea = "atomics in memory whose scope is the whole system";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = std::is_same_v<Op, plus> && !parts::is_pair<T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch(system_scope_kernel<Op, T>, grid_blocks, block_threads, stream, d_values, work, op);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
