// The greatest Gumbel score of a block's share of a row, where tokens are not listed first.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/gumbel_rows.cuh"
#include "rungs/production/sampling/random.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// The greatest score of the thread's tokens from `last` on, and its column.
template <bool of_logits, class Share>
__device__ candidate best_score(const Share& share, const row_levels<of_logits>& levels, unsigned least_level,
                                candidate last, const random_source& random, const philox_keys& keys, unsigned row) {
  candidate best = 0;
  const auto compete = [&](float value, unsigned column, unsigned word) {
    const unsigned level = levels.level(value);
    if (level < least_level || token_candidate(value, column) < last) return;
    const candidate each =
        static_cast<candidate>(gumbel_score<of_logits>(level, word)) << 32 | static_cast<unsigned>(~column);
    if (each > best) best = each;
  };
  if (!share.has_whole_fours()) {
    unsigned known = 0xffffffff;  // the four tokens of `words`
    random_words words{};
    share.template for_each<1>([&](float value, unsigned column) {
      if (column / 4 != known) words = philox(random.counter(row, known = column / 4), keys);
      compete(value, column, words.word(column));
    });
    return best;
  }
  gumbel_bound<of_logits> bound(levels);
  candidate raised = 0;
  share.template for_each_vector<1>([&](const auto& values, unsigned first) {
#pragma unroll
    for (unsigned four = 0; four < Share::vector_items; four += 4) {
      const random_words words = philox(random.counter(row, (first + four) / 4), keys);
      unsigned mask = 0;
#pragma unroll
      for (unsigned i = 0; i < 4; ++i)
        if (bound.may_win(values[four + i], words.words[i])) mask |= 1u << i;
#pragma unroll 1
      for (; mask != 0; mask &= mask - 1) {
        const unsigned i = __ffs(static_cast<int>(mask)) - 1;
        const float low = i % 2 == 0 ? values[four] : values[four + 1],
                    high = i % 2 == 0 ? values[four + 2] : values[four + 3];
        compete(i < 2 ? low : high, first + four + i, words.word(i));
      }
    }
    if (__any_sync(parts::full_mask, best > raised)) bound.raise(static_cast<unsigned>((raised = best) >> 32));
  });
  return best;
}

// The column of the row's greatest score, of tokens from `last` on. All threads of all blocks call it.
template <bool of_logits, class T, class Share>
__device__ __forceinline__ unsigned best_column(const sampling_task<T>& task, const Share& share,
                                                const row_levels<of_logits>& levels, candidate last,
                                                const random_source& random, unsigned row, row_blocks& group) {
  candidate best = best_score(share, levels, task.least_level, last, random, task.keys, row);
  candidate unused = best;
  group.template share_extremes<true>(unused, best);
  return column_of_token(best);
}

}  // namespace rungs::RUNGS_ABI::production
