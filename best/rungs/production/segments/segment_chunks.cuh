// Segments between offsets, and the chunks that long ones are cut into: how a warp and a block reduce and merge them.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/segments/fixed_segments.cuh"
#include "rungs/production/segments/pieces.cuh"

namespace rungs::RUNGS_ABI::production {

// Segment s has the items begins[s] to ends[s] - 1, or none.
template <class BeginOffsetIteratorT, class EndOffsetIteratorT>
struct segment_offsets {
  using stored = std::common_type_t<parts::item_of<BeginOffsetIteratorT>, parts::item_of<EndOffsetIteratorT>>;
  // Narrow where they are: a register each, instead of two.
  static constexpr bool are_narrow = sizeof(stored) <= 4;
  using offset = std::conditional_t<are_narrow, std::conditional_t<sizeof(stored) == 4, stored, int>, long long>;
  using count = std::conditional_t<are_narrow, unsigned, unsigned long long>;

  BeginOffsetIteratorT begins;
  EndOffsetIteratorT ends;

  __device__ offset begin(std::size_t segment) const {
    return static_cast<offset>(begins[static_cast<std::ptrdiff_t>(segment)]);
  }
  __device__ count size(std::size_t segment, offset begin) const {
    const auto end = static_cast<offset>(ends[static_cast<std::ptrdiff_t>(segment)]);
    return end > begin ? static_cast<count>(end) - static_cast<count>(begin) : 0;
  }
};

// How a segment is cut: chunks of 32 KB, or so many larger ones.
template <class Count>
struct segment_cut {
  static constexpr unsigned most_chunks = 4096;
  template <class Item>
  static constexpr unsigned least_items = sizeof(Item) <= 16 ? 32 * 1024 / sizeof(Item) : 2048;
  Count size, chunk_items;
  unsigned num_chunks;

  template <class Item>
  static __device__ segment_cut of(Count size) {
    constexpr unsigned piece_items = 16;  // or more, of which chunks are whole
    if (size <= std::size_t{most_chunks} * least_items<Item>)
      return {size, least_items<Item>, (static_cast<unsigned>(size) + least_items<Item> - 1) / least_items<Item>};
    const Count chunk_items = static_cast<Count>(parts::ceil_div(size, most_chunks * piece_items)) * piece_items;
    return {size, chunk_items, static_cast<unsigned>(parts::ceil_div(size, chunk_items))};
  }
  __device__ unsigned chunk_size(unsigned chunk) const {
    return static_cast<unsigned>(parts::at_most(size - chunk * chunk_items, chunk_items));
  }
};

// What calls with offsets have in common. A warp reduces a segment of up to most_warp_items; longer ones are cut.
template <class T_, class Reduction_, class Offsets>
struct offset_segments_call {
  using T = T_;
  using Reduction = Reduction_;
  using offset = typename Offsets::offset;
  using count = typename Offsets::count;
  using cut = segment_cut<count>;
  using item = typename pieces_of<typename Reduction::Items::iterator>::item;
  static constexpr unsigned most_warp_items = sizeof(item) <= 16 ? 8 * 1024 / sizeof(item) : 512;

  Reduction reduction;
  Offsets offsets;
};

inline constexpr int segment_block_threads = 256, segment_block_warps = segment_block_threads / parts::warp_threads;

// The aggregate of the values of the first num_valid threads of the block, in its first thread. Calls that follow each
// other take different memory.
template <class T, class Op>
__device__ T merge_in_block(T value, unsigned num_valid, const Op& op, T* of_warps) {
  const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const unsigned before = warp * parts::warp_threads;
  value = reduce_valid_lanes<parts::warp_threads>(value, num_valid > before ? num_valid - before : 0, op);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp > 0) return value;
  const auto valid_warps = static_cast<unsigned>(parts::ceil_div(num_valid, parts::warp_threads));
  constexpr int lanes = by_whole_warp<T, Op>::is_faster ? parts::warp_threads : segment_block_warps;
  return reduce_valid_lanes<lanes>(of_warps[lane % segment_block_warps], valid_warps, op);
}
template <class T, class InputIteratorT, class Op>
__device__ T reduce_by_block(const InputIteratorT& items, unsigned size, const Op& op, T* of_warps) {
  using share = share_of_items<segment_block_threads, T, InputIteratorT, Op>;
  return merge_in_block(share::reduce(items, size, threadIdx.x, op), share::num_valid(size), op, of_warps);
}

// Segments of up to so many chunks are reduced by one block with one barrier, where aggregates are not large. The warps
// keep what they have of each chunk, so the bits are those of chunks that are merged one by one.
template <class T, class Item, unsigned most_ = 4>
struct chunks_at_once {
  static constexpr unsigned most = most_;
  // Which items gain by it in one launch, and in the tiles and the jobs of two.
  static constexpr bool of_few = sizeof(T) <= 64 && sizeof(Item) <= 8;
  static constexpr bool of_tiles = sizeof(T) <= 64 && (sizeof(Item) == 4 || sizeof(Item) == 8);
  static constexpr bool of_jobs = sizeof(T) <= 64 && sizeof(Item) == 4;
  static constexpr unsigned num_kept = most * segment_block_warps;  // by the warps

  // Keeps what the caller's warp has of the chunks of a segment.
  template <unsigned chunk_items, class Items, class Op>
  static __device__ void collect(Items items, unsigned size, const Op& op, T* kept) {
    using share = share_of_items<segment_block_threads, T, Items, Op, 4, 4>;
    const unsigned warp = threadIdx.x / parts::warp_threads, before = warp * parts::warp_threads;
    kept += warp;
#pragma unroll 1
    for (;; kept += segment_block_warps) {
      const unsigned chunk_size = parts::at_most(size, chunk_items), num_valid = share::num_valid(chunk_size);
      T value = share::reduce(items, chunk_size, threadIdx.x, op);
      value = reduce_valid_lanes<parts::warp_threads>(value, num_valid > before ? num_valid - before : 0, op);
      if (threadIdx.x % parts::warp_threads == 0) *kept = value;
      if (size <= chunk_items) break;
      size -= chunk_items;
      items = items + static_cast<std::ptrdiff_t>(chunk_items);
    }
  }

  // The segment's aggregate by one warp, in its first lane.
  template <unsigned chunk_items, class Items, class Op>
  static __device__ T merge_by_warp(unsigned size, const Op& op, const T* kept) {
    using share = share_of_items<segment_block_threads, T, Items, Op>;
    constexpr unsigned a_pass = parts::warp_threads / segment_block_warps;  // chunks
    const unsigned lane = threadIdx.x % parts::warp_threads, num_chunks = (size + chunk_items - 1) / chunk_items;
    T of_lanes;  // of a chunk each
#pragma unroll 1
    for (unsigned first = 0;; first += a_pass) {
      const unsigned begin = (first + lane / segment_block_warps) * chunk_items;
      const unsigned num_valid = size > begin ? share::num_valid(parts::at_most(size - begin, chunk_items)) : 0;
      const auto valid_warps = static_cast<unsigned>(parts::ceil_div(num_valid, parts::warp_threads));
      const T value =
          reduce_valid_lanes<segment_block_warps>(kept[first * segment_block_warps + lane], valid_warps, op);
      if (num_chunks == 1) return value;
      const int lane_of_chunk = lane * segment_block_warps % parts::warp_threads;
      const T of_chunk =
          parts::by_words(value, [=](auto word) { return __shfl_sync(parts::full_mask, word, lane_of_chunk); });
      if (first == 0 || lane / a_pass == first / a_pass) of_lanes = of_chunk;
      if (most <= a_pass || first + a_pass >= num_chunks) break;
    }
    return reduce_valid_lanes<parts::warp_threads>(of_lanes, num_chunks, op);
  }

  // The same, in the first thread of the block. Calls that follow each other take different memory.
  template <unsigned chunk_items, class Items, class Op>
  static __device__ T merge(unsigned size, const Op& op, const T* kept) {
    __syncthreads();
    return threadIdx.x < parts::warp_threads ? merge_by_warp<chunk_items, Items>(size, op, kept) : kept[0];
  }

  template <unsigned chunk_items, class Items, class Op>
  static __device__ T reduce(const Items& items, unsigned size, const Op& op, T* kept) {
    collect<chunk_items>(items, size, op, kept);
    return merge<chunk_items, Items>(size, op, kept);
  }
};

// Chunks that a block reduces one after the other. The next one's items are on their way while threads merge.
template <class T, class Items, class Op>
struct chunks_in_flight {
  using share = share_of_items<segment_block_threads, T, Items, Op>;

  // Shared memory has room for the items beside aggregates of so many bytes.
  static constexpr bool may_hold = sizeof(T) <= 64;
  static constexpr unsigned held_pieces = may_hold ? share::held_pieces : 1;

  uint4* held;  // of held_pieces, in shared memory
  bool holds = false;

  __device__ void begin(const Items& items, unsigned size) {
    holds = may_hold && share::can_hold(items, size);
    if (holds) share::fetch(held, items, threadIdx.x);
  }
  // What the thread has of the chunk that was begun.
  __device__ T reduce(const Items& items, unsigned size, const Op& op) const {
    return holds ? share::reduce_fetched(held, items, threadIdx.x, op) : share::reduce(items, size, threadIdx.x, op);
  }
};

// What the lanes of a warp have of chunks of a segment, one each, with that of another, which the first lane has.
template <class T>
__device__ T with_chunk(const T& own, unsigned chunk, const T& value) {
  const T of_chunk = parts::by_words(value, [](auto word) { return __shfl_sync(parts::full_mask, word, 0); });
  return threadIdx.x % parts::warp_threads == chunk ? of_chunk : own;
}

}  // namespace rungs::RUNGS_ABI::production
