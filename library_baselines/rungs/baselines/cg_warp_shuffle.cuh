// reductions/06_warp_shuffle with cooperative groups: the same passes, the same two items a thread, and cg::reduce
// where that rung writes out its shuffles. Integers take the redux instruction, which the hand-written rung takes as
// well.
#pragma once

#include "rungs/baselines/cg_tile_reduce.cuh"
#include "rungs/parts/passes.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class LibraryOpT, class T>
__global__ void cg_warp_shuffle_kernel(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                       LibraryOpT reduction_op, T init, T identity) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads * 2 + threadIdx.x;
  T value = identity;
  if (i < num_items) value = static_cast<T>(d_in[i]);
  if (i + block_threads < num_items) value = reduction_op(value, static_cast<T>(d_in[i + block_threads]));
  value = cg_tile_reduce::combine(value, reduction_op);
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, value);
}

struct cg_warp_shuffle {
  static constexpr auto idea = "the hand-written warp_shuffle rung, its shuffles written as cg::reduce";
  static constexpr int block_threads = cg_tile_reduce::block_threads, items_per_thread = 2;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return rungs::parts::height_in_passes(num_items, block_threads * items_per_thread, 9);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT ours, T init,
                            cudaStream_t stream = nullptr) {
    const auto reduction_op = parts::library_operator<ReductionOpT, T, T>(ours);
    using library_op_t = std::remove_const_t<decltype(reduction_op)>;
    const auto pass = [&](auto d_in, std::size_t num_items, auto d_out, T init, std::size_t grid_blocks) {
      return rungs::parts::launch(
          cg_warp_shuffle_kernel<block_threads, decltype(d_in), decltype(d_out), library_op_t, T>, grid_blocks,
          block_threads, stream, d_in, num_items, d_out, reduction_op, init, ReductionOpT::template identity<T>());
    };
    return rungs::parts::reduce_in_passes<block_threads * items_per_thread>(d_temp_storage, temp_storage_bytes, d_in,
                                                                            d_out, num_items, ours, init, pass);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
