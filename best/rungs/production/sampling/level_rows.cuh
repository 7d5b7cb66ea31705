// Rows by bins of levels (level_bins.cuh).
#pragma once

#include "rungs/production/sampling/frequent_values.cuh"
#include "rungs/production/sampling/gumbel_scores.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/level_bins.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// Where windows have more tokens than there is room for, out of the way of others.
template <class T, bool of_logits>
__device__ __noinline__ frequent_cuts cut_by_frequent_levels(const sampling_task<T>& task, const sampling_plan& plan,
                                                             unsigned row, unsigned char* shared, float greatest,
                                                             const window_targets& targets, weight_sum total) {
  auto& own = *reinterpret_cast<level_memory*>(shared);
  auto* const list = reinterpret_cast<candidate*>(shared + sizeof(level_memory));
  row_blocks group(own.blocks, plan.num_blocks);
  const unsigned capacity = level_memory::capacity(plan.num_blocks);
  using share_t = held_share<T>;
  const share_t share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks,
                      reinterpret_cast<uint4*>(list + capacity), plan.num_held);
  const row_levels<of_logits> levels(greatest, task.logit_factor);
  using windows_t = windows_of_levels<level_memory::num_windows, of_logits>;
  const windows_t windows{{own.windows[0], own.windows[1], own.windows[2]}, levels};
  const frequent_lists lists{list, capacity, plan.num_blocks > 1 ? own.gathered : list,
                             level_memory::gathered_capacity};
  frequent_search<share_t, of_logits, windows_t> search(share, levels, windows, own.frequent, lists, group);
  const frequent_cuts found = search.cut(targets, total);
  group.settle();
  return found;
}

// A row by bins of levels.
template <class T, bool of_logits>
__device__ __forceinline__ void sample_by_levels(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                                 unsigned char* shared) {
  auto& own = *reinterpret_cast<level_memory*>(shared);
  auto* const list = reinterpret_cast<candidate*>(shared + sizeof(level_memory));
  row_blocks group(own.blocks, plan.num_blocks);
  const bool is_first = group.rank() == 0, writes = is_first && threadIdx.x == 0;
  const held_share<T> share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks,
                            reinterpret_cast<uint4*>(list + level_memory::capacity(plan.num_blocks)), plan.num_held);
  level_search<T, of_logits> search(share, own, list, group);
  const row_levels<of_logits> levels(search.read(), task.logit_factor);
  if (levels.is_none()) {
    if (writes) {
      task.tokens[row] = -1;
      if (task.last_kept != nullptr) task.last_kept[row] = -1;
      if (task.probabilities != nullptr) task.probabilities[row] = 0;
    }
    return;
  }
  const random_source random = random_of(task);
  const bool draws = !task.by_gumbel, cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  const bool cuts_again = task.cuts_by_sum || (cuts && task.top_k == 0);
  token_cut kept{0, 0};
  unsigned token = 0;
  if (cuts || draws || task.probabilities != nullptr) {
    const weight_sum fraction = draws ? draw_of(task, random, row) : 0;
    const window_targets targets{task.top_k, cuts_again, task.cuts_by_sum, draws, task.sum_share, fraction};
    const bool is_listed = search.list(levels, task.least_level, targets);
    using search_t = level_search<T, of_logits>;
    const token_mass total = search.total();
    kept.up_to = total.sum;
    const auto cut_again = [&] {
      group.settle();
      window_targets within = targets;
      within.top_k = min(within.top_k, total.count);
      return cut_by_frequent_levels<T, of_logits>(task, plan, row, shared, levels.greatest, within, total.sum);
    };
    if (is_listed) {
      if (is_first) search.gather(levels);
      group.arrive_unordered();
      if (is_first) {
        if (task.top_k > 0) kept = search.find(search_t::of_count, min(task.top_k, total.count), levels);
        if (cuts_again)
          kept = search.find(search_t::of_sum, task.cuts_by_sum ? share_of_sum(kept.up_to, task.sum_share) : kept.up_to,
                             levels);
        if (draws)
          token = column_of_token(search.find(search_t::of_draw, draw_target(kept.up_to, fraction), levels).last);
      }
    } else if (const frequent_cuts found = cut_again(); found.are_found) {
      kept = found.kept;
      token = found.token;
    } else {
      __syncthreads();  // all have read what lies there
      own.clear_fine();
      __syncthreads();
#pragma unroll 1
      for (unsigned w = search_t::of_count; w <= search_t::of_draw; ++w) {
        if (!(w == search_t::of_count ? task.top_k > 0 : w == search_t::of_sum ? cuts_again : draws)) continue;
        weight_sum target = min(task.top_k, total.count);
        if (w == search_t::of_sum) target = task.cuts_by_sum ? share_of_sum(kept.up_to, task.sum_share) : kept.up_to;
        if (w == search_t::of_draw) target = draw_target(kept.up_to, fraction);
        const token_cut found = search.find_in_shares(w, target, levels);
        if (w == search_t::of_draw)
          token = column_of_token(found.last);
        else
          kept = found;
      }
    }
  }
  if (task.by_gumbel) {
    if (cuts) {
      group.settle();
      if (is_first && threadIdx.x < plan.num_blocks) *group.of_rank(&own.last, threadIdx.x) = kept.last;
      group.meet();
    }
    token = best_column(task, share, levels, cuts ? own.last : 0, random, row, group);
  }
  if (writes) write_row(task, row, levels, kept, token);
  group.settle();
}

}  // namespace rungs::RUNGS_ABI::production
