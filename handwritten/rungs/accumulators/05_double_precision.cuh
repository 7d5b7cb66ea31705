// Rung 5. A double accumulates floats.
// Against 00_plain: a conversion and an addition of doubles an item, and 29 bits more. Both run at full rate only on
// chips for data centres; where doubles are slow, 04_double_float has nearly as many bits.
#pragma once

#include "rungs/parts/accumulation.cuh"

namespace rungs::RUNGS_ABI::accumulators {

struct double_accumulator : parts::plain_partials<double> {
  double sum = -0.0;

  template <int num_items>
  __device__ void add(const float (&items)[num_items]) {
#pragma unroll
    for (const float item : items) sum += static_cast<double>(item);
  }
  __device__ double total() const { return sum; }
};

struct double_precision : parts::accumulating_sum<double_accumulator> {
  static constexpr auto idea = "a double accumulates floats";
  static constexpr std::size_t summation_height(std::size_t) { return 2; }
};

}  // namespace rungs::RUNGS_ABI::accumulators
