// Rung 1. A tree of additions: no item meets more than log2(n) roundings.
// Against 00_plain: as many additions, in another order. A tile's items meet pairwise in registers. Tiles meet as a
// binary counter counts: a thread keeps the sums of 1, 2, 4 ... tiles. The tree is fixed by the number of items.
#pragma once

#include "rungs/parts/accumulation.cuh"

namespace rungs::RUNGS_ABI::accumulators {

struct pairwise_accumulator : parts::plain_partials<float> {
  static constexpr int num_levels = 10;  // from 2^34 items on, the last level adds one by one
  float before[num_levels];              // before[k]: of the last 2^k tiles, where bit k of num_tiles is set
  unsigned num_tiles = 0;

  __device__ bool holds(int level) const {
    return level == num_levels - 1 ? num_tiles >> level != 0 : num_tiles >> level & 1;
  }
  template <int num_items>
  __device__ void add(const float (&items)[num_items]) {
    float value = parts::fold<float, 0, num_items>(items, plus{});
    bool is_carried = true;
#pragma unroll
    for (int level = 0; level < num_levels; ++level) {
      if (!is_carried) continue;
      if (holds(level)) value = before[level] + value;
      if (holds(level) && level < num_levels - 1) continue;
      before[level] = value;
      is_carried = false;
    }
    ++num_tiles;
  }
  __device__ float total() const {
    float value = -0.0f;
#pragma unroll
    for (int level = 0; level < num_levels; ++level)
      if (holds(level)) value = before[level] + value;
    return value;
  }
};

struct pairwise : parts::accumulating_sum<pairwise_accumulator> {
  static constexpr auto idea = "pairwise: a tree of additions in each thread, too";
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t num_tiles = tiles_of_a_thread(num_items), most_levels = pairwise_accumulator::num_levels - 1;
    return 5 + parts::log2_ceil(num_tiles) + 1 + (num_tiles >> most_levels) + height_of_finish;
  }
};

}  // namespace rungs::RUNGS_ABI::accumulators
