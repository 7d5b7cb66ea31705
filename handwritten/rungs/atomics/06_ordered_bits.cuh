// Rung 6. The minimum or maximum of floats by the atomics that integers have.
// Against 05_compare_and_swap: the bits of floats order like integers within a sign, so one integer atomic without an
// answer does it: a signed one for what is positive, an unsigned one the other way round for what is negative.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/atomic_update.cuh"

namespace rungs::RUNGS_ABI::atomics {

template <class Op, class T>
__global__ void ordered_bits_kernel(T* d_values, parts::updates work, Op op) {
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    parts::atomic_combine(d_values + work.address_of(bits), work.value_of<Op, T>(i, bits), op);
  }
}

struct ordered_bits : parts::update_calls<ordered_bits> {
  static constexpr auto idea = "minimum and maximum of floats by integer atomics on their bits";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;  // the order of arrival changes no bit
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::is_extreme<Op>&& std::is_floating_point_v<T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch(ordered_bits_kernel<Op, T>, grid_blocks, block_threads, stream, d_values, work, op);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
