// The first launch of offset_segments.cuh: a block takes a tile of segments, and lists what would take it too long.
#pragma once

#include <cstddef>

#include "rungs/parts/overlap.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/segment_chunks.cuh"
#include "rungs/production/segments/segment_jobs.cuh"
#include "rungs/production/segments/short_segments.cuh"

namespace rungs::RUNGS_ABI::production {

// Blocks of a multiprocessor, and pieces of a lane that are on their way at once: large aggregates take more registers.
// Before sm_80 a multiprocessor has room for 1,024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class T>
inline constexpr int segment_tile_blocks = 4;
#else
template <class T>
inline constexpr int segment_tile_blocks = sizeof(T) > 4 ? 4 : 5;
#endif
template <class T>
inline constexpr unsigned tile_pieces_at_once = sizeof(T) > 4 ? 8 : 4;

// The aggregate of `size` items, at least one, in the first lane of the warp.
template <class T, class InputIteratorT, class Op>
__device__ T reduce_by_warp(const InputIteratorT& items, unsigned size, const Op& op) {
  using share =
      share_of_items<parts::warp_threads, T, InputIteratorT, Op, tile_pieces_at_once<T>, tile_pieces_at_once<T>>;
  const T value = share::reduce(items, size, threadIdx.x % parts::warp_threads, op);
  return reduce_valid_lanes<parts::warp_threads>(value, share::num_valid(size), op);
}

// What a block of the first launch does: short segments by lanes, longer ones by warps, and some of those for a block.
// It lists the rest.
template <class Call>
struct segments_tile {
  using T = typename Call::T;
  using item = typename Call::item;
  // What a warp's segments for the block may have together.
  static constexpr unsigned most_long_items = 8 * Call::most_warp_items;
  using at_once = chunks_at_once<T, item>;
  static constexpr unsigned chunk_items = Call::cut::template least_items<item>;
  // The chunks of longer segments that the block reduces at once, if so many of 32 segments are for a block, too.
  static constexpr int fewest_alike = 20;
  static constexpr unsigned most_chunks_at_once = at_once::of_tiles ? 16 : 0;
  static constexpr unsigned most_long_segments =
      segment_block_warps * (most_long_items / Call::most_warp_items) + most_chunks_at_once;

  struct long_segment {
    std::size_t segment;
    typename Call::offset begin;
    unsigned size;
  };
  struct shared {
    unsigned char orders[segment_block_warps][parts::warp_threads];
    T of_warps[2][most_chunks_at_once > 0 ? at_once::num_kept : segment_block_warps];
    unsigned num_long, num_chunks_at_once;
    long_segment long_segments[most_long_segments];
  };

  // Whether most segments of a sample are for a block, too. Then other blocks have as much to do. All lanes call it.
  static __device__ bool many_are_alike(const Call& call) {
    const std::size_t segment = call.num_segments / parts::warp_threads * (threadIdx.x % parts::warp_threads);
    const auto size = call.offsets.size(segment, call.offsets.begin(segment));
    return __popc(__ballot_sync(parts::full_mask, size > Call::most_warp_items)) >= fewest_alike;
  }

  static __device__ void run(const Call& call, shared& shared) {
    const auto& reduction = call.reduction;
    const auto& op = reduction.op;
    const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
    const std::size_t tile = blockIdx.x * std::size_t{call.tile_segments};
    const std::size_t end = parts::at_most(call.num_segments, tile + call.tile_segments);
    const std::size_t first = tile + warp * call.warp_segments, segment = first + lane;
    const bool exists = lane < call.warp_segments && segment < end;
    const auto begin = exists ? call.offsets.begin(segment) : 0;
    const auto size = exists ? call.offsets.size(segment, begin) : 0;
    const bool is_short = size <= short_segments<T>::most_items;
    const bool is_for_warp = !is_short && size <= Call::most_warp_items;
    if (threadIdx.x == 0) shared.num_long = shared.num_chunks_at_once = 0;
    __syncthreads();

    if (exists && size == 0) reduction.write(segment, T{}, false);
    short_segments<T>::reduce(
        shared.orders[warp], reduction.items, begin, is_short ? static_cast<unsigned>(size) : 0, op,
        [&](unsigned owner, const T& aggregate) { reduction.write(first + owner, aggregate, true); });
    unsigned by_warp = __ballot_sync(parts::full_mask, is_for_warp);
    for (; by_warp != 0; by_warp &= by_warp - 1) {
      const int owner = __ffs(static_cast<int>(by_warp)) - 1;
      const auto its_items = reduction.items.of_segment(__shfl_sync(parts::full_mask, begin, owner));
      const unsigned its_size = __shfl_sync(parts::full_mask, static_cast<unsigned>(size), owner);
      const T value = reduce_by_warp<T>(its_items, its_size, op);
      if (lane == 0) reduction.write(first + owner, value, true);
    }

    const bool is_long = !is_short && !is_for_warp;
    if (__any_sync(parts::full_mask, is_long)) {
      unsigned num_chunks = is_long ? Call::cut::template of<item>(size).num_chunks : 0;
      const unsigned its_items = num_chunks == 1 ? static_cast<unsigned>(size) : 0;
      if (parts::warp_scan(its_items, plus{}) <= most_long_items && num_chunks == 1) {
        shared.long_segments[atomicAdd(&shared.num_long, 1u)] = {segment, begin, its_items};
        num_chunks = 0;
      }
      if constexpr (most_chunks_at_once > 0) {
        const bool may_be_own = num_chunks > 1 && num_chunks <= at_once::most;
        if (__any_sync(parts::full_mask, may_be_own) && many_are_alike(call) && may_be_own &&
            atomicAdd(&shared.num_chunks_at_once, num_chunks) + num_chunks <= most_chunks_at_once) {
          shared.long_segments[atomicAdd(&shared.num_long, 1u)] = {segment, begin, static_cast<unsigned>(size)};
          num_chunks = 0;
        }
      }
      parts::wait_until_cleared();
      if (__any_sync(parts::full_mask, num_chunks > 0))
        list_jobs<at_once::of_jobs ? at_once::most : 0>(call.jobs, call.of_call, segment, num_chunks);
    }
    parts::wait_until_cleared();
    __syncthreads();
    for (unsigned i = 0; i < shared.num_long; ++i) {
      const long_segment& taken = shared.long_segments[i];
      const auto its_items = reduction.items.of_segment(taken.begin);
      T* const of_warps = shared.of_warps[i % 2];
      T value;
      if constexpr (at_once::of_tiles)
        value = at_once::template reduce<chunk_items>(its_items, taken.size, op, of_warps);
      else
        value = reduce_by_block<T>(its_items, taken.size, op, of_warps);
      if (threadIdx.x == 0) reduction.write(taken.segment, value, true);
    }
  }
};
template <class Call>
__global__ void __launch_bounds__(segment_block_threads, segment_tile_blocks<typename Call::T>)
    segment_tiles_kernel(const __grid_constant__ Call call) {
  __shared__ typename segments_tile<Call>::shared shared;
  parts::let_next_launch_start();
  segments_tile<Call>::run(call, shared);
}

}  // namespace rungs::RUNGS_ABI::production
