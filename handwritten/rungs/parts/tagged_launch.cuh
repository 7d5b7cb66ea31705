// How kernels are launched whose last block gathers what the others post under a tag of the call.
#pragma once

#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/reductions/16_overlapped_finish.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr tag no_tag = 0;  // for those who leave the aggregates to another launch

// One launch of a kernel of (d_in, num_items, d_out, reduction_op, init, region, tag). Where there are more others than
// a block has threads, unless its last block gathers any number, and in a graph, it gets no_tag, and leaves its
// aggregates at region to a second launch of one block.
template <int finish_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
cudaError_t launch_tagged(void (*kernel)(InputIteratorT, std::size_t, OutputIteratorT, ReductionOpT, T, char*, tag),
                          std::size_t grid_blocks, int block_threads, cudaStream_t stream, InputIteratorT d_in,
                          std::size_t num_items, OutputIteratorT d_out, ReductionOpT reduction_op, T init, char* region,
                          const device_limits& limits, bool gathers_any = false) {
  tag of_call = no_tag;
  cudaError_t error = cudaSuccess;
  if (gathers_any || grid_blocks - 1 <= std::size_t(block_threads)) {
    bool captured = false;
    error = is_captured(stream, captured);
    if (error != cudaSuccess) return error;
    if (!captured) of_call = draw_tag();
  }
  error =
      launch(kernel, grid_blocks, block_threads, stream, d_in, num_items, d_out, reduction_op, init, region, of_call);
  if (error != cudaSuccess || of_call != no_tag) return error;
  return launch_overlapped(reductions::finish_kernel<finish_threads, OutputIteratorT, ReductionOpT, T>, 1,
                           finish_threads, 0, limits.overlaps(), stream, reinterpret_cast<const T*>(region),
                           grid_blocks, d_out, reduction_op, init);
}

}  // namespace rungs::RUNGS_ABI::parts
