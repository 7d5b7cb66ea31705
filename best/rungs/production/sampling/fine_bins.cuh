// Steps of the fourth phase of a search by levels, in the first block. A window has 512 fine bins, one a thread. A
// cut's bin is found among them, and the cut's token among the few that are left.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_lists.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class fine_bins : public level_lists<T, of_logits> {
  using base = level_lists<T, of_logits>;
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, warps = memory::warps, counting_lanes = 4;
  static constexpr unsigned block_threads = weight_bins::block_threads;

 public:
  using base::base;

  // Called by the first block. Adds up the weights of listed tokens in finer bins, and chains the tokens of a bin.
  __device__ void add_up(const row_levels<of_logits>& levels) {
    level_window windows[memory::num_windows];
#pragma unroll
    for (unsigned w = 0; w < memory::num_windows; ++w) windows[w] = own_.windows[w];
    this->wait_for_tokens();
    this->for_each_token([&](candidate token, unsigned place) {
      unsigned level;
      const unsigned weight = levels.weight(value_of_token(token), level);
#pragma unroll
      for (unsigned w = 0; w < memory::num_windows; ++w) {
        if (!windows[w].has(level)) continue;
        const unsigned bin = windows[w].fine_bin(level);
        own_.fine[w].add(bin, weight, true);
        own_.chains.before[w][place] = static_cast<unsigned short>(atomicExch(&own_.chains.last[w][bin], place));
      }
    });
    __syncthreads();
  }

 protected:
  using base::group_;
  using base::own_;

  // Finds the bin in which `target` is reached, of weights or of tokens. All threads call it behind a barrier, and
  // leave behind one. With `across`, bins of all blocks are added up, and own_.num_left becomes the number of the bin's
  // tokens.
  template <bool across>
  __device__ found_bin find_fine(const halved_bins<memory::fine_bins>& fine, bool by_count, weight_sum target) {
    static_assert(memory::fine_bins == weight_bins::block_threads);
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    token_mass mass = fine.mass(threadIdx.x);
    if constexpr (across)
      for (unsigned i = 1; i < group_.num_blocks(); ++i)
        add(mass, group_.of_rank(&fine, (group_.rank() + i) & (group_.num_blocks() - 1))->mass(threadIdx.x));
    const token_mass up_to = mass_up_to(mass);
    if (lane == lanes - 1) own_.of_warps[warp] = up_to;
    __syncthreads();
    token_mass before = sum_of_lanes(lane < warp ? own_.of_warps[lane % warps] : token_mass{0, 0});
    add(before, {up_to.sum - mass.sum, up_to.count - mass.count});
    if (before.measure(by_count) < target && target <= before.measure(by_count) + mass.measure(by_count)) {
      own_.found = {threadIdx.x, before};
      if constexpr (across) own_.num_left = mass.count;
    }
    __syncthreads();
    return own_.found;
  }

  // The token with which `needed` is reached, among the `size` tokens in own_.few. Four lanes add up what comes up to a
  // token. `sum_before` is the sum of the weights before the few.
  __device__ token_cut among_few(unsigned size, bool by_count, weight_sum needed, weight_sum sum_before) {
    static_assert(memory::few_tokens * counting_lanes == weight_bins::block_threads);
    const unsigned index = threadIdx.x / counting_lanes;
    if (threadIdx.x / lanes * (lanes / counting_lanes) < size) {
      const candidate own = index < size ? own_.few[index] : 0;
      const unsigned own_weight = index < size ? own_.few_weights[index] : 0;
      token_mass up_to{0, 0};
#pragma unroll 1
      for (unsigned other = threadIdx.x % counting_lanes; other < size; other += counting_lanes)
        if (own_.few[other] >= own) add(up_to, {own_.few_weights[other], 1});
#pragma unroll
      for (unsigned distance = 1; distance < counting_lanes; distance *= 2) {
        up_to.sum += __shfl_xor_sync(parts::full_mask, up_to.sum, distance);
        up_to.count += __shfl_xor_sync(parts::full_mask, up_to.count, distance);
      }
      const weight_sum reached = up_to.measure(by_count), without = reached - (by_count ? 1 : own_weight);
      if (own_weight != 0 && threadIdx.x % counting_lanes == 0 && without < needed && needed <= reached)
        own_.cut = {own, sum_before + up_to.sum};
    }
    __syncthreads();
    return own_.cut;
  }
};

}  // namespace rungs::RUNGS_ABI::production
