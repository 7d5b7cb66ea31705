// Segments of up to 256 items, of which a warp reduces several at once.
#pragma once

#include <cstddef>

#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::production {

// The short segments of a warp's tile, several at once. A segment of up to 8 items has one lane, of up to 16 two …
// Lanes are given out from the longest segments on, so that those of a segment lie side by side.
template <class T>
struct short_segments {
  static constexpr unsigned lane_items = 8, most_items = lane_items * parts::warp_threads;
  static constexpr int num_classes = 6;  // of 1, 2 … 32 lanes

  // `size`: of the lane's segment, 0 where it is none of the short ones. write(lane of the segment, aggregate).
  template <class Items, class Offset, class Op, class Write>
  static __device__ void reduce(unsigned char* order, const Items& items, Offset begin, unsigned size, const Op& op,
                                const Write& write) {
    const unsigned lane = threadIdx.x % parts::warp_threads, below = (1u << lane) - 1;
    if (!__any_sync(parts::full_mask, size > lane_items)) {
      const T value = reduce_own(items.of_segment(begin), 1, size, op);
      if (size > 0) write(lane, value);
      return;
    }
    const int own_class = 32 - __clz((size + lane_items - 1) / lane_items - 1);
    unsigned firsts[num_classes], num_lanes = 0, num_segments = 0;  // a lane, and in the lower byte a segment
    unsigned place = 0;                                             // of the lane's segment in the order
#pragma unroll
    for (int c = num_classes - 1; c >= 0; --c) {
      const unsigned members = __ballot_sync(parts::full_mask, size > 0 && own_class == c);
      firsts[c] = num_lanes << 8 | num_segments;
      if (own_class == c) place = num_segments + __popc(members & below);
      num_lanes += __popc(members) << c;
      num_segments += __popc(members);
    }
    if (size > 0) order[place] = static_cast<unsigned char>(lane);
    __syncwarp();
    for (unsigned pass = 0; pass < num_lanes; pass += parts::warp_threads) {
      const unsigned given = pass + lane;
      int c = num_classes - 1;
      unsigned first = firsts[num_classes - 1];
#pragma unroll
      for (int k = num_classes - 2; k >= 0; --k)
        if ((given << 8 | 0xff) >= firsts[k]) {
          c = k;
          first = firsts[k];
        }
      const unsigned from = first >> 8, segment = first & 0xff;
      const unsigned rank = (given - from) & ((1u << c) - 1);
      const bool is_given = given < num_lanes;
      const unsigned owner = is_given ? order[segment + ((given - from) >> c)] : 0;
      const unsigned its_size = __shfl_sync(parts::full_mask, size, owner), num_valid = is_given ? its_size : 0;
      const unsigned own_items = num_valid > rank ? ((num_valid - 1 - rank) >> c) + 1 : 0;
      const auto its_items = items.of_segment(__shfl_sync(parts::full_mask, begin, owner));
      T value = reduce_own(its_items + static_cast<std::ptrdiff_t>(rank), std::ptrdiff_t{1} << c, own_items, op);

      const int largest = __shfl_sync(parts::full_mask, c, 0);
#pragma unroll
      for (int level = num_classes - 2; level >= 0; --level) {
        if (level >= largest) continue;
        const unsigned distance = 1u << level;
        const T other = parts::shuffle_down(value, static_cast<int>(distance));
        if (level < c && rank < distance && rank + distance < num_valid) value = op(value, other);
      }
      if (is_given && rank == 0) write(owner, value);
    }
  }

  // The lane's share of a segment that has the warp to itself, to the same bits. The first num_valid lanes have one.
  template <class Items, class Op>
  static __device__ T reduce_alone(const Items& items, unsigned size, unsigned& num_valid, const Op& op) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const int its_class = size > lane_items ? 32 - __clz((size - 1) / lane_items) : 0;
    const unsigned lanes = 1u << its_class;
    num_valid = size < lanes ? size : lanes;
    const unsigned own_items = lane < num_valid ? ((size - 1 - lane) >> its_class) + 1 : 0;
    return reduce_own(items + static_cast<std::ptrdiff_t>(lane), static_cast<std::ptrdiff_t>(lanes), own_items, op);
  }

 private:
  // The first num_items of a lane's eight, so far from each other.
  template <class Items, class Op>
  static __device__ T reduce_own(Items items, std::ptrdiff_t distance, unsigned num_items, const Op& op) {
    T value, loaded[lane_items];
#pragma unroll
    for (unsigned k = 0; k < lane_items; ++k) {
      if (k < num_items) loaded[k] = static_cast<T>(items[0]);
      items = items + distance;
    }
#pragma unroll
    for (unsigned k = 0; k < lane_items; ++k)
      if (k < num_items) value = k == 0 ? loaded[0] : op(value, loaded[k]);
    return value;
  }
};

}  // namespace rungs::RUNGS_ABI::production
