// cg::reduce over tiles of 32 threads, called with cooperative groups' own operators: integers take the redux
// instruction, everything else five shuffles. The tiles' aggregates meet in shared memory and the first tile reduces
// those the same way.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

// cg::reduce goes by the type of its operator, which has to be handed over as a temporary: a const object matches only
// its general form, which never takes redux.
template <class T, class LibraryOpT>
__device__ auto cooperative_operator(LibraryOpT library_op) {
  if constexpr (std::is_same_v<LibraryOpT, cuda::std::plus<>>)
    return cooperative_groups::plus<T>{};
  else if constexpr (std::is_same_v<LibraryOpT, cuda::minimum<>>)
    return cooperative_groups::less<T>{};
  else if constexpr (std::is_same_v<LibraryOpT, cuda::maximum<>>)
    return cooperative_groups::greater<T>{};
  else
    return library_op;
}

struct cg_tile_reduce {
  static constexpr auto idea = "cg::reduce over tiles of 32, twice, as the block's tree of a two-kernel reduction";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) { return parts::two_kernels_height(num_items); }

  template <class T, class LibraryOpT>
  static __device__ T combine(T value, LibraryOpT library_op) {
    namespace cg = cooperative_groups;
    constexpr int num_tiles = block_threads / 32;
    __shared__ T tile_aggregates[num_tiles];
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    const T tile_aggregate = cg::reduce(tile, value, cooperative_operator<T>(library_op));
    if (tile.thread_rank() == 0) tile_aggregates[tile.meta_group_rank()] = tile_aggregate;
    block.sync();
    const auto first = cg::tiled_partition<num_tiles>(tile);
    if (tile.meta_group_rank() != 0) return value;
    return cg::reduce(first, tile_aggregates[first.thread_rank()], cooperative_operator<T>(library_op));
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return parts::reduce_in_two_kernels<cg_tile_reduce, T>(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                           reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
