// cg::reduce over tiles of 8 threads: 256 values, 32 tiles, 4 tiles of their aggregates, one of the last four. Against
// cg_tile_16_reduce three stages and two barriers instead of two and one; cooperative groups take shuffles for integers
// too where a tile has fewer than 16 threads.
#pragma once

#include "rungs/baselines/parts/tiles.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_tile_8_reduce {
  static constexpr auto idea = "cg::reduce over tiles of 8, three times, as the block's tree of a two-kernel reduction";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::two_kernels_height(num_items); }

  template <class T, class LibraryOpT>
  static __device__ T combine(T value, LibraryOpT library_op) {
    return parts::reduce_by_tiles<8, block_threads>(value, library_op);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_two_kernels<cg_tile_8_reduce, T>(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                             reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
