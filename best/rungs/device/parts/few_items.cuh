// Few items by one block, an item or a vector's items to each thread. Its code is short: where a kernel runs for
// microseconds, its instructions come from DRAM as its items do. No value stands for nothing, so that an operator
// without an identity costs no flags: a thread folds another's value only where that thread has one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/reductions/14_one_block.cuh"

namespace rungs::RUNGS_ABI::device {

// Thread t takes the items of vector t, and one of those that are behind the last whole vector: the order of a tile's
// reader, so that sums of floats have the same bits. All threads of the block's warps are here.
template <int vector_items, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(1024) few_items_kernel(InputIteratorT d_in, unsigned num_items, OutputIteratorT d_out,
                                                         ReductionOpT reduction_op, T init) {
  const unsigned num_whole = num_items / vector_items, num_behind = num_items % vector_items;
  const unsigned num_values = num_whole > num_behind ? num_whole : num_behind;
  const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  const unsigned num_warps = blockDim.x / parts::warp_threads;
  T value = init;
  if (threadIdx.x < num_whole) {
    const auto mine = d_in + static_cast<std::ptrdiff_t>(threadIdx.x * vector_items);
    value = parts::fold<T, 0, vector_items>(mine, reduction_op);
    if (threadIdx.x == 0) value = static_cast<T>(reduction_op(init, value));
  }
  if constexpr (vector_items > 1) {
    if (threadIdx.x < num_behind) {
      const auto behind = d_in + static_cast<std::ptrdiff_t>(num_whole * vector_items);
      const T last = static_cast<T>(behind[static_cast<std::ptrdiff_t>(threadIdx.x)]);
      value = threadIdx.x < num_whole || threadIdx.x == 0 ? static_cast<T>(reduction_op(value, last)) : last;
    }
  }
  const auto reduce_warp = [&](unsigned index, unsigned end) {
#pragma unroll
    for (unsigned offset = parts::warp_threads / 2; offset > 0; offset /= 2) {
      const T other = parts::shuffle_down(value, static_cast<int>(offset));
      if (lane + offset < parts::warp_threads && index + offset < end)
        value = static_cast<T>(reduction_op(value, other));
    }
  };
  reduce_warp(threadIdx.x, num_values);
  if (num_warps > 1) {
    __shared__ alignas(T) unsigned char bytes[parts::warp_threads * sizeof(T)];
    T* const warp_values = reinterpret_cast<T*>(bytes);
    if (lane == 0) warp_values[warp] = value;
    __syncthreads();
    if (warp > 0) return;
    if (lane < num_warps) value = warp_values[lane];
    reduce_warp(lane, num_warps);
  }
  if (threadIdx.x == 0) *d_out = value;
}

// What there is to do for no items: the launch of an empty kernel takes as long.
template <class OutputIteratorT, class T>
__global__ void __launch_bounds__(1) no_items_kernel(OutputIteratorT d_out, T init) {
  *d_out = init;
}

// reductions::one_block, but for few items these kernels, which have the same bits.
struct few_items {
  static constexpr std::size_t most_threads = 1024, most_measured = 1024;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    if constexpr (sizeof(T) <= 40) {
      if (d_temp_storage != nullptr && are_few<ReductionOpT, T>(d_in, num_items))
        return reduce_few(d_in, num_items, d_out, reduction_op, init, stream);
    }
    return reductions::one_block::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, reduction_op, init,
                                         stream);
  }

 private:
  template <class ReductionOpT, class T, class InputIteratorT>
  static bool are_few(InputIteratorT d_in, std::size_t num_items) {
    if constexpr (is_measured<InputIteratorT, ReductionOpT, T>)
      return num_items == 0 || (num_items <= most_measured && reinterpret_cast<std::uintptr_t>(d_in) % 16 != 0);
    else if constexpr (class_of<ReductionOpT> == tuning::operators::sum)
      return num_items <= reductions::one_block::block_threads;
    else
      return num_items <= most_threads;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_few(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                ReductionOpT reduction_op, const T& init, cudaStream_t stream) {
    if (num_items == 0) return parts::launch(no_items_kernel<OutputIteratorT, T>, 1, 1, stream, d_out, init);
    constexpr int vector_items = items_of_thread<InputIteratorT, ReductionOpT, T>();
    const std::size_t num_whole = num_items / vector_items, num_behind = num_items % vector_items;
    const std::size_t num_values = num_whole > num_behind ? num_whole : num_behind;
    const int block_threads = static_cast<int>(parts::ceil_div(num_values, parts::warp_threads)) * parts::warp_threads;
    return parts::launch(few_items_kernel<vector_items, InputIteratorT, OutputIteratorT, ReductionOpT, T>, 1,
                         block_threads, stream, d_in, static_cast<unsigned>(num_items), d_out, reduction_op, init);
  }
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_few(InputIteratorT d_in, std::size_t num_items, OutputIteratorT d_out,
                                parts::lifted<ReductionOpT> lifted_op, const parts::maybe<T>& init,
                                cudaStream_t stream) {
    return reduce_few(d_in, num_items, d_out, lifted_op.reduction_op, init.value, stream);
  }

  // Numbers by vectors, whose sums and extrema were measured by one_block: it has less to do where they are aligned.
  template <class InputIteratorT, class ReductionOpT, class T>
  static constexpr bool is_measured =
      parts::is_vectorisable<InputIteratorT>&& std::is_arithmetic_v<T>&& class_of<ReductionOpT> !=
      tuning::operators::any;
  template <class InputIteratorT, class ReductionOpT, class T>
  static constexpr int items_of_thread() {
    constexpr bool regroups = class_of<ReductionOpT> != tuning::operators::sum || std::is_integral_v<T>;
    if constexpr (parts::is_vectorisable<InputIteratorT> && !regroups)
      return 16 / static_cast<int>(sizeof(parts::item_of<InputIteratorT>));
    else
      return 1;
  }
};

}  // namespace rungs::RUNGS_ABI::device
