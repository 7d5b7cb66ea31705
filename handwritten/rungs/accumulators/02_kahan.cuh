// Rung 2. Kahan's sum: what one addition loses, the next one brings back.
// Against 00_plain: four additions an item instead of one, and a second float. The compensation is exact only while the
// sum is no smaller than the item. Partial sums of threads meet by two-sums, which need no such order.
#pragma once

#include "rungs/parts/accumulation.cuh"

namespace rungs::RUNGS_ABI::accumulators {

struct kahan_accumulator : parts::compensated_accumulator<kahan_accumulator> {
  static __device__ parts::compensated step(parts::compensated sums, float item) {
    return parts::fast_two_sum(sums.sum, parts::rounded_sum(item, sums.compensation));
  }
};

struct kahan : parts::accumulating_sum<kahan_accumulator> {
  static constexpr auto idea = "Kahan: the next addition brings back what the last one lost";
  // Each item meets two roundings, the result one more; all others are of the second order.
  static constexpr std::size_t summation_height(std::size_t) { return 4; }
};

}  // namespace rungs::RUNGS_ABI::accumulators
