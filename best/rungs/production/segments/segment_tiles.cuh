// The first launch of offset_segments.cuh: a block takes a tile of segments, and lists what would take it too long.
#pragma once

#include <cstddef>

#include "rungs/parts/overlap.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/segment_by_warp.cuh"
#include "rungs/production/segments/segment_chunks.cuh"
#include "rungs/production/segments/segment_jobs.cuh"
#include "rungs/production/segments/short_segments.cuh"

namespace rungs::RUNGS_ABI::production {

// Blocks of a multiprocessor: large aggregates take more registers. Before sm_80 a multiprocessor has room for 1,024
// threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class T>
inline constexpr int segment_tile_blocks = 4;
#else
template <class T>
inline constexpr int segment_tile_blocks = sizeof(T) > 4 ? 4 : 5;
#endif

// What a block of the first launch does: short segments by lanes, longer ones by warps, then some of the long ones.
// Many of these have a warp each, and few the whole block, to the same bits. It lists the others as jobs.
template <class Call>
struct segments_tile {
  using T = typename Call::T;
  using item = typename Call::item;
  // What a warp's segments may add to the block's long ones.
  static constexpr unsigned most_long_items = 8 * Call::most_warp_items;
  // Where the block has so many, they have a warp each.
  static constexpr bool may_be_by_warps = sizeof(T) <= 64;
  static constexpr unsigned fewest_by_warps = 4;
  // Chunks of more segments that they take, if so many of 32 segments have a quarter of that, too.
  static constexpr unsigned most_chunks = may_be_by_warps ? 8 : 0;
  static constexpr int fewest_alike = 20;
  using at_once = chunks_at_once<T, item>;
  static constexpr unsigned chunk_items = Call::cut::template least_items<item>;

  struct shared {
    unsigned char orders[segment_block_warps][parts::warp_threads];
    T of_warps[2][at_once::of_tiles ? at_once::num_kept : segment_block_warps];
    unsigned num_long;
    bool are_alike;
    unsigned char long_segments[segment_block_threads];  // of the tile
  };

  // The most chunks of which most segments of a sample have a quarter, or none. Then other warps have as much to do.
  // All lanes call it.
  static __device__ unsigned most_chunks_alike(const Call& call) {
    const std::size_t segment = call.num_segments / parts::warp_threads * (threadIdx.x % parts::warp_threads);
    const auto size = call.offsets.size(segment, call.offsets.begin(segment));
    unsigned num_chunks = most_chunks;
    const auto are_alike = [=](unsigned num_chunks) {
      return __popc(__ballot_sync(parts::full_mask, size > num_chunks * Call::most_warp_items)) >= fewest_alike;
    };
#pragma unroll 1
    while (num_chunks > 0 && !are_alike(num_chunks)) --num_chunks;
    return num_chunks;
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
    if (threadIdx.x == 0) {
      shared.num_long = 0;
      shared.are_alike = false;
    }
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
      bool is_taken = parts::warp_scan(its_items, plus{}) <= most_long_items && num_chunks == 1;
      if constexpr (most_chunks > 0) {
        const bool may_be_alike = is_long && !is_taken && num_chunks <= most_chunks;
        if (__any_sync(parts::full_mask, may_be_alike)) {
          const unsigned chunks_alike = most_chunks_alike(call);
          if (may_be_alike && num_chunks <= chunks_alike) is_taken = shared.are_alike = true;
        }
      }
      if (is_taken) {
        shared.long_segments[atomicAdd(&shared.num_long, 1u)] = static_cast<unsigned char>(segment - tile);
        num_chunks = 0;
      }
      parts::wait_until_cleared();
      if (__any_sync(parts::full_mask, num_chunks > 0))
        list_jobs<at_once::of_jobs ? at_once::most : 0>(call.jobs, call.of_call, segment, num_chunks);
    }
    parts::wait_until_cleared();
    __syncthreads();
    if constexpr (may_be_by_warps)
      if (shared.are_alike || shared.num_long >= fewest_by_warps) return take_by_warps(call, shared);
    take_by_block(call, shared);
  }

 private:
  struct long_segment {
    std::size_t number;
    typename Call::Reduction::Items::iterator items;
    unsigned size;

    __device__ long_segment(const Call& call, const shared& shared, unsigned i)
        : number(blockIdx.x * std::size_t{call.tile_segments} + shared.long_segments[i]) {
      const auto begin = call.offsets.begin(number);
      items = call.reduction.items.of_segment(begin);
      size = static_cast<unsigned>(call.offsets.size(number, begin));
    }
  };

  static __device__ void take_by_warps(const Call& call, const shared& shared) {
    const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
#pragma unroll 1
    for (unsigned i = warp; i < shared.num_long; i += segment_block_warps) {
      const long_segment taken(call, shared, i);
      const T value = reduce_chunks_by_warp<T, chunk_items>(taken.items, taken.size, call.reduction.op);
      if (lane == 0) call.reduction.write(taken.number, value, true);
    }
  }

  static __device__ void take_by_block(const Call& call, shared& shared) {
    for (unsigned i = 0; i < shared.num_long; ++i) {
      const long_segment taken(call, shared, i);
      T* const of_warps = shared.of_warps[i % 2];
      T value;
      if constexpr (at_once::of_tiles)
        value = at_once::template reduce<chunk_items>(taken.items, taken.size, call.reduction.op, of_warps);
      else
        value = reduce_by_block<T>(taken.items, taken.size, call.reduction.op, of_warps);
      if (threadIdx.x == 0) call.reduction.write(taken.number, value, true);
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
