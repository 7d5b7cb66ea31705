// Rung 3. A block folds its items in shared memory, and sends one atomic.
// Against 02_sequential_addressing: one launch reads everything, and no aggregate goes through memory, but the order of
// the atomics differs from call to call, and so do the bits of floating-point sums.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class T, class ReductionOpT>
__global__ void atomic_per_block_kernel(InputIteratorT d_in, std::size_t num_items, T* d_out,
                                        ReductionOpT reduction_op) {
  __shared__ T partials[block_threads];
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  partials[threadIdx.x] = i < num_items ? static_cast<T>(d_in[i]) : ReductionOpT::template identity<T>();
  __syncthreads();
  for (int stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) parts::atomic_combine(d_out, partials[0], reduction_op);
}

struct atomic_per_block {
  static constexpr auto idea = "a tree in shared memory, then one atomic per block";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::initialise(d_out, init, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    return parts::launch(atomic_per_block_kernel<block_threads, InputIteratorT, T, ReductionOpT>,
                         parts::ceil_div(num_items, block_threads), block_threads, stream, d_in, num_items, d_out,
                         reduction_op);
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
