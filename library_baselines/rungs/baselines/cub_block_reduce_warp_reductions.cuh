// cub::BlockReduce by warp reductions: shuffles in every warp, one value a warp through shared memory, thread 0 adds
// those up one after the other. What cub::DeviceReduce itself uses.
#pragma once

#include <cub/block/block_reduce.cuh>

#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_block_reduce_warp_reductions {
  static constexpr auto idea = "cub::BlockReduce, a shuffle tree a warp, as the block's tree of a two-kernel reduction";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::two_kernels_height(num_items); }

  template <class T, class ReductionOpT>
  static __device__ T combine(T value, ReductionOpT reduction_op) {
    using block_reduce = cub::BlockReduce<T, block_threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ typename block_reduce::TempStorage temp_storage;
    return block_reduce(temp_storage).Reduce(value, reduction_op);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_two_kernels<cub_block_reduce_warp_reductions, T>(
        d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
