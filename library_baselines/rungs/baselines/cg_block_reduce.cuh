// cg::reduce over one tile of all threads of a block, 256 here: cooperative groups' own reduction of a block. It wants
// memory to meet in, block_tile_memory, which since sm_80 comes out of the block's reserved shared memory; warps wait
// there for each other by atomics and polling, not at the hardware's barrier, and every thread is told the result.
// Over the thread block itself cg::reduce does not compile.
#pragma once

#include "rungs/baselines/parts/shuffle_passes.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <int block_threads_>
struct cg_block_reduce_shaped {
  static constexpr auto idea = "cg::reduce over one tile of all threads of a block";
  static constexpr int block_threads = block_threads_, items_per_thread = parts::shuffle_items;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::shuffle_passes_height(num_items, block_threads);
  }

  template <class T, class LibraryOpT>
  static __device__ void leave(T value, bool, T* d_out, LibraryOpT library_op, T init, T) {
    namespace cg = cooperative_groups;
    __shared__ cg::block_tile_memory<block_threads> scratch;
    const auto tile = cg::tiled_partition<block_threads>(cg::this_thread_block(scratch));
    value = cg::reduce(tile, value, cooperative_operator<T>(library_op));
    if (tile.thread_rank() == 0) *d_out = library_op(init, value);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_shuffle_passes<cg_block_reduce_shaped>(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                                   num_items, reduction_op, init, stream);
  }
};

using cg_block_reduce = cg_block_reduce_shaped<256>;

}  // namespace rungs::RUNGS_ABI::baselines
