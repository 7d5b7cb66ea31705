// cg::reduce over tiles of 16 threads: 256 values, 16 tiles, and one tile of their aggregates. Against cg_tile_reduce a
// step less in each stage; integers may take the redux instruction from 16 threads on, on one half of the warp at a
// time.
#pragma once

#include "rungs/baselines/parts/tiles.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_tile_16_reduce {
  static constexpr auto idea = "cg::reduce over tiles of 16, twice, as the block's tree of a two-kernel reduction";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::two_kernels_height(num_items); }

  template <class T, class LibraryOpT>
  static __device__ T combine(T value, LibraryOpT library_op) {
    return parts::reduce_by_tiles<16, block_threads>(value, library_op);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_two_kernels<cg_tile_16_reduce, T>(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                              num_items, reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
