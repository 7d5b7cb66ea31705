// Segments between offsets, reduced in two launches whatever their lengths. Few are one launch
// (few_offset_segments.cuh).
//
// Lanes of a warp reduce up to 256 items, a warp up to 8 KB and a block up to 32 KB. Longer segments are cut into
// chunks of so much, counted from their beginning. So a segment's size alone says how it is reduced, and it has the
// same result wherever it lies. A block may have up to eight chunks of a segment at once, to the same result. Where the
// order of items does not matter, the warps of a block share all its longer segments evenly.
//
// In the first launch a block takes so many segments. What would take it too long it lists as jobs, which the blocks of
// the second launch draw. So one long segment keeps the whole device busy. If most segments of a sample are long, the
// block keeps more of its own: twice as much as the sample lets expect. Nobody waits for a block that may not have
// started. More segments than can be listed are reduced by two launches for every 16 Mi.
#pragma once

#include <cstddef>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/segments/segment_chunks.cuh"
#include "rungs/production/segments/segment_jobs.cuh"
#include "rungs/production/segments/segment_tiles.cuh"
#include "rungs/production/segments/segment_workers.cuh"

namespace rungs::RUNGS_ABI::production {

// Segments that two launches reduce, and where their jobs are listed.
template <class T, class Reduction, class Offsets>
struct segments_call : offset_segments_call<T, Reduction, Offsets> {
  std::size_t first_segment, end_segment;
  unsigned tile_segments;  // of a block
  segment_jobs<T> jobs;
  parts::tag of_call;
};

// The segments that first_segment and end_segment enclose: no more than jobs are listed of.
template <class T, class Reduction, class Offsets>
cudaError_t reduce_some_segments(const Reduction& reduction, const Offsets& offsets, std::size_t first_segment,
                                 std::size_t end_segment, const segment_jobs<T>& jobs,
                                 const parts::device_limits& limits, cudaStream_t stream) {
  parts::opened_storage storage;
  cudaError_t error = storage.open(jobs.region, sizeof(typename segment_jobs<T>::counters), stream);
  if (error != cudaSuccess) return error;
  const std::size_t num_segments = end_segment - first_segment;
  // Whole waves of resident blocks, up to four. A block has about eight segments, and more where there are many.
  const std::size_t resident = std::size_t{segment_tile_blocks<T>} * limits.multiprocessors;
  const std::size_t of_wave = segment_block_warps * resident;
  const std::size_t waves = parts::at_most((num_segments + of_wave / 2) / of_wave, 4);
  const std::size_t even = parts::ceil_div(num_segments, (waves > 0 ? waves : 1) * resident);
  // A ninth segment would be a warp's second one.
  constexpr std::size_t few = segment_block_warps;
  const std::size_t tile_segments = even == few + 1 ? few : parts::at_most(even, segment_block_threads);
  using call = segments_call<T, Reduction, Offsets>;
  const call made{{reduction, offsets}, first_segment, end_segment, static_cast<unsigned>(tile_segments), jobs,
                  storage.of_call};
  error = parts::launch_overlapped(segment_tiles_kernel<call>, parts::ceil_div(num_segments, tile_segments),
                                   segment_block_threads, 0, storage.clears, stream, made);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(segment_jobs_kernel<call>, std::size_t{job_blocks<T>} * limits.multiprocessors,
                                  segment_block_threads, 0, limits.overlaps(), stream, made);
}

// Every segment, accumulated in T. `jobs` may hold anything.
template <class T, class Reduction, class Offsets>
cudaError_t reduce_offset_segments(const Reduction& reduction, const Offsets& offsets, std::size_t num_segments,
                                   const segment_jobs<T>& jobs, cudaStream_t stream) {
  constexpr std::size_t most = segment_jobs<T>::most_segments;
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  for (std::size_t first = 0; error == cudaSuccess && first < num_segments; first += most) {
    const std::size_t end = first + parts::at_most(num_segments - first, most);
    error = reduce_some_segments<T>(reduction, offsets, first, end, jobs, limits, stream);
  }
  return error;
}

}  // namespace rungs::RUNGS_ABI::production
