// Rung 6. The 32 items of a warp meet in registers, and shared memory carries one aggregate a warp.
// Against 05_unrolled_last_warp: eight folds with a barrier each become eight shuffles and one barrier, and the shared
// memory of a block shrinks from 256 items to 8. DRAM traffic stays the same, so large n gains only what barriers cost.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/reduction_calls.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void warp_shuffle_kernel(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                    ReductionOpT reduction_op, T init) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t i = std::size_t(blockIdx.x) * block_threads * 2 + threadIdx.x;
  T value = ReductionOpT::template identity<T>();
  if (i < num_items) value = static_cast<T>(d_in[i]);
  if (i + block_threads < num_items) value = reduction_op(value, static_cast<T>(d_in[i + block_threads]));
#pragma unroll
  for (int offset = parts::warp_threads / 2; offset > 0; offset /= 2)
    value = reduction_op(value, parts::shuffle_down(value, offset));
  if (lane == 0) warp_aggregates[warp] = value;
  __syncthreads();
  if (warp > 0) return;
  value = warp_aggregates[lane % num_warps];
#pragma unroll
  for (int offset = num_warps / 2; offset > 0; offset /= 2)
    value = reduction_op(value, parts::shuffle_down(value, offset));
  if (lane == 0) d_out[blockIdx.x] = reduction_op(init, value);
}

struct warp_shuffle : parts::reduces_in_passes<warp_shuffle> {
  static constexpr auto idea = "the 32 items of a warp meet in registers; one barrier is left";
  static constexpr int block_threads = 256, items_per_thread = 2;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * items_per_thread, 9);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel = warp_shuffle_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
};

}  // namespace rungs::RUNGS_ABI::reductions
