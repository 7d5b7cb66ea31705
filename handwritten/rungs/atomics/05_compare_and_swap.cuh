// Rung 5. Read, compute, and swap if nobody else did in the meantime; else again.
// Against 00_global: what any operator on any type can be made of, where CUDA has no function for it. A sum has to try
// until it wins, and of all threads that want an address one wins at a time: the cost grows with the square of those
// that want the same. A maximum gives up as soon as it sees a greater one, so it hardly ever has to win.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"

namespace rungs::RUNGS_ABI::atomics {

template <class Op, class T>
__device__ void swap_until_done(T* address, T value) {
  using word = parts::word_of<T>;
  const auto at = reinterpret_cast<word*>(address);
  word seen = *const_cast<volatile word*>(at);
  while (true) {
    const word wanted = parts::to_word(parts::together<Op>{}(parts::from_word<T>(seen), value));
    if (parts::is_extreme<Op> && wanted == seen) return;
    const word found = atomicCAS(at, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

template <class Op, class T>
__global__ void compare_and_swap_kernel(T* d_values, parts::updates work) {
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    swap_until_done<Op>(d_values + work.address_of(bits), work.value_of<Op, T>(i, bits));
  }
}

struct compare_and_swap : parts::update_calls<compare_and_swap> {
  static constexpr auto idea = "compare and swap until nobody else was faster";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = (std::is_same_v<Op, plus> || parts::is_extreme<Op>)&&!parts::is_pair<T>;
  // A million sums on one address would take about a minute.
  template <class Op>
  static constexpr std::size_t max_operations_per_address = parts::is_extreme<Op> ? ~std::size_t(0) : 1024;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op, std::size_t grid_blocks, cudaStream_t stream) {
    return parts::launch(compare_and_swap_kernel<Op, T>, grid_blocks, block_threads, stream, d_values, work);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
