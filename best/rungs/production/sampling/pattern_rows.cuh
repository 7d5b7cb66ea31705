// Rows of bfloat16 logits by their patterns: a block has a row (pattern_bins.cuh), or a cluster (pattern_clusters.cuh).
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/gumbel_scores.cuh"
#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/pattern_clusters.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/row_share.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/token_search.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// A row by its patterns. False, and nothing is written, where these do not tell.
template <class T>
__device__ bool sample_by_patterns(const sampling_task<T>& task, unsigned row, unsigned char* shared) {
  const T* const from = task.data + row * task.stride;
  pattern_search search(from, task.num_columns, *reinterpret_cast<pattern_memory*>(shared));
  const random_source random = random_of(task);
  weight_sum fraction = 0;
  float greatest;
  const bool is_counted = search.count(greatest, [&] {
    if (!task.by_gumbel) fraction = draw_of(task, random, row);
  });
  if (!is_counted) return false;
  const row_levels<true> levels(greatest, task.logit_factor);
  token_mass total;
  if (!search.weigh(levels, task.least_level, total)) return false;
  const bool cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  token_cut kept{0, total.sum};
  pattern_cut last{};
  if (task.top_k > 0) {
    last = search.find(0, true, min(task.top_k, total.count), levels, task.least_level);
    kept.up_to = last.up_to;
  }
  if (task.cuts_by_sum || (cuts && task.top_k == 0)) {
    const weight_sum target = task.cuts_by_sum ? share_of_sum(kept.up_to, task.sum_share) : kept.up_to;
    last = search.find(1, false, target, levels, task.least_level);
    kept.up_to = last.up_to;
  }
  unsigned token = 0;
  if (task.last_kept != nullptr || (task.by_gumbel && cuts)) {
    if (!search.column_of(last, token)) return false;
    kept.last = token_candidate(search.value_of(last), token);
  }
  if (task.by_gumbel) {
    row_blocks group(reinterpret_cast<sampling_memory*>(shared)->blocks, 1);
    const row_share<T, false> share(from, task.num_columns, 0, 1, nullptr);
    token = best_column(task, share, levels, kept.last, random, row, group);
  } else {
    const weight_sum target = draw_target(kept.up_to, fraction);
    if (!search.column_of(search.find(2, false, target, levels, task.least_level), token)) return false;
  }
  if (threadIdx.x == 0) write_row(task, row, levels, kept, token);
  return true;
}

// The same by the blocks of a cluster.
template <class T>
__device__ bool sample_by_pattern_cluster(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                          unsigned char* shared) {
  const T* const from = task.data + row * task.stride;
  auto& own = *reinterpret_cast<pattern_cluster_memory*>(shared);
  pattern_cluster search(from, task.num_columns, plan.num_blocks, own);
  const bool is_first = search.rank() == 0, finds = is_first && threadIdx.x < parts::warp_threads;
  const bool cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  const bool wants_last = task.last_kept != nullptr || (task.by_gumbel && cuts);
  const random_source random = random_of(task);
  weight_sum fraction = 0;
  const float greatest = search.count([&] {
    if (finds && !task.by_gumbel) fraction = draw_of(task, random, row);
  });
  const row_levels<true> levels(greatest, task.logit_factor);
  search.weigh(levels, task.least_level);
  if (finds) {
    bool needs_zeros = false, is_found = search.tells(greatest, levels, needs_zeros);
    weight_sum up_to = 0;
    pattern_place last_kept{}, drawn{};
    if (is_found) {
      const token_mass total = search.sum_groups();
      up_to = total.sum;
      pattern_cut last{};
      if (task.top_k > 0) {
        last = search.find(true, min(task.top_k, total.count), levels, task.least_level);
        up_to = last.up_to;
      }
      if (task.cuts_by_sum || (cuts && task.top_k == 0)) {
        last = search.find(false, task.cuts_by_sum ? share_of_sum(up_to, task.sum_share) : up_to, levels,
                           task.least_level);
        up_to = last.up_to;
      }
      if (wants_last) last_kept = search.place_of(last, greatest);
      if (!task.by_gumbel)
        drawn = search.place_of(search.find(false, draw_target(up_to, fraction), levels, task.least_level), greatest);
      needs_zeros |= (wants_last && last_kept.pattern == 0) || (!task.by_gumbel && drawn.pattern == 0);
    }
    if (threadIdx.x == 0) {
      own.kept = last_kept;
      own.drawn = drawn;
      own.up_to = up_to;
      own.is_found = is_found;
      own.needs_zeros = needs_zeros;
    }
  }
  token_cut kept{0, 0};
  unsigned token = 0;
  bool is_found = false;
  if (is_first) {
    __syncthreads();
    is_found = own.is_found && (own.needs_zeros == 0 || search.has_zeros_alone());
    kept.up_to = own.up_to;
    if (is_found && wants_last)
      kept.last = token_candidate(rounded::of_bits(own.kept.pattern << 16), search.column_of(own.kept));
    if (is_found && !task.by_gumbel) token = search.column_of(own.drawn);
    __syncthreads();
  }
  if (!search.agree(is_found, kept.last)) return false;
  if (task.by_gumbel) {
    row_blocks group(own.blocks, plan.num_blocks);
    const row_share<T, false> share(from, task.num_columns, group.rank(), plan.num_blocks, nullptr);
    token = best_column(task, share, levels, own.last, random, row, group);
    group.settle();
  }
  if (is_first && threadIdx.x == 0) write_row(task, row, levels, kept, token);
  return true;
}

}  // namespace rungs::RUNGS_ABI::production
