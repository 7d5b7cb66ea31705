// cg::reduce_store_async over one tile of all 256 threads: the last warp to arrive reduces the warps' aggregates and
// stores the result where it belongs, and the others do not wait for it. Against cg_block_reduce nobody is told the
// result, so nobody waits at the end.
#pragma once

#include "rungs/baselines/parts/shuffle_passes.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cg_store_async {
  static constexpr auto idea = "cg::reduce_store_async over one tile of 256: the last warp to arrive stores the result";
  static constexpr int block_threads = parts::shuffle_threads, items_per_thread = parts::shuffle_items;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::shuffle_passes_height(num_items);
  }

  template <class T, class LibraryOpT>
  static __device__ void leave(T value, bool, T* d_out, LibraryOpT library_op, T init, T) {
    namespace cg = cooperative_groups;
    __shared__ cg::block_tile_memory<block_threads> scratch;
    const auto tile = cg::tiled_partition<block_threads>(cg::this_thread_block(scratch));
    if (tile.thread_rank() == 0) value = library_op(init, value);
    cg::reduce_store_async(tile, d_out, value, cooperative_operator<T>(library_op));
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_shuffle_passes<cg_store_async>(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                           reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
