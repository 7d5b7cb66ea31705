// cg::reduce_update_async over one tile of all 256 threads: the last warp to arrive reduces the warps' aggregates and
// combines the result with a cuda::atomic_ref on d_out; the other warps are done. Against reductions/09_vector_loads,
// which ends in one atomic a block as well, floats go by a loop of compare-and-swap: cooperative groups have an atomic
// for integers only.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cuda/atomic>

#include "rungs/baselines/cg_tile_reduce.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <class T, class LibraryOpT>
__global__ void __launch_bounds__(parts::two_kernels_threads)
    cg_update_async_kernel(const T* d_in, std::size_t num_items, T* d_out, T identity, LibraryOpT library_op) {
  namespace cg = cooperative_groups;
  constexpr int block_threads = parts::two_kernels_threads;
  __shared__ cg::block_tile_memory<block_threads> scratch;
  const auto tile = cg::tiled_partition<block_threads>(cg::this_thread_block(scratch));
  const T aggregate = parts::thread_aggregate(d_in, num_items, identity, library_op);
  const cuda::atomic_ref<T, cuda::thread_scope_device> result(*d_out);
  cg::reduce_update_async(tile, result, aggregate, cooperative_operator<T>(library_op));
}

struct cg_update_async {
  static constexpr auto idea =
      "cg::reduce_update_async: the last warp of a block to arrive updates the result atomically";
  static constexpr int block_threads = parts::two_kernels_threads, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr int blocks_per_multiprocessor = parts::blocks_per_multiprocessor;
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, T, T>(reduction_op);
    using library_op_t = std::remove_const_t<decltype(library_op)>;
    char* unused;
    int num_multiprocessors;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = rungs::parts::multiprocessors(num_multiprocessors);
    if (error == cudaSuccess) error = rungs::parts::initialise(d_out, init, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t grid_blocks =
        rungs::parts::at_most(rungs::parts::ceil_div(num_items, block_threads * items_per_thread),
                              std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
    return rungs::parts::launch(cg_update_async_kernel<T, library_op_t>, grid_blocks, block_threads, stream, d_in,
                                num_items, d_out, ReductionOpT::template identity<T>(), library_op);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
