// Segments of middle size, each reduced by one block. Where many segments are such, and none is longer, blocks take
// segments in turn.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/segments/pieces.cuh"
#include "rungs/production/segments/segment_chunks.cuh"

namespace rungs::RUNGS_ABI::production {

// A block takes its segments with one barrier. Its warps keep what they have of each chunk, so the bits are those of
// chunks that are merged one by one.
template <class Call>
struct segments_in_turn {
  using T = typename Call::T;
  using item = typename Call::item;
  using iterator = typename Call::Reduction::Items::iterator;
  using at_once = chunks_at_once<T, item, 8>;

  static constexpr bool are_taken = pieces_of<iterator>::in_vectors && sizeof(T) <= 16;
  static constexpr unsigned chunk_items = Call::cut::template least_items<item>;
  static constexpr unsigned most_segments = segment_block_warps;
  static constexpr unsigned num_kept = are_taken ? most_segments * at_once::num_kept : 1;

  // Reduces those of the block's segments that are of middle size. The block has the segment of its number, and those
  // at such distances from it, up to most_segments. All threads call it.
  static __noinline__ __device__ void run(const Call& call, unsigned distance, T* kept) {
    const auto& op = call.reduction.op;
    const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
    const unsigned segment = blockIdx.x + lane % most_segments * distance;
    const bool exists = segment < call.num_segments;
    const auto begin = exists ? call.offsets.begin(segment) : 0;
    const auto size = exists ? call.offsets.size(segment, begin) : 0;
    const unsigned middle = __ballot_sync(parts::full_mask, size > Call::most_warp_items) & ((1u << most_segments) - 1);
#pragma unroll 1
    for (unsigned left = middle; left != 0; left &= left - 1) {
      const int owner = __ffs(static_cast<int>(left)) - 1;
      const auto its_begin = __shfl_sync(parts::full_mask, begin, owner);
      const auto its_size = static_cast<unsigned>(__shfl_sync(parts::full_mask, size, owner));
      const auto items = call.reduction.items.of_segment(its_begin);
      at_once::template collect<chunk_items>(items, its_size, op, of_segment(kept, owner));
    }
    __syncthreads();
    // Each warp has the segment of its number.
    const auto own_size = static_cast<unsigned>(__shfl_sync(parts::full_mask, size, warp));
    if (middle >> warp & 1) {
      const T value = at_once::template merge_by_warp<chunk_items, iterator>(own_size, op, of_segment(kept, warp));
      if (lane == 0) call.reduction.write(blockIdx.x + warp * distance, value, true);
    }
  }

 private:
  static __device__ T* of_segment(T* kept, unsigned number) { return kept + number * at_once::num_kept; }
};

}  // namespace rungs::RUNGS_ABI::production
