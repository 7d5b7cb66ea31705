// Fourth phase of a search by levels, where a fine bin has more listed tokens than a warp has lanes. All of the first
// block looks for each cut. Where too many tokens are left, fine bins are of their places in the order.
#pragma once

#include "rungs/production/sampling/chained_cuts.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class cuts_in_list : public chained_cuts<T, of_logits> {
  using base = chained_cuts<T, of_logits>;
  using memory = level_memory;

 public:
  using base::base;

  // Called by the first block. Returns the token of a window with which `target` is reached, of weights or of tokens.
  __device__ token_cut find(unsigned w, weight_sum target, const row_levels<of_logits>& levels) {
    const bool by_count = w == window_targets::of_count;
    const level_window window = own_.windows[w];
    halved_bins<memory::fine_bins>& fine = own_.fine[w];
    weight_sum needed = target - window.before.measure(by_count), sum_before = window.before.sum;
    found_bin found = this->template find_fine<false>(fine, by_count, needed);
    unsigned num_left = fine.counts[found.bin];
    needed -= found.before.measure(by_count);
    sum_before += found.before.sum;
    const unsigned shift = window.shift, greatest = window.greatest - (found.bin << shift),
                   least = max(window.greatest - min(window.greatest, ((found.bin + 1) << shift) - 1), window.least);
    candidate low = 0, high = ~candidate{0};
    const auto is_left = [&](candidate token) {
      if (token < low || token > high) return false;
      return levels.level(value_of_token(token)) - least <= greatest - least;
    };
#pragma unroll 1
    while (num_left > memory::few_tokens) {  // as of equal items
      candidate least_left = ~candidate{0}, greatest_left = 0;
      this->for_each_token([&](candidate token, unsigned) {
        if (!is_left(token)) return;
        if (token < least_left) least_left = token;
        if (token > greatest_left) greatest_left = token;
      });
      group_.template share_extremes<false>(least_left, greatest_left);
      fine.clear();
      __syncthreads();
      low = least_left;
      high = greatest_left;
      constexpr int digit_bits = 9;
      static_assert(memory::fine_bins == 1 << digit_bits);
      const int span = 64 - __clzll(static_cast<long long>(high - low));
      const int finer = span > digit_bits ? span - digit_bits : 0;
      this->for_each_token([&](candidate token, unsigned) {
        if (is_left(token))
          fine.add(static_cast<unsigned>((high - token) >> finer),
                   weight_of_level<of_logits>(levels.level(value_of_token(token))), true);
      });
      __syncthreads();
      found = this->template find_fine<false>(fine, by_count, needed);
      num_left = fine.counts[found.bin];
      needed -= found.before.measure(by_count);
      sum_before += found.before.sum;
      high -= static_cast<candidate>(found.bin) << finer;
      const candidate width = (candidate{1} << finer) - 1;
      if (high - low > width) low = high - width;
    }
    this->for_each_token([&](candidate token, unsigned) {
      if (!is_left(token)) return;
      const unsigned place = atomicAdd(own_.num_few + w, 1u);
      own_.few[place] = token;
      own_.few_weights[place] = weight_of_level<of_logits>(levels.level(value_of_token(token)));
    });
    __syncthreads();
    return this->among_few(num_left, by_count, needed, sum_before);
  }

 protected:
  using base::group_;
  using base::own_;
};

}  // namespace rungs::RUNGS_ABI::production
