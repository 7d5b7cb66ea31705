// Fourth phase of a search by levels, where too many tokens lie in windows, as of equal logits. Nothing is listed. All
// blocks look through their shares for each cut, by the same fine bins.
#pragma once

#include "rungs/production/sampling/cuts_in_list.cuh"
#include "rungs/production/sampling/fine_bins.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class cuts_in_shares : public cuts_in_list<T, of_logits> {
  using base = cuts_in_list<T, of_logits>;
  using memory = level_memory;

 public:
  using base::base;

  // Called by all blocks. Returns the token of a window with which `target` is reached, of weights or of tokens.
  __device__ token_cut find_in_shares(unsigned w, weight_sum target, const row_levels<of_logits>& levels) {
    const bool by_count = w == window_targets::of_count;
    const level_window window = own_.windows[w];
    halved_bins<memory::fine_bins>& fine = own_.fine[w];
    const auto for_each_token = [&](auto take) {
      share_.for_each([&](float value, unsigned column) {
        const unsigned level = levels.level(value);
        if (window.has(level)) take(token_candidate(value, column), level);
      });
    };
    const unsigned shift = window.shift;
    // Where all items of the window are equal, bins of levels do not tell them apart.
    const bool is_one_level = window.least == window.greatest;
    if (!is_one_level) {
      for_each_token([&](candidate, unsigned level) {
        fine.add_alike((window.greatest - level) >> shift, weight_of_level<of_logits>(level));
      });
      group_.meet();
    }
    weight_sum needed = target - window.before.measure(by_count), sum_before = window.before.sum;
    const auto look_through = [&] {
      const found_bin found = this->template find_fine<true>(fine, by_count, needed);
      needed -= found.before.measure(by_count);
      sum_before += found.before.sum;
      return found.bin;
    };
    const unsigned bin = is_one_level ? 0 : look_through(), greatest = window.greatest - (bin << shift),
                   least = max(window.greatest - min(window.greatest, ((bin + 1) << shift) - 1), window.least);
    candidate low = 0, high = ~candidate{0};
    const auto for_each_left = [&](auto take) {
      for_each_token([&](candidate token, unsigned level) {
        if (token >= low && token <= high && level - least <= greatest - least) take(token, level);
      });
    };
#pragma unroll 1
    for (bool is_first = is_one_level; is_first || own_.num_left > memory::few_tokens; is_first = false) {
      candidate least_left = ~candidate{0}, greatest_left = 0;
      for_each_left([&](candidate token, unsigned) {
        if (token < least_left) least_left = token;
        if (token > greatest_left) greatest_left = token;
      });
      group_.template share_extremes<true>(least_left, greatest_left);  // behind it, peers have read the bins too
      fine.clear();
      __syncthreads();
      low = least_left;
      high = greatest_left;
      constexpr int digit_bits = 9;
      static_assert(memory::fine_bins == 1 << digit_bits);
      const int span = 64 - __clzll(static_cast<long long>(high - low));
      const int finer = span > digit_bits ? span - digit_bits : 0;
      for_each_left([&](candidate token, unsigned level) {
        fine.add_alike(static_cast<unsigned>((high - token) >> finer), weight_of_level<of_logits>(level));
      });
      group_.meet();
      high -= static_cast<candidate>(look_through()) << finer;
      const candidate width = (candidate{1} << finer) - 1;
      if (high - low > width) low = high - width;
    }
    // All blocks get the few tokens that are left, wherever they come from.
    for_each_left([&](candidate token, unsigned level) {
      const unsigned place = atomicAdd(group_.of_rank(own_.num_few + w, 0), 1u);
      const unsigned weight = weight_of_level<of_logits>(level);
#pragma unroll 1
      for (unsigned rank = 0; rank < group_.num_blocks(); ++rank) {
        *group_.of_rank(own_.few + place, rank) = token;
        *group_.of_rank(own_.few_weights + place, rank) = weight;
      }
    });
    group_.meet();
    return this->among_few(own_.num_left, by_count, needed, sum_before);
  }

 protected:
  using base::group_;
  using base::own_;
  using base::share_;
};

}  // namespace rungs::RUNGS_ABI::production
