// Gumbel draws from all logits of a row, by lists of the tokens that may win (gumbel_rows.cuh).
#pragma once

#include "rungs/production/sampling/gumbel_rows.cuh"
#include "rungs/production/sampling/gumbel_scores.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// A Gumbel draw from all logits of a row.
template <class T>
__device__ void draw_from_list(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                               gumbel_memory& own) {
  row_blocks group(own.blocks, plan.num_blocks);
  const random_source random = random_of(task);
  const gumbel_share<T> share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks, own,
                              task.logit_factor, random.counter(row, 0), task.keys);
  candidate greatest = token_candidate(share.list(), 0), unused = greatest;
  group.template share_extremes<true>(unused, greatest);
  const row_levels<true> levels(value_of_token(greatest), task.logit_factor);
  const bool writes = group.rank() == 0 && threadIdx.x == 0;
  if (levels.is_none()) {
    if (writes) task.tokens[row] = -1;
    return group.settle();
  }
  candidate best;
  if (!share.best_of_list(levels, task.least_level, group, best))
    best = best_score(share, levels, task.least_level, 0, random, task.keys, row);
  group.template share_extremes<true>(unused, best);
  if (writes) task.tokens[row] = static_cast<int>(column_of_token(best));
  group.settle();
}

}  // namespace rungs::RUNGS_ABI::production
