// Rung 7, an anti-pattern. Each thread walks a contiguous chunk of its own, as one would on a CPU.
// Against 06_warp_shuffle: one launch of a fixed grid reads everything and sends an atomic per block. But the lanes of
// a warp read addresses a chunk apart, so one load of a warp touches 32 sectors where 4 would do, and each sector has
// to survive in the L1 until its other seven items are asked for.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/reduction_calls.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class T, class ReductionOpT>
__global__ void chunk_per_thread_kernel(InputIteratorT d_in, std::size_t num_items, T* d_out,
                                        ReductionOpT reduction_op) {
  const std::size_t thread = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  const std::size_t chunk = num_items / num_threads + (num_items % num_threads != 0);
  const std::size_t first = thread * chunk, last = first + chunk < num_items ? first + chunk : num_items;
  T value = ReductionOpT::template identity<T>();
#pragma unroll 1  // as in 08_grid_stride: the compiler would unroll this loop and not that one
  for (std::size_t i = first; i < last; ++i) value = reduction_op(value, static_cast<T>(d_in[i]));
  value = parts::block_reduce<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) parts::atomic_combine(d_out, value, reduction_op);
}

template <int block_threads_, int blocks_per_multiprocessor_>
struct chunk_per_thread_shaped
    : parts::reduces_by_atomics<chunk_per_thread_shaped<block_threads_, blocks_per_multiprocessor_>> {
  static constexpr auto idea = "a contiguous chunk per thread: uncoalesced, the way not to do it";
  static constexpr int block_threads = block_threads_, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class T, class ReductionOpT>
  static constexpr auto kernel = chunk_per_thread_kernel<block_threads, InputIteratorT, T, ReductionOpT>;
};

using chunk_per_thread = chunk_per_thread_shaped<256, 8>;

}  // namespace rungs::RUNGS_ABI::reductions
