// Rows by windows of values. A block has a row, or the blocks of a cluster have it together, each a share. They
//   1. find the greatest item, and count values in bins of a range that a sample of the row tells,
//   2. guess from the counts in which bins cuts and the draw will lie: their windows,
//   3. add up the weights before each window, and list the tokens in windows,
//   4. find each cut, and the draw, among the listed tokens: few by counting, others by bins of the range they span.
// Sums tell whether each window holds its cut. Some do not, or have more tokens than there is room for, as of equal
// logits. Then, and in short rows, bins have sums of weights in place of counts, 64 for each power of two of the
// probability. Each cut's bin is listed, or the share is read again in place of a list.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "rungs/production/sampling/gumbel_scores.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/row_share.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/token_search.cuh"
#include "rungs/production/sampling/value_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

__device__ inline uint4* places_behind_lists(const sampling_plan& plan, unsigned char* shared) {
  const unsigned size = plan.capacity + (plan.num_blocks > 1 ? plan.gathered_capacity : 0);
  return reinterpret_cast<uint4*>(shared + sizeof(sampling_memory) + size * sizeof(candidate));
}

// Bins of the values that a sample of the row has, which is the same in all of its blocks. Clears what is counted.
template <bool of_logits, class Share>
__device__ value_bins<of_logits> bins_of_sample(const Share& share, sampling_memory& own, row_blocks& group,
                                                float factor) {
  uint4 sampled[2];
  share.sample(sampled);
  own.windows.clear();
  if (threadIdx.x == 0) own.size = 0;
  float least_place = INFINITY, greatest_place = -INFINITY;
#pragma unroll
  for (const uint4& vector : sampled)
    Share::for_each_in(vector, [&](float value) {
      if (!((of_logits ? value >= -FLT_MAX : value > 0) && value <= FLT_MAX)) return;
      const float place = value_bins<of_logits>::place(value);
      least_place = rounded::less(least_place, place);
      greatest_place = rounded::greater(greatest_place, place);
    });
  candidate least = token_candidate(least_place, 0), greatest = token_candidate(greatest_place, 0);
  group.template share_extremes<false>(least, greatest);
  if (least > greatest) least = greatest = token_candidate(0, 0);  // there is none
  return {value_of_token(least), value_of_token(greatest), true, factor};
}

// Counts the block's values in bins. Returns the greatest that the thread has.
template <bool of_logits, class Share>
__device__ float count_values(const Share& share, const value_bins<of_logits>& bins, sampling_memory& own) {
  float greatest = -INFINITY;
  share.template for_each_own<4, false>([&](const auto& values, unsigned) {
#pragma unroll
    for (unsigned i = 0; i < Share::vector_items; ++i) {
      greatest = rounded::greater(greatest, values[i]);
      count_bin<value_bins<of_logits>>(own.windows.counts, bins.mark(values[i]));
    }
  });
  return greatest;
}
template <class Share>
__device__ float greatest_of(const Share& share) {
  float greatest = -INFINITY;
  share.for_each([&](float value, unsigned) { greatest = rounded::greater(greatest, value); });
  return greatest;
}

// The token of the greatest Gumbel score, from `last` on. Out of the way of others, so that its loop has all registers.
template <class T, bool resident, bool of_logits>
__device__ __noinline__ unsigned draw_by_scores(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                                unsigned char* shared, float greatest, candidate last) {
  auto& own = *reinterpret_cast<sampling_memory*>(shared);
  row_blocks group(own.blocks, plan.num_blocks);
  const row_share<T, resident> share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks,
                                     places_behind_lists(plan, shared));
  const unsigned token =
      best_column(task, share, row_levels<of_logits>(greatest, task.logit_factor), last, random_of(task), row, group);
  group.settle();
  return token;
}

// A row by bins of weights, where windows do not tell, or there are none. Out of the way of others.
template <class T, bool resident, bool of_logits>
__device__ __noinline__ void sample_by_weights(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                               unsigned char* shared, float greatest) {
  auto& own = *reinterpret_cast<sampling_memory*>(shared);
  auto* const held = reinterpret_cast<candidate*>(shared + sizeof(sampling_memory));
  row_blocks group(own.blocks, plan.num_blocks);
  const bool writes = group.rank() == 0 && threadIdx.x == 0;
  using share_t = row_share<T, resident>;
  using search_t = token_search<share_t, of_logits>;
  const share_t share(task.data + row * task.stride, task.num_columns, group.rank(), plan.num_blocks,
                      places_behind_lists(plan, shared));
  const row_levels<of_logits> levels(greatest, task.logit_factor);
  const bool draws = !task.by_gumbel, cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  const bool cuts_again = task.cuts_by_sum || (cuts && task.top_k == 0);
  const weight_sum fraction = draws ? draw_of(task, random_of(task), row) : 0;
  token_cut kept{0, 0};
  unsigned token = 0;
  search_t search(share, levels, task.least_level, plan, own, held, group);
  __syncthreads();
  own.coarse.clear();
  __syncthreads();
  share.for_each([&](float value, unsigned) {
    const unsigned level = levels.level(value);
    if (level >= task.least_level)
      own.coarse.add(search_t::bin_of(level), weight_of_level<of_logits>(level), task.top_k > 0);
  });
  group.merge(own.coarse);
  own.scan.find(own.coarse, false, 1);
  const token_mass total = own.scan.total;
  kept = {0, total.sum};
  enum { of_tokens, of_weights, draw, end };
#pragma unroll 1
  for (int step = of_tokens; step < end; ++step) {
    weight_sum target;
    if (step == of_tokens) {
      if (task.top_k == 0) continue;
      target = task.top_k < total.count ? task.top_k : total.count;
    } else if (step == of_weights) {
      if (!cuts_again) continue;
      target = task.cuts_by_sum ? share_of_sum(kept.up_to, task.sum_share) : kept.up_to;
    } else {
      if (!draws) break;
      target = draw_target(kept.up_to, fraction);
    }
    const token_cut found =
        search.find(step == of_tokens, target, draws && step == (cuts_again ? of_weights : of_tokens), fraction);
    if (step == draw)
      token = column_of_token(found.last);
    else
      kept = found;
  }

  group.settle();
  if (task.by_gumbel)
    token = draw_by_scores<T, resident, of_logits>(task, plan, row, shared, levels.greatest, kept.last);
  if (writes) write_row(task, row, levels, kept, token);
}

template <class T, bool resident, bool of_logits>
__device__ __forceinline__ void sample_row(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                           unsigned char* shared) {
  auto& own = *reinterpret_cast<sampling_memory*>(shared);
  auto* const held = reinterpret_cast<candidate*>(shared + sizeof(sampling_memory));
  const T* const from = task.data + row * task.stride;
  row_blocks group(own.blocks, plan.num_blocks);
  const bool writes = group.rank() == 0 && threadIdx.x == 0;

  using share_t = row_share<T, resident>;
  using search_t = token_search<share_t, of_logits>;
  const share_t share(from, task.num_columns, group.rank(), plan.num_blocks, places_behind_lists(plan, shared));
  share.begin_copies();
  const bool draws = !task.by_gumbel, cuts = task.top_k > 0 || task.cuts_by_sum || task.last_kept != nullptr;
  const bool cuts_again = task.cuts_by_sum || (cuts && task.top_k == 0);
  const bool has_sums = cuts || draws || task.probabilities != nullptr, by_windows = plan.by_windows && has_sums;
  value_bins<of_logits> bins(0, 0, false, 1);
  if (by_windows) bins = bins_of_sample<of_logits>(share, own, group, task.logit_factor);
  share.end_copies();

  // The greatest item, as an integer of the order.
  candidate greatest = token_candidate(by_windows ? count_values(share, bins, own) : greatest_of(share), 0),
            least = greatest;
  if (by_windows) {
    group.offer_extremes(least, greatest);
    group.merge(own.windows.counts);
    group.take_extremes(least, greatest);
  } else {
    group.template share_extremes<true>(least, greatest);
  }
  const row_levels<of_logits> levels(value_of_token(greatest), task.logit_factor);
  if (levels.is_none()) {
    if (writes) {
      task.tokens[row] = -1;
      if (task.last_kept != nullptr) task.last_kept[row] = -1;
      if (task.probabilities != nullptr) task.probabilities[row] = 0;
    }
    return group.settle();
  }

  const weight_sum fraction = draws ? draw_of(task, random_of(task), row) : 0;
  token_cut kept{0, 0};
  unsigned token = 0;
  search_t search(share, levels, task.least_level, plan, own, held, group);
  bool is_found = !has_sums;
  if (by_windows && value_of_token(greatest) <= FLT_MAX) {
    if (own.windows.counts[0] > 1 && bins.place(levels.greatest) > bins.top) {
      // More than the greatest one are beyond the sample.
      bins = value_bins<of_logits>(bins.bottom, bins.place(levels.greatest), false, task.logit_factor);
      __syncthreads();
      own.windows.clear();
      __syncthreads();
      count_values(share, bins, own);
      group.merge(own.windows.counts);
    }
    const wanted_cuts wanted{task.top_k,
                             cuts_again,
                             draws,
                             task.cuts_by_sum ? static_cast<float>(task.sum_share) * 0x1p-32f : 1.0f,
                             static_cast<float>(fraction) * 0x1p-64f,
                             static_cast<float>(weight_of_level<of_logits>(task.least_level)) * 0x1p-31f};
    own.windows.find(bins, levels.greatest, levels.factor, wanted, own.cuts);
    is_found = search.find_in_windows(
        bins, own.cuts, {task.top_k, cuts_again, task.cuts_by_sum, draws, task.sum_share, fraction}, kept, token);
  }
  if (!is_found) {
    group.settle();
    return sample_by_weights<T, resident, of_logits>(task, plan, row, shared, levels.greatest);
  }
  group.settle();
  if (task.by_gumbel)
    token = draw_by_scores<T, resident, of_logits>(task, plan, row, shared, levels.greatest, kept.last);
  if (writes) write_row(task, row, levels, kept, token);
}

}  // namespace rungs::RUNGS_ABI::production
