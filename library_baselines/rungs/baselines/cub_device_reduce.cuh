// CUB's device-wide reduction as most people call it: a pointer, a size_t, the library's operator.
// Reduce with init is the call that Sum, Min and Max make themselves (same kernels, same policy); it honours every
// init.
#pragma once

#include <cub/device/device_reduce.cuh>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_device_reduce {
  static constexpr auto idea = "cub::DeviceReduce::Reduce on a pointer and a size_t";
  // CUB's Policy600 for 4-byte accumulators, its choice up to sm_90; half as many items for 8-byte ones.
  static constexpr int block_threads = 256, items_per_thread = 16;
  // CUB promises the same bits run to run. They still depend on the address: a pointer that is not aligned to its
  // vector (4 items) takes the scalar path, which deals the items to other threads.
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;

  // CUB starts at least 5 blocks (of 256 threads) a multiprocessor that it can fill, and each thread adds up its items
  // one after the other, in whole tiles; the block's tree, the second kernel and init are well under 256 additions on
  // top.
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (5 * 128) + 256;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, parts::value_of<InputIteratorT>, T>(reduction_op);
    return cub::DeviceReduce::Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, library_op, init,
                                     stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
