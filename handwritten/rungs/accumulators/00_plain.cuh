// Rung 0. A float accumulates floats, one after the other.
// The other rungs of this folder change the accumulator and nothing else: loads, grid and finish come from
// parts/accumulation.cuh. The sum of n items meets n / 524,288 + 54 roundings at most, 64 items a thread at 32 Mi.
#pragma once

#include "rungs/parts/accumulation.cuh"

namespace rungs::RUNGS_ABI::accumulators {

struct plain_accumulator : parts::plain_partials<float> {
  float sum = -0.0f;

  template <int num_items>
  __device__ void add(const float (&items)[num_items]) {
#pragma unroll
    for (const float item : items) sum += item;
  }
  __device__ float total() const { return sum; }
};

struct plain : parts::accumulating_sum<plain_accumulator> {
  static constexpr auto idea = "a float accumulates floats, one after the other";
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return items_per_thread * tiles_of_a_thread(num_items) + height_of_finish;
  }
};

}  // namespace rungs::RUNGS_ABI::accumulators
