// The first launch of offset_segments.cuh: a block takes a tile of segments, and lists what would take it too long.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/parts/overlap.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/segment_by_warp.cuh"
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

// The aggregate of at least 256 items, in the first lane of the warp.
template <class T, class InputIteratorT, class Op>
__device__ T reduce_by_warp(const InputIteratorT& items, unsigned size, const Op& op) {
  unsigned num_valid;
  const T value = share_of_warp<T, tile_pieces_at_once<T>>(items, size, num_valid, op);
  return reduce_valid_lanes<parts::warp_threads>(value, num_valid, op);
}

// What a block of the first launch does: short segments by lanes, longer ones by warps, and some of those for a block.
// It lists the rest. Where the order of items does not matter, the warps share the block's segments evenly.
template <class Call>
struct segments_tile {
  using T = typename Call::T;
  using item = typename Call::item;
  // What a warp's segments for the block may have together.
  static constexpr unsigned most_long_items = 8 * Call::most_warp_items;
  using op_of_call = std::decay_t<decltype(std::declval<const Call&>().reduction.op)>;
  static constexpr bool in_any_order = has_no_order<T, op_of_call>;
  using at_once = chunks_at_once<T, item, 8>;
  static constexpr unsigned chunk_items = Call::cut::template least_items<item>;
  // Chunks of more segments that the block may have, if so many of 32 segments are for a block, too.
  static constexpr int fewest_alike = 20;
  static constexpr unsigned most_own_chunks = in_any_order || at_once::of_tiles ? 96 : 0;
  static constexpr unsigned most_long_segments =
      segment_block_warps * (most_long_items / Call::most_warp_items) + most_own_chunks;

  struct long_segment {
    std::size_t segment;
    typename Call::offset begin;
    unsigned size;
  };
  struct shared {
    unsigned char orders[segment_block_warps][parts::warp_threads];
    T of_warps[2][!in_any_order && at_once::of_tiles ? at_once::num_kept : segment_block_warps];
    unsigned of_segment[2][segment_block_warps];  // or none
    unsigned num_long, long_items, num_own_chunks;
    long_segment long_segments[most_long_segments];
  };

  // Chunks that the block may have of its own: none unless most segments of a sample are for a block, too. Then other
  // blocks have about half as many. All lanes call it.
  static __device__ unsigned own_chunks(const Call& call) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const std::size_t num_segments = call.end_segment - call.first_segment;
    const std::size_t segment = call.first_segment + num_segments / parts::warp_threads * lane;
    const auto size = call.offsets.size(segment, call.offsets.begin(segment));
    if (__popc(__ballot_sync(parts::full_mask, size > Call::most_warp_items)) < fewest_alike) return 0;
    const unsigned num_chunks = Call::cut::template of<item>(size).num_chunks;
    const unsigned sum = parts::warp_scan(parts::at_most(num_chunks, at_once::most), plus{});
    const unsigned of_sample = __shfl_sync(parts::full_mask, sum, parts::warp_threads - 1);
    return parts::at_most(2 * of_sample * call.tile_segments / parts::warp_threads, most_own_chunks);
  }

  static __device__ void run(const Call& call, shared& shared) {
    const auto& reduction = call.reduction;
    const auto& op = reduction.op;
    const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
    const std::size_t tile = call.first_segment + blockIdx.x * std::size_t{call.tile_segments};
    const auto begin_of = [&](unsigned warp) { return tile + warp * call.tile_segments / segment_block_warps; };
    const std::size_t first = begin_of(warp), segment = first + lane;
    const bool exists = segment < parts::at_most(call.end_segment, begin_of(warp + 1));
    const auto begin = exists ? call.offsets.begin(segment) : 0;
    const auto size = exists ? call.offsets.size(segment, begin) : 0;
    const bool is_short = size <= short_segments<T>::most_items;
    const bool is_for_warp = !is_short && size <= Call::most_warp_items;
    if (threadIdx.x == 0) shared.num_long = shared.long_items = shared.num_own_chunks = 0;
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
      if constexpr (most_own_chunks > 0) {
        const bool may_be_own = num_chunks > 0 && !is_taken && num_chunks <= at_once::most;
        if (__any_sync(parts::full_mask, may_be_own)) {
          const unsigned most = own_chunks(call);
          if (may_be_own && atomicAdd(&shared.num_own_chunks, num_chunks) + num_chunks <= most) is_taken = true;
        }
      }
      if (is_taken) {
        shared.long_segments[atomicAdd(&shared.num_long, 1u)] = {segment, begin, static_cast<unsigned>(size)};
        if constexpr (in_any_order) atomicAdd(&shared.long_items, static_cast<unsigned>(size));
        num_chunks = 0;
      }
      parts::wait_until_cleared();
      if (__any_sync(parts::full_mask, num_chunks > 0))
        list_jobs<at_once::of_jobs ? chunks_at_once<T, item>::most : 0>(
            call.jobs, call.of_call, static_cast<unsigned>(segment - call.first_segment), num_chunks);
    }
    parts::wait_until_cleared();
    __syncthreads();
    if constexpr (in_any_order)
      share_evenly(call, shared);
    else
      take_in_turn(call, shared);
  }

 private:
  // The block's segments, one after the other.
  static __device__ void take_in_turn(const Call& call, shared& shared) {
    const auto& op = call.reduction.op;
    for (unsigned i = 0; i < shared.num_long; ++i) {
      const long_segment& taken = shared.long_segments[i];
      const auto its_items = call.reduction.items.of_segment(taken.begin);
      T* const of_warps = shared.of_warps[i % 2];
      T value;
      if constexpr (at_once::of_tiles)
        value = at_once::template reduce<chunk_items>(its_items, taken.size, op, of_warps);
      else
        value = reduce_by_block<T>(its_items, taken.size, op, of_warps);
      if (threadIdx.x == 0) call.reduction.write(taken.segment, value, true);
    }
  }

  // Each warp has as many items of the block's segments, in a row. Where warps share a segment, its beginning and what
  // lies behind meet in shared memory.
  static __noinline__ __device__ void share_evenly(const Call& call, shared& shared) {
    constexpr unsigned least_items = 256;  // of a warp's part of a segment
    constexpr unsigned none = ~0u;
    enum { beginning, behind };
    const auto& op = call.reduction.op;
    const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
    const unsigned share = (shared.long_items + segment_block_warps - 1) / segment_block_warps;
    if (lane == 0) shared.of_segment[beginning][warp] = shared.of_segment[behind][warp] = none;
    unsigned before = 0;  // items of other segments
#pragma unroll 1
    for (unsigned i = 0; i < shared.num_long; ++i) {
      const long_segment& taken = shared.long_segments[i];
      const unsigned size = taken.size;
      // Where the share of a warp begins in the segment.
      const auto begin_of = [=](unsigned warp) {
        const unsigned at = warp * share;
        if (at <= before) return 0u;
        const unsigned its = (at - before + least_items - 1) / least_items * least_items;
        return its + least_items > size ? size : its;
      };
      const unsigned begin = begin_of(warp), end = begin_of(warp + 1);
      before += size;
      if (begin == end) continue;
      const auto its_items = call.reduction.items.of_segment(taken.begin) + static_cast<std::ptrdiff_t>(begin);
      const T value = reduce_by_warp<T>(its_items, end - begin, op);
      if (lane > 0) continue;
      if (begin == 0 && end == size) {
        call.reduction.write(taken.segment, value, true);
      } else {
        const auto part = begin == 0 ? beginning : behind;
        shared.of_warps[part][warp] = value;
        shared.of_segment[part][warp] = i;
      }
    }
    __syncthreads();
    if (threadIdx.x >= segment_block_warps) return;
    const unsigned its = shared.of_segment[beginning][threadIdx.x];
    if (its == none) return;
    T value = shared.of_warps[beginning][threadIdx.x];
    for (unsigned other = threadIdx.x + 1; other < segment_block_warps; ++other)
      if (shared.of_segment[behind][other] == its) value = op(value, shared.of_warps[behind][other]);
    call.reduction.write(shared.long_segments[its].segment, value, true);
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
