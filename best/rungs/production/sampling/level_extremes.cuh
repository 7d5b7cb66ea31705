// First phase of a search by levels. Blocks read their shares of the row once, and find its greatest and least items.
// These say how wide bins are.
#pragma once

#include <cmath>

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// It also holds what all later phases need: the block's share, its memory, its list and its peers.
template <class T, bool of_logits>
class level_extremes {
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, warps = memory::warps;
  static constexpr unsigned vector_items = held_share<T>::vector_items;

 public:
  __device__ level_extremes(const held_share<T>& share, memory& own, candidate* list, row_blocks& group)
      : share_(share), own_(own), list_(list), group_(group), capacity_(memory::capacity(group.num_blocks())) {}

  // Reads the share. Returns the row's greatest item.
  __device__ float read() {
    float greatest = -INFINITY, least = INFINITY;
    share_.read_all(
        [&] {
          own_.bins.clear();
          own_.clear_fine();
          if (threadIdx.x < memory::num_windows) own_.num_few[threadIdx.x] = 0;
          if (threadIdx.x == 0) own_.size = 0;
        },
        [&](const float(&values)[vector_items]) {
#pragma unroll
          for (unsigned i = 0; i < vector_items; ++i) {
            greatest = rounded::greater(greatest, values[i]);
            if (of_logits ? values[i] > -INFINITY : values[i] > 0) least = rounded::less(least, values[i]);
          }
        });
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    int extremes[2] = {ordered(greatest), ordered(least)};
    merge_lanes(extremes);
    if (lane == 0) {
      own_.extremes_of_warps[warp][0] = extremes[0];
      own_.extremes_of_warps[warp][1] = extremes[1];
    }
    __syncthreads();
    group_.settle();
    if (warp == 0) {
      extremes[0] = own_.extremes_of_warps[lane % warps][0];
      extremes[1] = own_.extremes_of_warps[lane % warps][1];
      merge_lanes(extremes);
      if (lane < group_.num_blocks()) {
        int* const there = group_.of_rank(own_.extremes[group_.rank()], lane);
        there[0] = extremes[0];
        there[1] = extremes[1];
      }
    }
    group_.meet();
    extremes[0] = own_.extremes[lane % group_.num_blocks()][0];
    extremes[1] = own_.extremes[lane % group_.num_blocks()][1];
    merge_lanes(extremes);
    least_ = value_of(extremes[1]);
    return value_of(extremes[0]);
  }

 protected:
  const held_share<T>& share_;
  memory& own_;
  candidate* const list_;
  row_blocks& group_;
  const unsigned capacity_;
  float least_ = 0;

 private:
  // Integers in the order of floats.
  static __device__ int ordered(float value) {
    const int bits = static_cast<int>(rounded::bits_of(value));
    return bits < 0 ? bits ^ 0x7fffffff : bits;
  }
  static __device__ float value_of(int ordered) {
    return rounded::of_bits(static_cast<unsigned>(ordered < 0 ? ordered ^ 0x7fffffff : ordered));
  }
  // The greatest first and the least second of all lanes, in all of them.
  static __device__ void merge_lanes(int (&extremes)[2]) {
    extremes[0] = of_all_lanes(extremes[0], maximum{});
    extremes[1] = of_all_lanes(extremes[1], minimum{});
  }
};

}  // namespace rungs::RUNGS_ABI::production
