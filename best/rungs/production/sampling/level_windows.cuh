// Second phase of a search by levels. Weights are added up in bins, and bins over all blocks. The sums tell in which
// bins cuts and the draw lie.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
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
  static constexpr unsigned lanes = parts::warp_threads, warps = memory::warps;

 public:
  enum { of_count, of_sum, of_draw };  // the window of each cut

  using base::base;

  // The mass of all tokens, once windows are found.
  __device__ const token_mass& total() const { return total_; }

 protected:
  using base::group_;
  using base::least_;
  using base::own_;
  using base::share_;

  // Adds up the weights of all tokens in bins, and finds the windows of cuts and of the draw.
  __device__ void find_windows(const row_levels<of_logits>& levels, unsigned least_level,
                               const window_targets& targets) {
    least_level_ = least_level;
    const unsigned depth = most_level - max(levels.level(least_), least_level);
    shift_ = static_cast<unsigned>(max(32 - __clz(static_cast<int>(depth)) - weight_bins::digit_bits, 0));
    const bool counts = targets.top_k > 0;
    if (depth > 0) {
      share_.for_each([&](float value, unsigned) {
        unsigned level;
        const unsigned weight = levels.weight(value, level);
        if (level >= least_level) own_.bins.add((most_level - level) >> shift_, weight, counts);
      });
    } else {  // all tokens are equal
      unsigned number = 0;
      share_.for_each([&](float value, unsigned) { number += levels.level(value) >= least_level; });
      number = of_all_lanes(number, plus{});
      if (threadIdx.x % lanes == 0) own_.bins.add_many(0, most_weight, number);
    }
    group_.meet();
    merge();
    group_.meet();
    if (threadIdx.x < lanes) windows_of(targets);
    __syncthreads();
    total_ = own_.found.before;
  }

 private:
  // Each block has a part of the groups of bins. It adds up all blocks' sums of its part, as sums up to each bin of a
  // group.
  __device__ void merge() {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, num_blocks = group_.num_blocks();
    const unsigned of_block = memory::num_groups / num_blocks;
#pragma unroll 1
    for (unsigned g = group_.rank() * of_block + warp; g < (group_.rank() + 1) * of_block; g += warps) {
      const unsigned bin = g * memory::group_bins + lane;
      token_mass mass{0, 0};
#pragma unroll 8
      for (unsigned i = 0; i < num_blocks; ++i)  // each block begins with another one
        add(mass, group_.of_rank(&own_.bins, (group_.rank() + i) & (num_blocks - 1))->mass(bin));
      mass = mass_up_to(mass);
      // From now on low and high are the words of the sum.
      own_.bins.low[bin] = static_cast<unsigned>(mass.sum);
      own_.bins.high[bin] = static_cast<unsigned>(mass.sum >> 32);
      own_.bins.counts[bin] = mass.count;
      const token_mass of_group = mass_of_lane(mass, lanes - 1);
      if (lane < num_blocks) *group_.of_rank(own_.groups + g, lane) = of_group;
    }
  }
  // The sum up to a bin in its group, from the block that has it.
  __device__ token_mass merged(unsigned bin) const {
    const auto& there = *group_.of_rank(&own_.bins, bin / (memory::num_bins / group_.num_blocks()));
    return {static_cast<weight_sum>(there.high[bin]) << 32 | there.low[bin], there.counts[bin]};
  }

  // A bin in which a target is reached: the mass of the bins before it, and that with the bin.
  struct reached_bin {
    unsigned bin;
    token_mass before, with;
  };
  // Finds the bin in which `target` is reached. A warp calls it. Each lane has the masses of two groups of bins, and
  // the mass before these.
  __device__ reached_bin reach(const token_mass& before_lane, const token_mass& first, const token_mass& second,
                               bool by_count, weight_sum target) const {
    token_mass before = before_lane;
    const weight_sum up_to_first = before.measure(by_count) + first.measure(by_count);
    const unsigned owner = first_lane(target <= up_to_first + second.measure(by_count));
    const bool is_second = target > up_to_first;
    if (is_second) add(before, first);
    const unsigned g = 2 * owner + __shfl_sync(parts::full_mask, static_cast<unsigned>(is_second), owner);
    before = mass_of_lane(before, owner);
    const unsigned lane = threadIdx.x % lanes;
    const token_mass up_to = merged(g * memory::group_bins + lane);
    const unsigned bin = first_lane(target <= before.measure(by_count) + up_to.measure(by_count));
    token_mass below = mass_of_lane(up_to, bin > 0 ? bin - 1 : 0), with = mass_of_lane(up_to, bin);
    if (bin == 0) below = {0, 0};
    add(below, before);
    add(with, before);
    return {g * memory::group_bins + bin, below, with};
  }
  __device__ unsigned greatest_level(unsigned bin) const { return most_level - (bin << shift_); }
  __device__ unsigned least_level(unsigned bin) const {
    return max(most_level - ((bin + 1) << shift_) + 1, least_level_);
  }
  // A warp calls it. It leaves the mass of all tokens in `found`. The target of the draw depends on a cut that is known
  // only later. But the cut's bin bounds its sum within a token's weight, so the draw has one bin or two.
  __device__ void windows_of(const window_targets& targets) {
    const unsigned lane = threadIdx.x % lanes;
    const token_mass first = own_.groups[2 * lane], second = own_.groups[2 * lane + 1];
    token_mass of_lane_pair = first;
    add(of_lane_pair, second);
    const token_mass up_to = mass_up_to(of_lane_pair), total = mass_of_lane(up_to, lanes - 1);
    const token_mass before{up_to.sum - of_lane_pair.sum, up_to.count - of_lane_pair.count};
    const auto find = [&](bool by_count, weight_sum target) { return reach(before, first, second, by_count, target); };
    const auto note = [&](unsigned w, const reached_bin& from, const reached_bin& to) {
      if (lane == 0) own_.windows[w] = {from.bin, to.bin, least_level(to.bin), greatest_level(from.bin), from.before};
    };
    const auto between = [&](unsigned w, weight_sum least, weight_sum most) {
      const reached_bin from = find(false, least), to = most <= from.with.sum ? from : find(false, most);
      note(w, from, to);
      return from;
    };
    if (lane < memory::num_windows) own_.windows[lane] = {1, 0, most_level + 1, most_level + 1, {0, 0}};  // none
    if (lane == 0) own_.found.before = total;
    __syncwarp();
    weight_sum least = total.sum, most = total.sum;  // what is kept
    if (targets.top_k > 0) {
      const unsigned number = min(targets.top_k, total.count);
      const reached_bin at = find(true, number);
      note(of_count, at, at);
      const weight_sum needed = number - at.before.count;
      least = at.before.sum + needed * weight_of_level<of_logits>(least_level(at.bin));
      most = min(at.with.sum, at.before.sum + needed * weight_of_level<of_logits>(greatest_level(at.bin)));
    }
    if (targets.by_sum) {
      if (targets.cuts_by_sum) {
        least = share_of_sum(least, targets.sum_share);
        most = share_of_sum(most, targets.sum_share);
      }
      const reached_bin from = between(of_sum, least, most);
      most = min(total.sum, most - 1 + weight_of_level<of_logits>(greatest_level(from.bin)));
    }
    if (targets.draws) between(of_draw, draw_target(least, targets.fraction), draw_target(most, targets.fraction));
  }

  unsigned least_level_ = 1, shift_ = 0;
  token_mass total_{0, 0};
};

}  // namespace rungs::RUNGS_ABI::production
