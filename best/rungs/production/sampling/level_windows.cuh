// Second phase of a search by levels. Weights are added up in bins, and bins over all blocks. The sums tell in which
// bins cuts and the draw lie.
//
// Each block merges a part of the bins, of which all blocks send it their sums. It tells all what its groups of bins
// weigh. So all know in which group a cut lies. The block that has the group finds the bin, and tells all.
#pragma once

#include <cfloat>
#include <cmath>

#include "rungs/cluster/parts/block_bits.cuh"
#include "rungs/cluster/parts/bulk_pass.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/bulk_copy.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/level_extremes.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class level_windows : public level_extremes<T, of_logits> {
  using base = level_extremes<T, of_logits>;
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, items_at_once = held_share<T>::items_at_once;

 public:
  using base::base;

  // The mass of all tokens, once they are listed.
  __device__ const token_mass& total() const { return own_.found.before; }

  // By three threads, once windows are told: where all find them behind a barrier.
  __device__ void keep_window(unsigned w, const window_targets& targets) const {
    const window_start& start = own_.starts[w];
    const window_end& end = own_.ends[w];
    own_.windows[w] = targets.has(w) ? level_window::of(end.least, start.greatest, start.before) : level_window::none();
  }

 protected:
  using base::counts_;
  using base::group_;
  using base::least_;
  using base::own_;
  using base::share_;

  // Adds up the weights of all tokens in bins, and tells the windows of cuts and of the draw. The last warp calls
  // `meanwhile`, which says what the draw is, while sums are on their way.
  template <class Meanwhile>
  __device__ void find_windows(const row_levels<of_logits>& levels, unsigned least_level, const window_targets& targets,
                               Meanwhile meanwhile) {
    least_level_ = least_level;
    const unsigned depth = most_level - max(levels.level(least_), least_level);
    shift_ = static_cast<unsigned>(max(32 - __clz(static_cast<int>(depth)) - weight_bins::digit_bits, 0));
    if (depth > 0) {
      share_.for_each_items([&](const float(&values)[items_at_once], unsigned) {
        unsigned bins[items_at_once], weights[items_at_once], numbers[items_at_once];
#pragma unroll
        for (unsigned i = 0; i < items_at_once; ++i) {
          unsigned level;
          weights[i] = levels.weight(values[i], level);
          const unsigned below = most_level - level;
          numbers[i] = below <= most_level - least_level;
          bins[i] = numbers[i] ? below >> shift_ : threadIdx.x % lanes;  // nothing is added there
          weights[i] = numbers[i] ? weights[i] : 0;
        }
        own_.bins.add(bins, weights, numbers, counts_);
      });
    } else {  // all tokens are equal
      unsigned number = 0;
      share_.for_each([&](float value, unsigned) { number += levels.level(value) >= least_level; });
      number = parts::warp_aggregate(number, plus{});
      if (threadIdx.x % lanes == 0) own_.bins.add(0, token_mass{static_cast<weight_sum>(most_weight) * number, number});
    }
    merge(meanwhile);
    tell_windows(targets, levels);
  }

  // What lies in a window, once it is told.
  __device__ window_test test_of(unsigned w, const window_targets& targets) const {
    if (!targets.has(w)) return window_test::none();
    if (group_.num_blocks() > 1) own_.has_window[w].wait_for_cluster(0);
    return window_test::between(own_.starts[w], own_.ends[w]);
  }

 private:
  // Each block adds up all blocks' sums of its part, as sums up to each bin of a group.
  template <class Meanwhile>
  __device__ void merge(Meanwhile meanwhile) const {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, num_blocks = group_.num_blocks(),
                   rank = group_.rank();
    const unsigned part = groups_of_block() * memory::group_bins, own_part = rank * part;
    // Each block begins with another one. A warp sends to each.
    const unsigned peer = (rank + warp + 1) & (num_blocks - 1);
    if (num_blocks > 1) parts::order_bulk_after_stores();
    __syncthreads();
    if (warp + 1 < num_blocks && lane == 0) {
      const auto send = [&](unsigned* to, const unsigned* from) {
        cluster::parts::bulk_pass(to + own_part, from + peer * part, part * sizeof(unsigned), own_.has_sums, peer);
      };
      send(own_.received.low, own_.bins.low);
      send(own_.received.high, own_.bins.high);
      if (counts_) send(own_.received.counts, own_.bins.counts);
    }
    if (warp == memory::warps - 1) meanwhile();
    if (num_blocks > 1) own_.has_sums.wait_for_cluster(0);
#pragma unroll 1
    for (unsigned first = warp * lanes; first < part; first += weight_bins::block_threads) {
      token_mass mass{0, 0};
#pragma unroll 8
      for (unsigned i = 0; i < num_blocks; ++i)
        add(mass, (i == rank ? own_.bins : own_.received).mass(i * part + first + lane));
      if (counts_)
        mass = mass_up_to(mass);
      else
        mass.sum = sum_up_to(mass.sum);
      own_.merged.sums[first + lane] = mass.sum;
      own_.merged.counts[first + lane] = mass.count;
      tell(own_.groups + (own_part + first) / memory::group_bins, own_.has_groups, mass_of_lane(mass, lanes - 1));
    }
    __syncthreads();
  }
  // A warp gives a value to all blocks.
  template <class Value>
  __device__ void tell(Value* to, const parts::phase_barrier& barrier, const Value& value) const {
    const unsigned lane = threadIdx.x % lanes;
    if (group_.num_blocks() == 1) {
      if (lane == 0) *to = value;
      __syncwarp();
    } else if (lane < group_.num_blocks()) {
      cluster::parts::store_remote(to, barrier, lane, value);
    }
  }
  // Measures of what comes before a lane's two groups of bins, and up to each of them.
  struct lane_sums {
    weight_sum before, first, second;

    static __device__ lane_sums of(weight_sum first, weight_sum second) {
      const weight_sum up_to = sum_up_to(first + second);
      return {up_to - first - second, up_to - second, up_to};
    }
    __device__ weight_sum total() const { return __shfl_sync(parts::full_mask, second, lanes - 1); }
    // The group in which `target` is reached.
    __device__ unsigned group_of(weight_sum target) const {
      const unsigned owner = first_lane(target <= second);
      return 2 * owner + __shfl_sync(parts::full_mask, static_cast<unsigned>(target > first), owner);
    }
    __device__ weight_sum before_group(unsigned group) const {
      return __shfl_sync(parts::full_mask, group % 2 ? first : before, group / 2);
    }
  };
  __device__ unsigned groups_of_block() const {
    return memory::num_groups >> cluster::parts::block_bits(group_.num_blocks());
  }
  __device__ unsigned greatest_level(unsigned bin) const { return most_level - (bin << shift_); }
  __device__ unsigned least_level(unsigned bin) const {
    return max(most_level - ((bin + 1) << shift_) + 1, least_level_);
  }
  // Tells all blocks about the window of targets from `low` to `high`: what of it lies in a group of the block. All
  // lanes of a warp call it, and each has a bin.
  template <bool by_count>
  __device__ __forceinline__ void tell_window(unsigned w, unsigned group, const lane_sums& sums,
                                              const lane_sums& counts, weight_sum low, weight_sum high,
                                              const row_levels<of_logits>& levels, float unit) const {
    const unsigned lane = threadIdx.x % lanes, place = (group & (groups_of_block() - 1)) * memory::group_bins + lane;
    const weight_sum before_group = (by_count ? counts : sums).before_group(group),
                     up_to = before_group + (by_count ? own_.merged.counts[place] : own_.merged.sums[place]);
    weight_sum before = __shfl_up_sync(parts::full_mask, up_to, 1);
    if (lane == 0) before = before_group;
    const unsigned first = first_lane(before < low && low <= up_to), last = first_lane(before < high && high <= up_to);
    if (first < lanes) {
      token_mass mass{__shfl_sync(parts::full_mask, before, first), 0};
      if constexpr (by_count)
        mass = {sums.before_group(group) + (first > 0 ? own_.merged.sums[place - lane + first - 1] : 0),
                static_cast<unsigned>(mass.sum)};
      const unsigned greatest = greatest_level(group * memory::group_bins + first);
      const auto about = levels.value_of(greatest, unit);
      // Infinite logits count as the greatest float.
      const bool is_infinite = greatest == most_level && levels.greatest >= FLT_MAX;
      tell(own_.starts + w, own_.has_window[w],
           window_start{mass, greatest, is_infinite ? INFINITY : about.value + about.error});
    }
    if (last < lanes) {
      const unsigned least = least_level(group * memory::group_bins + last);
      const auto about = levels.value_of(least, unit);
      tell(own_.ends + w, own_.has_window[w], window_end{least, about.value - about.error});
    }
  }
  // By all warps. Each has a group of the block's part. Where there are warps enough, others have it for the draw. The
  // mass of all tokens is left in `found`.
  //
  // The target of the draw depends on a cut that is known only later. But the weights of the cut's group bound how much
  // more than its target it keeps.
  __device__ void tell_windows(const window_targets& targets, const row_levels<of_logits>& levels) const {
    const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, num_groups = groups_of_block(),
                   num_blocks = group_.num_blocks();
    const bool are_enough = 2 * num_groups <= memory::warps, has_cuts = !are_enough || warp < num_groups,
               has_draw = !are_enough || !has_cuts;
    if (are_enough && warp >= 2 * num_groups) return;
    const float unit = levels.unit();
    if (num_blocks > 1) own_.has_groups.wait_for_cluster(0);
    const token_mass first = own_.groups[2 * lane], second = own_.groups[2 * lane + 1];
    const lane_sums sums = lane_sums::of(first.sum, second.sum);
    const weight_sum total = sums.total();
    weight_sum least = total, most = total;  // what is kept
    const unsigned first_group = group_.rank() * num_groups;
    const auto for_each_group = [&](auto take) {
#pragma unroll 1
      for (unsigned g = warp & (num_groups - 1); g < num_groups; g += memory::warps) take(first_group + g);
    };
    lane_sums counts{0, 0, 0};
    if (counts_) {
      counts = lane_sums::of(first.count, second.count);
      constexpr unsigned w = window_targets::of_count;
      const unsigned number = min(targets.top_k, static_cast<unsigned>(counts.total()));
      if (has_cuts)
        for_each_group([&](unsigned g) { tell_window<true>(w, g, sums, counts, number, number, levels, unit); });
      if (num_blocks > 1)
        own_.has_window[w].wait_for_cluster(0);
      else
        __syncthreads();
      const window_start& start = own_.starts[w];
      const weight_sum needed = number - start.before.count;
      least = start.before.sum + needed * weight_of_level<of_logits>(own_.ends[w].least);
      most = min(total, start.before.sum + needed * weight_of_level<of_logits>(start.greatest));
    }
    if (threadIdx.x == lanes - 1) own_.found.before = {total, static_cast<unsigned>(counts.second)};
    if (targets.cuts_by_sum) {
      const bool is_one = least == most;
      least = share_of_sum(least, targets.sum_share);
      most = is_one ? least : share_of_sum(most, targets.sum_share);
    }
    if (has_cuts && targets.by_sum)
      for_each_group(
          [&](unsigned g) { tell_window<false>(window_targets::of_sum, g, sums, counts, least, most, levels, unit); });
    if (!has_draw || !targets.draws) return;
    if (targets.by_sum) {
      const unsigned greatest = greatest_level(sums.group_of(least) * memory::group_bins);
      most = min(total, most + (weight_sum{1} << (greatest >> level_bits)));  // its weight is less
    }
    const weight_sum low = draw_target(least, own_.fraction), high = low + (most - least);
    for_each_group(
        [&](unsigned g) { tell_window<false>(window_targets::of_draw, g, sums, counts, low, high, levels, unit); });
  }

  unsigned least_level_ = 1, shift_ = 0;
};

}  // namespace rungs::RUNGS_ABI::production
