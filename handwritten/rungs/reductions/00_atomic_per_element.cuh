// Rung 0. One global atomic per item, all of them on one address.
// Every item crosses to the L2 and queues there behind the others. More threads do not help: the queue is the limit.
// ptxas would fold the integers of a warp by REDUX and send one atomic for them, because it sees that they share one
// address. So the address depends on the lane here, by a stride that is 0 and that the compiler does not know.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class InputIteratorT, class T, class ReductionOpT>
__global__ void atomic_per_element_kernel(InputIteratorT d_in, std::size_t num_items, T* d_out,
                                          ReductionOpT reduction_op, int stride) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  T* const address = d_out + threadIdx.x * stride;
  if (i < num_items) parts::atomic_combine(address, static_cast<T>(d_in[i]), reduction_op);
}

struct atomic_per_element {
  static constexpr auto idea = "one global atomic per item, all on one address";
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
    return parts::launch(atomic_per_element_kernel<InputIteratorT, T, ReductionOpT>,
                         parts::ceil_div(num_items, block_threads), block_threads, stream, d_in, num_items, d_out,
                         reduction_op, 0);
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
