// Third phase of a search by levels. Each block lists the tokens of the windows, and all blocks learn how many tokens
// are listed.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/level_windows.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class level_lists : public level_windows<T, of_logits> {
  using base = level_windows<T, of_logits>;
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads;
  static constexpr unsigned vector_items = held_share<T>::vector_items;

 public:
  using base::base;

  // Finds windows, and lists their tokens. Returns false, in all blocks alike, if there are too many of them.
  __device__ bool list(const row_levels<of_logits>& levels, unsigned least_level, const window_targets& targets) {
    this->find_windows(levels, least_level, targets);

    level_window windows[memory::num_windows];
    for (unsigned w = 0; w < memory::num_windows; ++w) windows[w] = own_.windows[w];
    bool is_full = false;
    share_.for_each_vector([&](const float(&values)[vector_items], unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        const unsigned level = levels.level(values[i]);
        if (!(windows[0].has(level) | windows[1].has(level) | windows[2].has(level)) || is_full) continue;
        const unsigned place = atomicAdd(&own_.size, 1u);
        is_full = place >= capacity_;
        if (!is_full) list_[place] = token_candidate(values[i], first + i);
      }
    });
    __syncthreads();
    const unsigned num_blocks = group_.num_blocks(), size = own_.size;
    if (threadIdx.x < num_blocks) *group_.of_rank(own_.sizes + group_.rank(), threadIdx.x) = size;
    group_.meet();
    const unsigned lane = threadIdx.x % lanes, there = lane < num_blocks ? own_.sizes[lane % num_blocks] : 0;
    num_tokens_ = of_all_lanes(there, plus{});
    return !__any_sync(parts::full_mask, there > capacity_) && num_tokens_ <= memory::gathered_capacity;
  }

 protected:
  using base::capacity_;
  using base::group_;
  using base::list_;
  using base::own_;
  using base::share_;

  unsigned num_tokens_ = 0;  // in the lists of all blocks
};

}  // namespace rungs::RUNGS_ABI::production
