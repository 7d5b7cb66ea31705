// Fourth phase of a search by levels, where tokens are listed. Each thread of the first block has four fine bins of a
// window, and knows what comes before them. So the warp that has a cut finds it alone, among the few tokens of a bin.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/fine_bins.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class chained_cuts : public fine_bins<T, of_logits> {
  using base = fine_bins<T, of_logits>;
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, four = 4, warps_of_window = memory::fine_bins / (four * lanes);
  static_assert(memory::num_windows * warps_of_window <= memory::warps);

 public:
  using base::base;

  // Called by the first block. False, and nothing is lost, where a bin has more tokens than a warp has lanes.
  __device__ bool find_chained(const window_targets& targets, const row_levels<of_logits>& levels, row_cuts& cuts) {
    const unsigned warp = threadIdx.x / lanes, own_window = warp / warps_of_window,
                   fours = threadIdx.x % (memory::fine_bins / four);
    four_masses masses{};
    token_mass before{0, 0}, with{0, 0};
    const bool has_bins = own_window < memory::num_windows;
    if (has_bins) {
      masses = masses_of(own_window, fours);
#pragma unroll
      for (unsigned i = 0; i < four; ++i) add(before, masses.of[i]);
      with = before;
      if (own_window == window_targets::of_count)
        with = mass_up_to(with);
      else
        with.sum = sum_up_to(with.sum);
      if (threadIdx.x % lanes == lanes - 1) own_.of_warps[warp] = with;
      before = {with.sum - before.sum, with.count - before.count};
    }
    __syncthreads();
    if (has_bins) {
      token_mass earlier = own_.windows[own_window].before;
#pragma unroll
      for (unsigned i = 0; i + 1 < warps_of_window; ++i)
        if (i < warp % warps_of_window) add(earlier, own_.of_warps[own_window * warps_of_window + i]);
      add(before, earlier);
      add(with, earlier);
    }
    row_cuts found{{0, this->total().sum}, 0};
    bool are_found = true;
#pragma unroll 1
    for (unsigned w = 0; w < window_targets::end; ++w) {
      if (!targets.has(w)) continue;
      if (w == own_window) {
        const weight_sum target = targets.target_of(w, found.kept.up_to, this->total().count);
        if (w == window_targets::of_count)
          find_by<true>(w, target, before, with, masses, levels);
        else
          find_by<false>(w, target, before, with, masses, levels);
      }
      __syncthreads();
      are_found &= own_.is_chained[w];
      if (w == window_targets::of_draw)
        found.token = column_of_token(own_.cuts[w].last);
      else
        found.kept = own_.cuts[w];
    }
    cuts = found;
    return are_found;
  }

 protected:
  using base::own_;

 private:
  struct four_masses {
    token_mass of[four];
  };
  __device__ four_masses masses_of(unsigned w, unsigned fours) const {
    const halved_bins<memory::fine_bins>& fine = own_.fine[w];
    const uint4 low = reinterpret_cast<const uint4*>(fine.low)[fours],
                high = reinterpret_cast<const uint4*>(fine.high)[fours],
                counts = reinterpret_cast<const uint4*>(fine.counts)[fours];
    const auto mass = [](unsigned below, unsigned above, unsigned count) {
      return token_mass{(static_cast<weight_sum>(above) << 16) + below, count};
    };
    return {{mass(low.x, high.x, counts.x), mass(low.y, high.y, counts.y), mass(low.z, high.z, counts.z),
             mass(low.w, high.w, counts.w)}};
  }

  // By a warp: the token with which `target` is reached, if it is in the warp's bins.
  template <bool by_count>
  __device__ __forceinline__ void find_by(unsigned w, weight_sum target, token_mass before, token_mass with,
                                          const four_masses& masses, const row_levels<of_logits>& levels) const {
    const auto measure = [](const token_mass& mass) { return mass.measure(by_count); };
    const unsigned owner = first_lane(measure(before) < target && target <= measure(with));
    if (owner >= lanes) return;
    const unsigned lane = threadIdx.x % lanes;
    unsigned bin = four * (threadIdx.x % (memory::fine_bins / four));
    token_mass mass = masses.of[0];
    with = before;
    add(with, mass);
#pragma unroll
    for (unsigned i = 1; i < four; ++i) {
      if (measure(with) >= target) continue;
      before = with;
      mass = masses.of[i];
      add(with, mass);
      ++bin;
    }
    unsigned place = own_.chains.last[w][bin];
    if (lane == owner) {
      own_.is_chained[w] = mass.count <= lanes;
      if (mass.count == 1) own_.cuts[w] = {own_.gathered[place], with.sum};
    }
    const unsigned count = __shfl_sync(parts::full_mask, mass.count, owner);
    if (count == 1 || count > lanes) return;
    place = __shfl_sync(parts::full_mask, place, owner);
    before = mass_of_lane(before, owner);
    candidate own = 0;
#pragma unroll 1
    for (unsigned i = 0; i < count; ++i, place = own_.chains.before[w][place])
      if (lane == i) own = own_.gathered[place];
    unsigned level;
    const unsigned weight = levels.weight(value_of_token(own), level);
    token_mass up_to = before;
#pragma unroll 4
    for (unsigned i = 0; i < count; ++i) {
      const candidate each = __shfl_sync(parts::full_mask, own, i);
      const unsigned of_each = __shfl_sync(parts::full_mask, weight, i);
      if (each >= own) add(up_to, {of_each, 1});
    }
    const weight_sum without = measure(up_to) - (by_count ? 1 : weight);
    if (lane < count && without < target && target <= measure(up_to)) own_.cuts[w] = {own, up_to.sum};
  }
};

}  // namespace rungs::RUNGS_ABI::production
