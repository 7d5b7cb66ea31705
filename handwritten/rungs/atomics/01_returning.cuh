// Rung 1. Atomics in memory that answer what was there before.
// Against 00_global: each answer travels back from the L2, and a thread holds a register for it until it comes. An
// exchange or a ticket needs it, a sum does not.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"

namespace rungs::RUNGS_ABI::atomics {

// `never` is no sum of answers, but the compiler does not know: so they have to come back.
template <class Op, class T>
__global__ void returning_kernel(T* d_values, parts::updates work, Op op, unsigned long long never) {
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  parts::word_of<T> answers = 0;
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    const T answer = parts::native_update(d_values + work.address_of(bits), work.value_of<Op, T>(i, bits), op);
    answers ^= parts::to_word(answer);
  }
  if (answers == never) __nanosleep(1);
}

struct returning : parts::update_calls<returning> {
  static constexpr auto idea = "atomics in memory that answer what was there";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::has_native<Op, T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch(returning_kernel<Op, T>, grid_blocks, block_threads, stream, d_values, work, op,
                         parts::never_seen);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
