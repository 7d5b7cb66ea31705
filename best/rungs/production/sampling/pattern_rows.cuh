// Rows of bfloat16 logits by their patterns: a block has a row (pattern_search.cuh), or a cluster
// (pattern_clusters.cuh).
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/gumbel_scores.cuh"
#include "rungs/production/sampling/pattern_clusters.cuh"
#include "rungs/production/sampling/pattern_search.cuh"
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
  __shared__ pattern_cluster_barriers barriers;
  pattern_cluster search(from, task.num_columns, plan.num_blocks, own, barriers);
  weight_sum fraction = 0;
  const float greatest = search.count([&] {
    if (!task.by_gumbel) fraction = draw_of(task, random_of(task), row);
  });
  const row_levels<true> levels(greatest, task.logit_factor);
  bool needs_zeros;
  if (!search.weigh(levels, task.least_level, needs_zeros)) return false;
  const bool draws = !task.by_gumbel, cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  const bool wants_last = task.last_kept != nullptr || (task.by_gumbel && cuts);
  enum { of_count, of_sum, of_draw };
  const bool finds = threadIdx.x < parts::warp_threads;
  const token_mass total = finds ? search.total() : token_mass{0, 0};
  weight_sum up_to = total.sum;
  pattern_place last{}, drawn{};
#pragma unroll 1
  for (unsigned w = of_count; w <= of_draw; ++w) {
    if (!(w == of_count ? task.top_k > 0 : w == of_sum ? task.cuts_by_sum || (cuts && task.top_k == 0) : draws))
      continue;
    if (finds) {
      weight_sum target = min(task.top_k, total.count);
      if (w == of_sum) target = task.cuts_by_sum ? share_of_sum(up_to, task.sum_share) : up_to;
      if (w == of_draw) target = draw_target(up_to, fraction);
      search.find(w, w == of_count, target);
    }
    const pattern_place found = search.found(w);
    if (w == of_draw) {
      drawn = found;
    } else {
      last = found;
      up_to = found.up_to;
    }
  }
  needs_zeros |= (wants_last && last.pattern == 0) || (draws && drawn.pattern == 0);
  if (needs_zeros && !search.has_zeros_alone()) return false;
  candidate last_kept = 0;
  if (wants_last && search.rank() == last.block) {
    last_kept = token_candidate(rounded::of_bits(last.pattern << 16), search.column_of(last));
    if (task.last_kept != nullptr && threadIdx.x == 0)
      task.last_kept[row] = static_cast<int>(column_of_token(last_kept));
  }
  unsigned writer = drawn.block, token = 0;
  if (task.by_gumbel) {
    if (wants_last) last_kept = search.tell_last(last.block, last_kept);
    row_blocks group(own.blocks, plan.num_blocks);
    const row_share<T, false> share(from, task.num_columns, group.rank(), plan.num_blocks, nullptr);
    token = best_column(task, share, levels, last_kept, random_of(task), row, group);
    group.settle();
    writer = 0;
  } else if (search.rank() == writer) {
    token = search.column_of(drawn);
  }
  if (search.rank() == writer && threadIdx.x == 0) write_token(task, row, levels, up_to, token);
  return true;
}

}  // namespace rungs::RUNGS_ABI::production
