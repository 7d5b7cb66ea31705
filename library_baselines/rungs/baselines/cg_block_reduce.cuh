// cg::reduce over one tile of all 256 threads: cooperative groups' own reduction of a block. It wants memory to meet
// in, block_tile_memory, which since sm_80 comes out of the block's reserved shared memory; warps wait there for each
// other by atomics and polling, not at the hardware's barrier. Over the thread block itself cg::reduce does not
// compile.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "rungs/baselines/cg_tile_reduce.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::v0::baselines {

struct cg_block_reduce {
  static constexpr auto idea = "cg::reduce over one tile of 256, as the block's tree of a two-kernel reduction";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::two_kernels_height(num_items); }

  template <class T, class LibraryOpT>
  static __device__ T combine(T value, LibraryOpT library_op) {
    namespace cg = cooperative_groups;
    __shared__ cg::block_tile_memory<block_threads> scratch;
    const auto tile = cg::tiled_partition<block_threads>(cg::this_thread_block(scratch));
    return cg::reduce(tile, value, cooperative_operator<T>(library_op));
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_two_kernels<cg_block_reduce, T>(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                            reduction_op, init, stream);
  }
};

}  // namespace rungs::v0::baselines
