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
__device__ __noinline__ bool cut_by_frequent_levels(const sampling_task<T>& task, const sampling_plan& plan,
                                                    unsigned row, unsigned char* shared, float greatest,
                                                    window_targets targets, token_mass total, row_cuts& cuts) {
  auto& own = *reinterpret_cast<level_memory*>(shared);
  row_blocks group(own.blocks, plan.num_blocks);
  using share_t = held_share<T>;
  const share_t share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks,
                      reinterpret_cast<uint4*>(&own + 1), plan.num_held);
  const row_levels<of_logits> levels(greatest, task.logit_factor);
  using windows_t = windows_of_levels<level_memory::num_windows, of_logits>;
  const windows_t windows{{own.windows[0], own.windows[1], own.windows[2]}, levels};
  const frequent_lists lists{own.list, level_memory::list_capacity, plan.num_blocks > 1 ? own.gathered : own.list,
                             level_memory::list_capacity};
  frequent_search<share_t, of_logits, windows_t> search(share, levels, windows, own.frequent, lists, group);
  const bool are_found = search.cut(targets, total, cuts);
  group.settle();
  return are_found;
}

// A row by bins of levels.
template <class T, bool of_logits>
__device__ __forceinline__ void sample_by_levels(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                                 unsigned char* shared) {
  auto& own = *reinterpret_cast<level_memory*>(shared);
  row_blocks group(own.blocks, plan.num_blocks, row_blocks::starts_later{});
  const bool is_first = group.rank() == 0, writes = is_first && threadIdx.x == 0;
  const held_share<T> share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks,
                            reinterpret_cast<uint4*>(&own + 1), plan.num_held);
  level_search<T, of_logits> search(share, own, group, task.top_k > 0);
  const bool draws = !task.by_gumbel, cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  const row_levels<of_logits> levels(search.read(), task.logit_factor);
  if (levels.is_none()) {
    if (writes) {
      task.tokens[row] = -1;
      if (task.last_kept != nullptr) task.last_kept[row] = -1;
      if (task.probabilities != nullptr) task.probabilities[row] = 0;
    }
    return;
  }
  const bool cuts_again = task.cuts_by_sum || (cuts && task.top_k == 0);
  row_cuts found{};
  if (cuts || draws || task.probabilities != nullptr) {
    window_targets targets{task.top_k, cuts_again, task.cuts_by_sum, draws, task.sum_share, 0};
    const bool is_listed = search.list(levels, task.least_level, targets, [&] {
      if (draws) own.fraction = draw_of(task, random_of(task), row);
    });
    const token_mass total = search.total();
    if (draws) targets.fraction = own.fraction;
    if (is_listed) {
      if (is_first) {
        search.add_up(levels);
        if (!search.find_chained(targets, levels, found))
          find_cuts(targets, total, found, [&](unsigned w, weight_sum target, token_cut& cut) {
            cut = search.find(w, target, levels);
            return true;
          });
      }
    } else {
      if (is_first) search.wait_for_tokens();
      if (threadIdx.x < level_memory::num_windows) search.keep_window(threadIdx.x, targets);
      __syncthreads();
      group.settle();
      row_cuts of_frequent;
      if (cut_by_frequent_levels<T, of_logits>(task, plan, row, shared, levels.greatest, targets, total, of_frequent)) {
        found = of_frequent;
      } else {
        __syncthreads();  // all have read what lies there
        own.clear_fine();
        __syncthreads();
        find_cuts(targets, total, found, [&](unsigned w, weight_sum target, token_cut& cut) {
          cut = search.find_in_shares(w, target, levels);
          return true;
        });
      }
    }
  }
  if (task.by_gumbel) {
    if (cuts) {
      group.settle();
      if (is_first && threadIdx.x < plan.num_blocks) *group.of_rank(&own.last, threadIdx.x) = found.kept.last;
      group.meet();
    }
    found.token = best_column(task, share, levels, cuts ? own.last : 0, random_of(task), row, group);
  }
  if (writes) write_row(task, row, levels, found.kept, found.token);
  group.settle();
}

}  // namespace rungs::RUNGS_ABI::production
