// A bound that a given number of a block's keys reach, from one histogram. Its bins are of distances from the greatest
// key and widen with them: there are 64 for each power of two. So bounds of all kinds of keys are about as tight.
#pragma once

#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/warp_rows.cuh"

namespace rungs::RUNGS_ABI::production {

struct distance_bins {
  static constexpr int digit_bits = 6;
  static constexpr unsigned num_bins = (33 - digit_bits) << digit_bits;
  static constexpr unsigned last_bin = (1u << block_selection::digit_bits) - 1;
  static_assert(num_bins <= last_bin + 1);

  // With 2^digits bins for each power of two.
  static __device__ unsigned bin_of(unsigned distance, int digits = digit_bits) {
    const int shift = 31 - digits - __clz(static_cast<int>(distance));
    return shift <= 0 ? distance : (static_cast<unsigned>(shift) << digits) + (distance >> shift);
  }
  // The greatest distance in the bin.
  static __device__ unsigned last_of(unsigned bin) {
    const unsigned shift = bin >> digit_bits > 1 ? (bin >> digit_bits) - 1 : 0;
    return ((bin - (shift << digit_bits) + 1) << shift) - 1;
  }

  static __device__ void clear(block_selection& selection) {
    reinterpret_cast<uint4*>(selection.bins)[threadIdx.x] = uint4{0, 0, 0, 0};
  }

  // A bound that at least `wanted` of the keys reach that for_each(count) counts in all threads. They are as many, and
  // none exceeds its thread's `greatest`. All threads call it, having cleared the bins, and leave behind a barrier.
  template <class ForEach>
  static __device__ unsigned bound(unsigned wanted, unsigned greatest, block_selection& selection, ForEach for_each) {
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    const unsigned of_warp = warp_all_reduce(greatest, maximum{});
    if (lane == 0) selection.of_warps[warp] = of_warp;
    __syncthreads();
    unsigned top = 0;
#pragma unroll
    for (int w = 0; w < block_selection::warps; ++w) top = max(top, selection.of_warps[w]);
    for_each([&](unsigned key) { atomicAdd(selection.bins + (last_bin - bin_of(top - key)), 1u); });
    __syncthreads();
    selection.find_digit(wanted);
    const unsigned distance = last_of(last_bin - selection.digit);
    return distance < top ? top - distance : 0;
  }
};

}  // namespace rungs::RUNGS_ABI::production
