// What tokens of a pattern weigh (pattern_bins.cuh), and how many of them reach a cut.
#pragma once

#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// The weight of a position's tokens. All of the first position are the greatest item.
__device__ inline unsigned weight_at(unsigned position, const row_levels<true>& levels, unsigned least_level) {
  if (position == pattern_bins::num - 1) return 0;
  unsigned level;
  const unsigned weight =
      levels.weight(position == 0 ? levels.greatest : pattern_bins::value_of(pattern_bins::bin_at(position)), level);
  return level < least_level ? 0 : weight;
}
// How many tokens of a weight sum up to `needed`: fewer than 2^20. The quotient of floats may be one more or less.
__device__ inline unsigned tokens_that_reach(weight_sum needed, unsigned weight) {
  const auto about = static_cast<unsigned>(__fdividef(static_cast<float>(needed), static_cast<float>(weight)));
  unsigned number = max(about, 2u) - 1;
  while (static_cast<weight_sum>(weight) * number < needed) ++number;
  return number;
}

}  // namespace rungs::RUNGS_ABI::production
