// Rung 5. The last six folds run in one warp, unrolled, without block barriers.
// Against 04_first_add_on_load: six block barriers become warp barriers. Texts of before 2017 leave those out as well,
// trusting that a warp runs in lockstep; since Volta it does not, and the sum is a race. A block of 32 has no upper
// half to fold here: it reads what nobody wrote, which the static_assert refuses.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/reduction_calls.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void unrolled_last_warp_kernel(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                          ReductionOpT reduction_op, T init) {
  static_assert(block_threads >= 64, "the unrolled warp reads partials[0 .. 63]");
  __shared__ T partials[block_threads];
  const std::size_t i = std::size_t(blockIdx.x) * block_threads * 2 + threadIdx.x;
  T value = ReductionOpT::template identity<T>();
  if (i < num_items) value = static_cast<T>(d_in[i]);
  if (i + block_threads < num_items) value = reduction_op(value, static_cast<T>(d_in[i + block_threads]));
  partials[threadIdx.x] = value;
  __syncthreads();
  for (int stride = block_threads / 2; stride > 32; stride /= 2) {
    if (threadIdx.x < stride)
      partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x < 32) {
#pragma unroll
    for (int stride = 32; stride > 0; stride /= 2) {
      if (threadIdx.x < stride)
        partials[threadIdx.x] = reduction_op(partials[threadIdx.x], partials[threadIdx.x + stride]);
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, partials[0]);
}

struct unrolled_last_warp : parts::reduces_in_passes<unrolled_last_warp> {
  static constexpr auto idea = "the last warp folds on its own, with warp barriers instead of block barriers";
  static constexpr int block_threads = 256, items_per_thread = 2;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * items_per_thread, 9);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel =
      unrolled_last_warp_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
};

}  // namespace rungs::RUNGS_ABI::reductions
