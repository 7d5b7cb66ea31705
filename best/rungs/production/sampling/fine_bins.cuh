// Steps of the fourth phase of a search by levels. Listed tokens gather in the first block. A window has 512 fine bins,
// one a thread. A cut's bin is found among them, and the cut's token among the few that are left.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_lists.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
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

  // Called by the first block. Brings the listed tokens, and adds up their weights in finer bins.
  __device__ void gather(const row_levels<of_logits>& levels) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, num_blocks = group_.num_blocks();
    const auto add_token = [&](candidate token) {
      unsigned level;
      const unsigned weight = levels.weight(value_of_token(token), level);
#pragma unroll
      for (unsigned w = 0; w < memory::num_windows; ++w) {
        const level_window& window = own_.windows[w];
        if (window.has(level)) own_.fine[w].add((window.greatest - level) >> fine_shift(window), weight, true);
      }
    };
    if (num_blocks == 1) {
      tokens_ = list_;
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < num_tokens_; i += block_threads) add_token(list_[i]);
    } else {
      // Each warp reads from one peer. Where there are fewer peers than warps, several warps share one.
      tokens_ = own_.gathered;
      const unsigned size = lane < num_blocks ? own_.sizes[lane % num_blocks] : 0, peer = warp % num_blocks;
      const unsigned num_there = __shfl_sync(parts::full_mask, size, peer);
      candidate* const to = own_.gathered + of_all_lanes(lane < peer ? size : 0, plus{});
      const candidate* const there = group_.of_rank(list_, peer);
#pragma unroll 1
      for (unsigned i = warp / num_blocks * lanes + lane; i < num_there; i += block_threads / num_blocks) {
        const candidate token = there[i];
        to[i] = token;
        add_token(token);
      }
    }
    __syncthreads();
  }

 protected:
  using base::group_;
  using base::list_;
  using base::num_tokens_;
  using base::own_;

  // take(token) for each of the thread's gathered tokens.
  template <class Take>
  __device__ void for_each_token(Take take) const {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < num_tokens_; i += block_threads) take(tokens_[i]);
  }
  // How many low bits of a level the fine bins of a window leave out.
  static __device__ unsigned fine_shift(const level_window& window) {
    const int bits = 32 - __clz(static_cast<int>(window.greatest - window.least));
    constexpr int digit_bits = 9;
    return static_cast<unsigned>(max(bits - digit_bits, 0));
  }

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
    token_mass before = lane < warp ? own_.of_warps[lane % warps] : token_mass{0, 0};
    before.count = of_all_lanes(before.count, plus{});
    before.sum = row_blocks::sum_of_lanes<lanes>(before.sum);
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

 private:
  const candidate* tokens_ = nullptr;
};

}  // namespace rungs::RUNGS_ABI::production
