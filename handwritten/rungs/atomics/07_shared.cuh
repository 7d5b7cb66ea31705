// Rung 7. Atomics in shared memory, and one in memory for each address of a block at its end.
// Against 00_global: what collides, collides within a multiprocessor, and nothing travels. A block needs room for all
// addresses, and two blocks a multiprocessor send all of theirs: with few operations an address, that is what the time
// goes into.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"
#include "rungs/parts/counters.cuh"

namespace rungs::RUNGS_ABI::atomics {

template <class Op, class T>
__global__ void shared_kernel(T* d_values, parts::updates work, Op op) {
  extern __shared__ unsigned long long shared_words[];
  T* const values = reinterpret_cast<T*>(shared_words);
  parts::set_all(values, work.num_addresses, parts::updates::start<Op, T>());
  __syncthreads();
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    parts::native_update(values + work.address_of(bits), work.value_of<Op, T>(i, bits), op);
  }
  __syncthreads();
  parts::send_all(values, work.num_addresses, d_values, op);
}

struct shared : parts::update_calls<shared> {
  static constexpr auto idea = "atomics in shared memory, then one in memory for each address of a block";
  static constexpr int block_threads = 1024, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 2, max_addresses = 4096;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::has_native<Op, T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch_with_shared_memory(shared_kernel<Op, T>, grid_blocks, block_threads,
                                            work.num_addresses * sizeof(T), stream, d_values, work, op);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
