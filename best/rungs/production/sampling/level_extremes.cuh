// First phase of a search by levels. Blocks read their shares of the row once, and find its greatest and least items.
// These say how wide bins are.
#pragma once

#include <cmath>
#include <cstddef>

#include "rungs/cluster/parts/remote.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// It also holds what all later phases need: the block's share, its memory and its peers.
template <class T, bool of_logits>
class level_extremes {
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, warps = memory::warps;
  static constexpr unsigned vector_items = held_share<T>::vector_items;

 public:
  // `counts`: whether a cut is a number of tokens, so that bins need these, too.
  __device__ level_extremes(const held_share<T>& share, memory& own, row_blocks& group, bool counts)
      : share_(share), own_(own), group_(group), counts_(counts) {}

  // Reads the share. Returns the row's greatest item.
  __device__ float read() {
    float greatest = -INFINITY, least = INFINITY;
    share_.read_all(
        [&] {
          if (group_.num_blocks() > 1) expect_peers();
          own_.bins.clear();
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
    int2 extremes = merged({ordered(greatest), ordered(least)});
    if (lane == 0) own_.extremes_of_warps[warp] = extremes;
    __syncthreads();
    extremes = own_.extremes_of_warps[lane % warps];
    if (group_.num_blocks() > 1) {
      group_.settle();
      if (warp == 0) {
        extremes = merged(extremes);
        if (lane < group_.num_blocks())
          cluster::parts::store_remote(own_.extremes + group_.rank(), own_.has_extremes, lane, extremes);
      }
      own_.has_extremes.wait_for_cluster(0);
      extremes = own_.extremes[lane & (group_.num_blocks() - 1)];
    }
    extremes = merged(extremes);
    least_ = value_of(extremes.y);
    return value_of(extremes.x);
  }

 protected:
  const held_share<T>& share_;
  memory& own_;
  row_blocks& group_;
  const bool counts_;
  float least_ = 0;

 private:
  // What comes from peers, and that this block has started. How many tokens come is known only later.
  __device__ void expect_peers() const {
    const unsigned num_blocks = group_.num_blocks(), warp = threadIdx.x / lanes;
    const auto expect = [&](unsigned index, parts::phase_barrier& barrier, std::size_t bytes) {
      if (warp == index) cluster::parts::expect(barrier, static_cast<unsigned>(bytes));
    };
    expect(0, own_.has_extremes, num_blocks * sizeof(*own_.extremes));
    expect(1, own_.has_sums, (memory::num_bins - memory::num_bins / num_blocks) * (counts_ ? 3 : 2) * sizeof(unsigned));
    expect(2, own_.has_groups, sizeof(own_.groups));
    expect(3, own_.has_sizes, num_blocks * sizeof(*own_.sizes));
    for (unsigned w = 0; w < memory::num_windows; ++w)
      expect(4 + w, own_.has_window[w], sizeof(window_start) + sizeof(window_end));
    if (threadIdx.x == 7 * lanes) {
      own_.has_tokens.initialise(1);
      parts::publish_barriers();
    }
    group_.start();
  }
  // Integers in the order of floats.
  static __device__ int ordered(float value) {
    const int bits = static_cast<int>(rounded::bits_of(value));
    return bits < 0 ? bits ^ 0x7fffffff : bits;
  }
  static __device__ float value_of(int ordered) {
    return rounded::of_bits(static_cast<unsigned>(ordered < 0 ? ordered ^ 0x7fffffff : ordered));
  }
  // The greatest and the least of all lanes, in all of them.
  static __device__ int2 merged(const int2& extremes) {
    return {parts::warp_aggregate(extremes.x, maximum{}), parts::warp_aggregate(extremes.y, minimum{})};
  }
};

}  // namespace rungs::RUNGS_ABI::production
