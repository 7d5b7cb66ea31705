// Rung 3. Neumaier's sum: what additions lose is added up on its own.
// Against 02_kahan: exact also where the item is larger than the sum, by a comparison and two selections an item. The
// compensation never enters the sum before the end, so neither chain of additions waits for the other.
#pragma once

#include "rungs/parts/accumulation.cuh"

namespace rungs::RUNGS_ABI::accumulators {

struct neumaier_accumulator : parts::compensated_accumulator<neumaier_accumulator> {
  static __device__ parts::compensated step(parts::compensated sums, float item) {
    const bool sum_is_larger = fabsf(sums.sum) >= fabsf(item);
    const float larger = sum_is_larger ? sums.sum : item, smaller = sum_is_larger ? item : sums.sum;
    const parts::compensated next = parts::fast_two_sum(larger, smaller);
    return parts::compensated(next.sum, parts::rounded_sum(sums.compensation, next.compensation));
  }
};

struct neumaier : parts::accumulating_sum<neumaier_accumulator> {
  static constexpr auto idea = "Neumaier: what additions lose is added up on its own";
  static constexpr std::size_t summation_height(std::size_t) { return 2; }
};

}  // namespace rungs::RUNGS_ABI::accumulators
