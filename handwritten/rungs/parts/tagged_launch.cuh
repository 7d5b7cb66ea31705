// How the kernel of reductions/18_tagged_aggregates is launched, for tiles of more than items.
#pragma once

#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::parts {

// One launch, whose last block gathers what the others post under a tag of the call. Where there are more others than a
// block has threads, and in a graph, a second launch of one block gathers.
template <int finish_threads, class Tile, class OutputIteratorT, class ReductionOpT, class T>
cudaError_t launch_tagged(Tile, std::size_t grid_blocks, cudaStream_t stream, typename Tile::iterator d_in,
                          std::size_t num_items, OutputIteratorT d_out, ReductionOpT reduction_op, T init, char* region,
                          const device_limits& limits) {
  tag of_call = reductions::no_tag;
  cudaError_t error = cudaSuccess;
  if (grid_blocks - 1 <= std::size_t{Tile::block_threads}) {
    bool captured = false;
    error = is_captured(stream, captured);
    if (error != cudaSuccess) return error;
    if (!captured) of_call = draw_tag();
  }
  error = launch(reductions::tagged_aggregates_kernel<Tile, OutputIteratorT, ReductionOpT, T>, grid_blocks,
                 Tile::block_threads, stream, d_in, num_items, d_out, reduction_op, init, region, of_call);
  if (error != cudaSuccess || of_call != reductions::no_tag) return error;
  return launch_overlapped(reductions::finish_kernel<finish_threads, OutputIteratorT, ReductionOpT, T>, 1,
                           finish_threads, 0, limits.overlaps(), stream, reinterpret_cast<const T*>(region),
                           grid_blocks, d_out, reduction_op, init);
}

}  // namespace rungs::RUNGS_ABI::parts
