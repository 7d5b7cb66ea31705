// Rung 4. Two floats as one number of 48 bits, in the thread as in warp, block and grid.
// Against 03_neumaier: a two-sum needs no comparison, and the pair is normalised after every item, so that its second
// float never grows: ten additions an item.
#pragma once

#include "rungs/parts/accumulation.cuh"

namespace rungs::RUNGS_ABI::accumulators {

struct double_float_accumulator : parts::compensated_accumulator<double_float_accumulator> {
  static __device__ parts::compensated step(parts::compensated sums, float item) {
    const parts::compensated next = parts::two_sum(sums.sum, item);
    return parts::fast_two_sum(next.sum, parts::rounded_sum(next.compensation, sums.compensation));
  }
};

struct double_float : parts::accumulating_sum<double_float_accumulator> {
  static constexpr auto idea = "two floats as one number of 48 bits";
  static constexpr std::size_t summation_height(std::size_t) { return 2; }
};

}  // namespace rungs::RUNGS_ABI::accumulators
