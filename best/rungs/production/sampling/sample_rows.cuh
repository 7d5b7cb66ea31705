// A token of every row, drawn from the first tokens of the order by falling weight, exactly.
//
// Rows of 2,048 columns and more go by bins of levels (level_bins.cuh) while each has a multiprocessor or more, and a
// block no more than 2^16 columns. Weights are added up exactly in one read.
//
// Of others, a block has a row, or the blocks of a cluster have it together, each a share. They
//   1. find the greatest item, and count values in bins of a range that a sample of the row tells,
//   2. guess from the counts in which bins cuts and the draw will lie: their windows,
//   3. add up the weights before each window, and list the tokens in windows,
//   4. find each cut, and the draw, among the listed tokens: few by counting, others by bins of the range they span.
// Sums tell whether each window holds its cut. Some do not, or have more tokens than there is room for, as of equal
// logits. Then, and in short rows, bins have sums of weights in place of counts, 64 for each power of two of the
// probability. Each cut's bin is listed, or the share is read again in place of a list.
//
// A cut is a number of tokens (top-k) or of their weights (top-p). A draw is a cut at a random sum of the weights: it
// takes its last token. So the draw goes by falling probability, as that of a sorted row does.
//
// Rows of bfloat16 logits are short of patterns. One block counts these, and reads little again (pattern_bins.cuh), or
// the blocks of a cluster do (pattern_clusters.cuh).
//
// All sums are of integers (weights.cuh), and a token's place in the order is an integer of its own. So nothing depends
// on the number of blocks, the order of additions, or addresses.
//
// Source: bins of probability mass in place of a sort are known from radix top-p, as in TensorRT-LLM's AIR top-p.
#pragma once

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/production/sampling/gumbel_rows.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/level_bins.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/pattern_clusters.cuh"
#include "rungs/production/sampling/random.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/row_share.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/value_bins.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T>
struct sampling_task {
  const T* data;
  std::size_t stride;
  unsigned num_columns;
  int *tokens, *last_kept;  // the latter and probabilities may be null
  float* probabilities;
  const float* uniforms;  // null: random numbers by counting
  random_source random;
  philox_keys keys;                  // of random's seed
  const unsigned long long* offset;  // what is added to random's; may be null
  float logit_factor;
  bool of_logits, by_gumbel;
  unsigned least_level;
  unsigned top_k;  // 0: all
  bool cuts_by_sum;
  unsigned sum_share;  // in units of 2^-32
};

struct sampling_plan {
  unsigned num_blocks;                   // of a row
  bool resident;                         // whether its blocks keep it in shared memory
  bool by_windows;                       // whether it is long enough for windows
  bool by_patterns;                      // whether its patterns are counted first (pattern_bins.cuh)
  bool by_levels;                        // whether weights are added up by level first (level_bins.cuh)
  bool by_list;                          // whether tokens that may win a Gumbel draw are listed (gumbel_rows.cuh)
  unsigned num_held;                     // vectors of a block that stay in shared memory, where levels come first
  unsigned capacity, gathered_capacity;  // of a block's tokens of a bin, and of all blocks'
  std::size_t dynamic_bytes;
};

// What a block keeps beside its share and its lists. Peers write sizes.
struct sampling_memory {
  static constexpr unsigned block_threads = weight_bins::block_threads, few_tokens = 128, most_own = 24;
  union {
    weight_bins coarse;
    window_search windows;
  };
  union {
    weight_bins fine;
    unsigned short numbers_of_own[most_own][block_threads];  // of each thread: items that lie in windows
  };
  bin_scan scan;
  row_blocks_memory blocks;
  unsigned sizes[cluster::parts::greatest_cluster_blocks], size, num_few;
  candidate few[few_tokens];
  weight_sum sums_of_warps[weight_bins::warps][cut_windows::num],
      masses_of_warps[weight_bins::warps][cut_windows::num + 1];
  weight_sum sums_of_blocks[cluster::parts::greatest_cluster_blocks][cut_windows::num];
  token_cut cut;
};
static_assert(sizeof(window_search) <= sizeof(weight_bins));
static_assert(sizeof(sampling_memory::numbers_of_own) <= sizeof(weight_bins));

// Cuts of a row.
template <class Share, bool of_logits>
class token_search {
  static constexpr unsigned lanes = parts::warp_threads, block_threads = weight_bins::block_threads;
  static constexpr unsigned no_bin = weight_bins::num_bins;
  static constexpr unsigned counting_lanes = 4, few_tokens = sampling_memory::few_tokens;
  static_assert(few_tokens * counting_lanes == block_threads);

 public:
  // From the greatest level on.
  static constexpr int bin_shift = level_bits - 6;
  static __device__ unsigned bin_of(unsigned level) { return (most_level - level) >> bin_shift; }

  __device__ token_search(const Share& share, const row_levels<of_logits>& levels, unsigned least_level,
                          const sampling_plan& plan, sampling_memory& own, candidate* held, row_blocks& group)
      : share_(share), levels_(levels), least_level_(least_level), plan_(plan), own_(own), held_(held), group_(group) {
    list_ = group.num_blocks() > 1 ? held + plan.capacity : held;
  }

  // The first token with which `target` is reached, of weights or of tokens. All threads call it. Where a draw of
  // `next` follows, the bins that it can lie in are listed in the same pass.
  __device__ token_cut find(bool by_count, weight_sum target, bool has_next, weight_sum next) {
    const found_bin coarse = own_.scan.find(own_.coarse, by_count, target);
    if (!listed_.has(coarse.bin) || !is_listed_) {
      bins_of_list bins{coarse.bin, coarse.bin, coarse.bin};
      if (has_next) {
        // The cut's sum is more than that of the bins before, and at most that with the bin.
        const weight_sum most = coarse.before.sum + own_.coarse.mass(coarse.bin).sum;
        const found_bin first = own_.scan.find(own_.coarse, false, draw_target(coarse.before.sum, next));
        bins.first = bins.last = first.bin;
        if (first.before.sum + own_.coarse.mass(first.bin).sum < draw_target(most, next))
          bins.last = own_.scan.find(own_.coarse, false, draw_target(most, next)).bin;
      }
#pragma unroll 1
      for (;; bins = {coarse.bin, coarse.bin, coarse.bin}) {  // alone, where there is no room for more
        list(bins);
        if (is_listed_ || !has_next) break;
        has_next = false;
      }
    }
    const levels_of_bins of_bin(coarse.bin, coarse.bin, least_level_);
    const weight_sum needed = target - coarse.before.measure(by_count);
    if (is_listed_)
      return among_listed([&](float value) { return of_bin.has(levels_.level(value)); }, by_count, needed,
                          coarse.before.sum);
    return narrow<true>(
        [&](auto take) {
          share_.template for_each<1>([&](float value, unsigned column) {
            if (of_bin.has(levels_.level(value))) take(token_candidate(value, column));
          });
        },
        by_count, needed, coarse.before.sum);
  }

  // Steps 3 and 4: cuts and the draw, of tokens in windows alone. False if a window does not hold its cut, or if there
  // is no room for its tokens.
  __device__ bool find_in_windows(const value_bins<of_logits>& bins, const cut_windows& windows,
                                  const window_targets& targets, token_cut& kept, unsigned& token) {
    weight_sum before[cut_windows::num] = {0, 0, 0};
    weigh(bins, windows, targets, before);
    group_.add_up(before, own_.sums_of_warps);
    gather(before);
    if (!is_listed_) return false;

    weight_sum masses[cut_windows::num + 1] = {0, 0, 0, 0};
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < list_size_; i += block_threads) {
      const float value = value_of_token(list_[i]), mark = bins.mark(value);
      const unsigned weight = levels_.weight(value);
#pragma unroll
      for (int w = 0; w < cut_windows::num; ++w)
        if (windows.of[w].has(mark)) masses[w] += weight;
      masses[cut_windows::num] += windows.of[cut_windows::of_count].has(mark);
    }
    group_.add_up(masses, own_.masses_of_warps);

    const auto find = [&](int w, weight_sum target, token_cut& found) {
      const bool by_count = w == cut_windows::of_count;
      const weight_sum reached = by_count ? windows.count_before : before[w];
      if (target <= reached || target - reached > masses[by_count ? static_cast<int>(cut_windows::num) : w])
        return false;
      const value_window& window = windows.of[w];
      found = among_listed([&](float value) { return window.has(bins.mark(value)); }, by_count, target - reached,
                           before[w]);
      return true;
    };
    kept = {0, before[cut_windows::of_count]};
    if (targets.top_k > 0 && !find(cut_windows::of_count, targets.top_k, kept)) return false;
    if (targets.by_sum && !find(cut_windows::of_sum,
                                targets.cuts_by_sum ? share_of_sum(kept.up_to, targets.sum_share) : kept.up_to, kept))
      return false;
    token_cut drawn;
    if (targets.draws) {
      if (!find(cut_windows::of_draw, draw_target(kept.up_to, targets.fraction), drawn)) return false;
      token = column_of_token(drawn.last);
    }
    return true;
  }

 private:
  // Adds up the weights before windows, and lists the block's tokens in them. Each thread notes which of its items
  // these are, and reads them again.
  __device__ void weigh(const value_bins<of_logits>& bins, const cut_windows& windows, const window_targets& targets,
                        weight_sum (&before)[cut_windows::num]) {
    constexpr unsigned vector_items = Share::vector_items, most_own = sampling_memory::most_own;
    // Levels below the least one have less weight than it has.
    const unsigned least_weight = weight_of_level<of_logits>(least_level_);
    const bool has_least = least_level_ > 1;
    unsigned number = 0, num_own = 0;
    bool overflows = false;
    share_.template for_each_vector<2>([&](const float(&values)[vector_items], unsigned) {
      float marks[vector_items];
      unsigned weights[vector_items];
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        marks[i] = bins.mark(values[i]);
        weights[i] = levels_.weight(values[i]);
      }
      if (has_least) {
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i)
          if (weights[i] < least_weight) weights[i] = 0;
      }
      unsigned mask = 0;
      if (targets.top_k > 0) {
        weigh(windows.of[cut_windows::of_count], marks, weights, before[cut_windows::of_count], mask);
      } else {
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i) before[cut_windows::of_count] += weights[i];
      }
      if (targets.by_sum) weigh(windows.of[cut_windows::of_sum], marks, weights, before[cut_windows::of_sum], mask);
      if (targets.draws) weigh(windows.of[cut_windows::of_draw], marks, weights, before[cut_windows::of_draw], mask);
      if (num_own > most_own - vector_items) {
        overflows = true;
        num_own = 0;
      }
#pragma unroll 1
      for (; mask != 0; mask &= mask - 1)
        own_.numbers_of_own[num_own++][threadIdx.x] =
            static_cast<unsigned short>(number + __ffs(static_cast<int>(mask)) - 1);
      number += vector_items;
    });
    if (overflows) atomicAdd(&own_.size, plan_.capacity + 1);
#pragma unroll 4
    for (unsigned i = 0; i < num_own; ++i) {
      const unsigned column = share_.column_of_own(own_.numbers_of_own[i][threadIdx.x]);
      const float value = share_.value_at(column);
      if (levels_.weight(value) < least_weight) continue;  // none, in the last bin
      const unsigned place = atomicAdd(&own_.size, 1u);
      if (place < plan_.capacity) held_[place] = token_candidate(value, column);
    }
  }
  template <unsigned num>
  static __device__ void weigh(const value_window& window, const float (&marks)[num], const unsigned (&weights)[num],
                               weight_sum& before, unsigned& within) {
#pragma unroll
    for (unsigned i = 0; i < num; ++i) {
      const bool is_before = window.is_before(marks[i]);
      if (is_before) before += weights[i];
      if (!is_before & (marks[i] <= window.last)) within |= 1u << i;
    }
  }

  // One bin, and those from `first` to `last`.
  struct bins_of_list {
    unsigned one, first, last;

    __device__ bool has(unsigned bin) const { return (bin == one) | ((bin >= first) & (bin <= last)); }
  };
  // The levels of neighbouring bins, as far as tokens of them stay.
  struct levels_of_bins {
    unsigned least, width;

    __device__ levels_of_bins(unsigned first, unsigned last, unsigned least_level) {
      const unsigned greatest = most_level - (first << bin_shift);
      least = max(most_level - ((last + 1) << bin_shift) + 1, least_level);
      width = greatest - least;
    }
    __device__ bool has(unsigned level) const { return level - least <= width; }
  };
  __device__ unsigned weight_of(candidate token) const {
    return weight_of_level<of_logits>(levels_.level(value_of_token(token)));
  }

  // Lists the tokens of bins in each block, if there is room.
  __device__ void list(const bins_of_list& bins) {
    group_.settle();  // peers have copied the list before
    if (threadIdx.x == 0) own_.size = 0;
    __syncthreads();
    const levels_of_bins one(bins.one, bins.one, least_level_), some(bins.first, bins.last, least_level_);
    const auto is_wanted = [&](float value) {
      const unsigned level = levels_.level(value);
      return one.has(level) | some.has(level);
    };
    share_.for_each_of(is_wanted, [&](float value, unsigned column) {
      const unsigned place = atomicAdd(&own_.size, 1u);
      if (place < plan_.capacity) held_[place] = token_candidate(value, column);
    });
    __syncthreads();
    listed_ = bins;
    weight_sum unused[cut_windows::num] = {0, 0, 0};
    gather(unused);
  }

  // Brings the lists of all blocks, and their sums. Behind a barrier.
  __device__ void gather(weight_sum (&sums)[cut_windows::num]) {
    list_size_ = own_.size;
    is_listed_ = list_size_ <= plan_.capacity;
    const unsigned num_blocks = group_.num_blocks();
    if (num_blocks == 1) return __syncthreads();

    group_.settle();
    if (threadIdx.x < num_blocks) {
      *group_.of_rank(own_.sizes + group_.rank(), threadIdx.x) = list_size_;
      weight_sum* const there = group_.of_rank(own_.sums_of_blocks[group_.rank()], threadIdx.x);
#pragma unroll
      for (int i = 0; i < cut_windows::num; ++i) there[i] = sums[i];
    }
    group_.meet();
#pragma unroll
    for (int i = 0; i < cut_windows::num; ++i)
      sums[i] = row_blocks::sum_of_lanes<lanes>(
          threadIdx.x % lanes < num_blocks ? own_.sums_of_blocks[threadIdx.x % lanes][i] : weight_sum{0});
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const unsigned size = lane < num_blocks ? own_.sizes[lane] : 0;
    unsigned behind = size;  // the tokens of the lane's block and those before, as they are gathered
#pragma unroll
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const unsigned before = __shfl_up_sync(parts::full_mask, behind, distance);
      if (lane >= distance) behind += before;
    }
    list_size_ = __shfl_sync(parts::full_mask, behind, lanes - 1);
    is_listed_ = !__any_sync(parts::full_mask, size > plan_.capacity) && list_size_ <= plan_.gathered_capacity;
    if (is_listed_) {
      // A warp copies from one peer, with others where there are fewer peers.
      const unsigned peer = warp % num_blocks, num_there = __shfl_sync(parts::full_mask, size, peer);
      candidate* const to = list_ + __shfl_sync(parts::full_mask, behind - size, peer);
      const candidate* const there = group_.of_rank(held_, peer);
#pragma unroll 1
      for (unsigned i = warp / num_blocks * lanes + lane; i < num_there; i += block_threads / num_blocks)
        to[i] = there[i];
    }
    group_.arrive();
    __syncthreads();
  }

  // The token among those in the list that have a value of `is_wanted`. The target lies in them.
  template <class IsWanted>
  __device__ token_cut among_listed(IsWanted is_wanted, bool by_count, weight_sum needed, weight_sum sum_before) {
    if (list_size_ <= few_tokens) return among_few(list_, list_size_, is_wanted, by_count, needed, sum_before);
    return narrow<false>(
        [&](auto take) {
#pragma unroll 1
          for (unsigned i = threadIdx.x; i < list_size_; i += block_threads)
            if (is_wanted(value_of_token(list_[i]))) take(list_[i]);
        },
        by_count, needed, sum_before);
  }

  // The same of few tokens: four lanes add up what comes up to a token.
  template <class IsWanted>
  __device__ token_cut among_few(const candidate* tokens, unsigned size, IsWanted is_wanted, bool by_count,
                                 weight_sum needed, weight_sum sum_before) {
    unsigned* const weights = own_.fine.low;  // 0: of no such value
    if (threadIdx.x < size)
      weights[threadIdx.x] = is_wanted(value_of_token(tokens[threadIdx.x])) ? weight_of(tokens[threadIdx.x]) : 0;
    __syncthreads();
    const unsigned index = threadIdx.x / counting_lanes;
    const candidate own = index < size ? tokens[index] : 0;
    const unsigned own_weight = index < size ? weights[index] : 0;
    token_mass up_to{0, 0};
#pragma unroll 4
    for (unsigned other = threadIdx.x % counting_lanes; other < size; other += counting_lanes) {
      if (tokens[other] < own) continue;
      up_to.sum += weights[other];
      up_to.count += weights[other] != 0;
    }
#pragma unroll
    for (unsigned distance = 1; distance < counting_lanes; distance *= 2) {
      up_to.sum += __shfl_xor_sync(parts::full_mask, up_to.sum, distance);
      up_to.count += __shfl_xor_sync(parts::full_mask, up_to.count, distance);
    }
    const weight_sum reached = up_to.measure(by_count), without = reached - (by_count ? 1 : own_weight);
    if (own_weight != 0 && threadIdx.x % counting_lanes == 0 && without < needed && needed <= reached)
      own_.cut = {own, sum_before + up_to.sum};
    __syncthreads();
    return own_.cut;
  }

  // for_each(take) takes tokens of a bin that the target lies in.
  template <bool across, class ForEach>
  __device__ token_cut narrow(ForEach for_each, bool by_count, weight_sum needed, weight_sum sum_before) {
    candidate low = 0, high = ~candidate{0};
    for (;;) {
      candidate least = ~candidate{0}, greatest = 0;
      for_each([&](candidate each) {
        if (each < low || each > high) return;
        if (each < least) least = each;
        if (each > greatest) greatest = each;
      });
      group_.template share_extremes<across>(least, greatest);
      low = least;
      high = greatest;
      if (low == high) break;
      const int span = 64 - __clzll(static_cast<long long>(high - low));
      const int shift = span > weight_bins::digit_bits ? span - weight_bins::digit_bits : 0;
      own_.fine.clear();
      if (threadIdx.x == 0) own_.num_few = 0;
      __syncthreads();
      for_each([&](candidate each) {
        if (each >= low && each <= high)
          own_.fine.add(static_cast<unsigned>((high - each) >> shift), weight_of(each), true);
      });
      if (across)
        group_.merge(own_.fine);
      else
        __syncthreads();
      const found_bin fine = own_.scan.find(own_.fine, by_count, needed);
      needed -= fine.before.measure(by_count);
      sum_before += fine.before.sum;
      high -= static_cast<candidate>(fine.bin) << shift;
      const candidate width = (candidate{1} << shift) - 1;
      if (high - low > width) low = high - width;
      if (across) continue;
      const unsigned left = own_.fine.counts[fine.bin];
      if (left > few_tokens) continue;
      for_each([&](candidate each) {
        if (each >= low && each <= high) own_.few[atomicAdd(&own_.num_few, 1u)] = each;
      });
      __syncthreads();
      return among_few(
          own_.few, left, [](float) { return true; }, by_count, needed, sum_before);
    }
    return {high, sum_before + weight_of(high)};
  }

  const Share& share_;
  const row_levels<of_logits> levels_;
  const unsigned least_level_;
  const sampling_plan& plan_;
  sampling_memory& own_;
  candidate* const held_;
  candidate* list_;
  row_blocks& group_;
  bins_of_list listed_{no_bin, no_bin, no_bin};
  unsigned list_size_ = 0;
  bool is_listed_ = false;
};

// Bins of the values that a sample of the row has, which is the same in all of its blocks. Clears what is counted.
template <bool of_logits, class Share>
__device__ value_bins<of_logits> bins_of_sample(const Share& share, sampling_memory& own, row_blocks& group,
                                                float factor) {
  uint4 sampled[4];
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
  share.for_each([&](float value, unsigned) {
    greatest = rounded::greater(greatest, value);
    count_bin<value_bins<of_logits>>(own.windows.counts, bins.mark(value));
  });
  return greatest;
}
template <class Share>
__device__ float greatest_of(const Share& share) {
  float greatest = -INFINITY;
  share.for_each([&](float value, unsigned) { greatest = rounded::greater(greatest, value); });
  return greatest;
}

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

template <class T, bool of_logits>
__device__ void write_row(const sampling_task<T>& task, unsigned row, const row_levels<of_logits>& levels,
                          const token_cut& kept, unsigned token) {
  task.tokens[row] = static_cast<int>(token);
  if (task.last_kept != nullptr) task.last_kept[row] = static_cast<int>(column_of_token(kept.last));
  if (task.probabilities != nullptr) {
    const float value = to_float(task.data[row * task.stride + token]);
    task.probabilities[row] = static_cast<float>(static_cast<double>(weight_of_level<of_logits>(levels.level(value))) /
                                                 static_cast<double>(kept.up_to));
  }
}

template <class T>
__device__ weight_sum draw_of(const sampling_task<T>& task, const random_source& random, unsigned row) {
  return task.uniforms != nullptr ? fraction_of(task.uniforms[row]) : random.of_row(row).fraction();
}
template <class T>
__device__ random_source random_of(const sampling_task<T>& task) {
  random_source random = task.random;
  if (task.offset != nullptr) random.offset += *task.offset;
  return random;
}

// A row by its patterns. False, and nothing is written, where these do not tell.
template <class T>
__device__ bool sample_by_patterns(const sampling_task<T>& task, unsigned row, unsigned char* shared) {
  const T* const from = task.data + row * task.stride;
  pattern_search search(from, task.num_columns, *reinterpret_cast<pattern_memory*>(shared));
  float greatest;
  if (!search.count(greatest)) return false;
  const row_levels<true> levels(greatest, task.logit_factor);
  token_mass total;
  if (!search.weigh(levels, task.least_level, total)) return false;
  const random_source random = random_of(task);
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
    kept.last = token_candidate(pattern_bins::value_of(last.bin), token);
  }
  if (task.by_gumbel) {
    row_blocks group(reinterpret_cast<sampling_memory*>(shared)->blocks, 1);
    const row_share<T, false> share(from, task.num_columns, 0, 1, nullptr);
    candidate best = best_score(share, levels, task.least_level, kept.last, random, task.keys, row), unused = best;
    group.template share_extremes<true>(unused, best);
    token = column_of_token(best);
  } else {
    const weight_sum target = draw_target(kept.up_to, draw_of(task, random, row));
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
    bool is_found = search.tells(greatest, levels);
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
      if (wants_last) is_found = search.place_of(last, last_kept);
      if (!task.by_gumbel && is_found)
        is_found = search.place_of(search.find(false, draw_target(up_to, fraction), levels, task.least_level), drawn);
    }
    if (threadIdx.x == 0) {
      own.kept = last_kept;
      own.drawn = drawn;
      own.up_to = up_to;
      own.is_found = is_found;
    }
  }
  token_cut kept{0, 0};
  unsigned token = 0;
  bool is_found = false;
  if (is_first) {
    __syncthreads();
    is_found = own.is_found;
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
    candidate best = best_score(share, levels, task.least_level, own.last, random, task.keys, row), unused = best;
    group.template share_extremes<true>(unused, best);
    token = column_of_token(best);
    group.settle();
  }
  if (is_first && threadIdx.x == 0) write_row(task, row, levels, kept, token);
  return true;
}

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
    const bool is_listed = search.list(levels, task.least_level,
                                       {task.top_k, cuts_again, task.cuts_by_sum, draws, task.sum_share, fraction});
    using search_t = level_search<T, of_logits>;
    const token_mass total = search.total();
    kept.up_to = total.sum;
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
    } else {
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
    candidate best = best_score(share, levels, task.least_level, cuts ? own.last : 0, random, task.keys, row);
    candidate unused = best;
    group.template share_extremes<true>(unused, best);
    token = column_of_token(best);
  }
  if (writes) write_row(task, row, levels, kept, token);
  group.settle();
}

template <class T, bool resident, bool of_logits>
__device__ __forceinline__ void sample_row(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                           unsigned char* shared) {
  auto& own = *reinterpret_cast<sampling_memory*>(shared);
  auto* const held = reinterpret_cast<candidate*>(shared + sizeof(sampling_memory));
  auto* const behind_lists = held + plan.capacity + (plan.num_blocks > 1 ? plan.gathered_capacity : 0);
  const T* const from = task.data + row * task.stride;
  row_blocks group(own.blocks, plan.num_blocks);
  const bool writes = group.rank() == 0 && threadIdx.x == 0;

  using share_t = row_share<T, resident>;
  using search_t = token_search<share_t, of_logits>;
  const share_t share(from, task.num_columns, group.rank(), plan.num_blocks, reinterpret_cast<uint4*>(behind_lists));
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

  const random_source random = random_of(task);
  const weight_sum fraction = draws ? draw_of(task, random, row) : 0;
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
    const cut_windows windows = own.windows.find(bins, levels.greatest, levels.factor, wanted);
    is_found = search.find_in_windows(
        bins, windows, {task.top_k, cuts_again, task.cuts_by_sum, draws, task.sum_share, fraction}, kept, token);
  }
  if (!is_found) {
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
  }

  if (task.by_gumbel) {
    candidate best = best_score(share, levels, task.least_level, kept.last, random, task.keys, row);
    candidate unused = best;
    group.template share_extremes<true>(unused, best);
    token = column_of_token(best);
  }
  if (writes) write_row(task, row, levels, kept, token);
  group.settle();
}

template <class T, bool resident, bool of_logits>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    sample_rows_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  sample_row<T, resident, of_logits>(task, plan, blockIdx.x / plan.num_blocks, sampling_shared_memory);
}

// For rows that patterns do not tell, out of the way of others.
template <class T>
__device__ __noinline__ void sample_untold_row(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                               unsigned char* shared) {
  __syncthreads();
  sample_row<T, false, true>(task, plan, row, shared);
}

// Logits alone, a block a row.
template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    sample_patterns_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  if (!sample_by_patterns(task, blockIdx.x, sampling_shared_memory))
    sample_untold_row(task, plan, blockIdx.x, sampling_shared_memory);
}

// The same, a cluster a row.
template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    sample_pattern_clusters_kernel(const __grid_constant__ sampling_task<T> task,
                                   const __grid_constant__ sampling_plan plan) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  const unsigned row = blockIdx.x / plan.num_blocks;
  if (!sample_by_pattern_cluster(task, plan, row, sampling_shared_memory))
    sample_untold_row(task, plan, row, sampling_shared_memory);
#endif
}

// Logits or probabilities, a block a multiprocessor.
template <class T, bool of_logits>
__global__ void __launch_bounds__(weight_bins::block_threads, 1)
    sample_levels_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  sample_by_levels<T, of_logits>(task, plan, blockIdx.x / plan.num_blocks, sampling_shared_memory);
#endif
}

// Logits alone, for Gumbel draws from all of them.
template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    draw_from_lists_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
  __shared__ gumbel_memory own;
  draw_from_list(task, plan, blockIdx.x / plan.num_blocks, own);
}

// How many blocks take a row. Where levels come first, a block a multiprocessor keeps what fits its shared memory, and
// reads the rest again. Else a row stays in shared memory where a block a multiprocessor is enough for that; if not, it
// is read again from the second cache by two blocks a multiprocessor.
struct sample_rows {
  static constexpr std::size_t least_columns = 2048;  // of a block of a cluster
  static constexpr std::size_t least_columns_of_windows = 2048, least_columns_of_patterns = 8192,
                               least_columns_of_levels = 2048;
  static constexpr unsigned list_capacity = 1536, gathered_capacity = 4096;

  template <class T>
  static cudaError_t fit(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                         bool of_logits, bool has_sums, bool has_least, sampling_plan& plan) {
    int blocks = of_logits && !has_sums && !has_least ? blocks_of_lists<T>(limits, num_rows, num_columns) : 0;
    if (blocks > 0) {
      plan = {};
      plan.num_blocks = static_cast<unsigned>(blocks);
      plan.by_list = true;
      return cudaSuccess;
    }
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      if (of_logits && has_sums && num_columns >= least_columns_of_patterns &&
          num_columns <= pattern_bins::most_columns) {
        blocks = blocks_of_patterns(limits, num_rows, num_columns);
        if (blocks == cluster::parts::greatest_cluster_blocks) {
          const cudaError_t error =
              cluster::parts::fit_cluster(sample_pattern_clusters_kernel<T>, weight_bins::block_threads, blocks);
          if (error != cudaSuccess) return error;
        }
        plan = by_patterns<T>(num_columns, blocks);
        if (plan.dynamic_bytes <= limits.shared_bytes) return cudaSuccess;
      }
    }
    blocks = blocks_of_levels(limits, num_rows, num_columns, has_sums);
    if (blocks == cluster::parts::greatest_cluster_blocks) {
      const cudaError_t error =
          cluster::parts::fit_cluster(sample_levels_kernel<T, true>, weight_bins::block_threads, blocks);
      if (error != cudaSuccess) return error;
    }
    if (blocks > 0) {
      const std::size_t items = row_share<T, false>::most_places(num_columns, static_cast<std::size_t>(blocks)) *
                                row_share<T, false>::vector_items;
      if (items <= level_memory::most_items) {
        plan = by_levels<T>(num_columns, blocks, limits.shared_bytes);
        return cudaSuccess;
      }
    }
    blocks = blocks_of_a_row(limits, num_rows, 1, num_columns / least_columns);
    if (blocks == cluster::parts::greatest_cluster_blocks) {
      const cudaError_t error =
          cluster::parts::fit_cluster(sample_rows_kernel<T, true, true>, weight_bins::block_threads, blocks);
      if (error != cudaSuccess) return error;
    }
    plan = of_blocks<T>(num_columns, blocks, true);
    // Rows of one block may leave room for another one's.
    if (plan.dynamic_bytes <= (blocks > 1 ? limits.shared_bytes : limits.shared_bytes / 2)) return cudaSuccess;
    const int more = blocks_of_a_row(limits, num_rows, 2, num_columns / least_columns);
    plan = of_blocks<T>(num_columns, more, false);
    if (more == 1 && plan.dynamic_bytes > limits.shared_bytes) {
      plan.dynamic_bytes -= (plan.capacity - list_capacity) * sizeof(candidate);
      plan.capacity = list_capacity;
    }
    return plan.dynamic_bytes <= limits.shared_bytes ? cudaSuccess : cudaErrorNotSupported;
  }

  template <class T>
  static sampling_plan of_blocks(std::size_t num_columns, int blocks, bool resident) {
    const auto num_blocks = static_cast<unsigned>(blocks);
    // The lists of a single block are the gathered ones.
    const unsigned capacity = num_blocks > 1 ? list_capacity : gathered_capacity,
                   lists = num_blocks > 1 ? list_capacity + gathered_capacity : capacity;
    const std::size_t places = resident ? row_share<T, true>::most_places(num_columns, num_blocks) : 0;
    return {num_blocks,
            resident,
            num_columns >= least_columns_of_windows,
            false,
            false,
            false,
            0,
            capacity,
            gathered_capacity,
            sizeof(sampling_memory) + lists * sizeof(candidate) + places * sizeof(uint4)};
  }

  template <class T>
  static sampling_plan by_patterns(std::size_t num_columns, int blocks) {
    sampling_plan plan = of_blocks<T>(num_columns, blocks, false);
    plan.by_patterns = true;
    const std::size_t least = blocks > 1 ? sizeof(pattern_cluster_memory) : sizeof(pattern_memory);
    if (plan.dynamic_bytes < least) plan.dynamic_bytes = least;
    return plan;
  }

  // Of a row by lists, or 0 where another way is faster. Behind the read, lists take about five microseconds. They save
  // less than that where rows are few or short. Floats are compared sooner than shorter items.
  template <class T>
  static int blocks_of_lists(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns) {
    constexpr std::size_t least_of_four = 49152, least_of_two = sizeof(T) == 4 ? 8192 : 49152,
                          least_of_one = sizeof(T) == 4 ? 8192 : 24576, least_to_share = 24576;
    switch (blocks_of_a_row(limits, num_rows, 1, num_columns)) {
      case 4:
        return num_columns >= least_of_four ? 4 : 0;
      case 2:
        return num_columns < least_of_two ? 0 : num_columns < least_to_share ? 1 : 2;
      case 1:
        return num_columns >= least_of_one ? 1 : 0;
    }
    return 0;
  }

  // Of a row by patterns. Eight or more share a multiprocessor by two. Four are faster than one only where each has a
  // multiprocessor, and two never are.
  static int blocks_of_patterns(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns) {
    const std::size_t most = num_columns >= 65536 ? 16 : num_columns >= 16384 ? 8 : 1;
    const int blocks = blocks_of_a_row(limits, num_rows, 2, most);
    if (blocks >= 8) return blocks;
    return blocks_of_a_row(limits, num_rows, 1, num_columns / least_columns_of_patterns) >= 4 ? 4 : 1;
  }

  // Of a row by levels, or 0 where another way is faster. All rows have their blocks at once. A cluster is within a
  // GPC, which has up to eighteen multiprocessors. So larger clusters leave more of them out.
  static int blocks_of_levels(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                              bool has_sums) {
    const auto multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
    if (limits.cc < 90 || num_rows > multiprocessors || num_columns < least_columns_of_levels) return 0;
    const std::size_t eighths_reached[] = {8, 8, 7, 6, 5};  // by 1, 2, 4, 8 and 16 blocks
    const int doublings = num_columns < 8192 ? 0 : num_columns < 16384 ? 1 : num_columns < 57344 ? 2 : 4;
    int d = 0;
    while (d < doublings && (num_rows << (d + 1)) <= multiprocessors * eighths_reached[d + 1] / 8) ++d;
    // Gumbel draws from all tokens need no bins. They are faster this way for short rows, and for many long ones.
    const bool are_many_long = doublings == 4 && d == 1 && num_rows * 3 > multiprocessors;
    return has_sums || doublings == 0 || are_many_long ? 1 << d : 0;
  }

  // `shared_bytes` are what a block may have.
  template <class T>
  static sampling_plan by_levels(std::size_t num_columns, int blocks, std::size_t shared_bytes) {
    sampling_plan plan{};
    plan.num_blocks = static_cast<unsigned>(blocks);
    plan.by_levels = true;
    plan.dynamic_bytes = sizeof(level_memory) + level_memory::capacity(plan.num_blocks) * sizeof(candidate);
    const std::size_t places = row_share<T, false>::most_places(num_columns, plan.num_blocks),
                      room = (shared_bytes - plan.dynamic_bytes) / sizeof(uint4);
    plan.num_held = static_cast<unsigned>(places < room ? places : room);
    plan.dynamic_bytes += plan.num_held * sizeof(uint4);
    return plan;
  }

  template <class T>
  static cudaError_t launch(const sampling_task<T>& task, std::size_t num_rows, const sampling_plan& plan,
                            cudaStream_t stream) {
    const auto with = [&](auto kernel) {
      if (plan.num_blocks == 1)
        return parts::launch_with_shared_memory(kernel, num_rows, weight_bins::block_threads, plan.dynamic_bytes,
                                                stream, task, plan);
      return cluster::parts::launch_clusters(
          kernel, num_rows,
          {static_cast<int>(plan.num_blocks), static_cast<int>(weight_bins::block_threads), plan.dynamic_bytes}, stream,
          task, plan);
    };
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      if (plan.by_patterns)
        return plan.num_blocks > 1 ? with(sample_pattern_clusters_kernel<T>) : with(sample_patterns_kernel<T>);
    }
    if (plan.by_list) return with(draw_from_lists_kernel<T>);
    if (plan.by_levels)
      return task.of_logits ? with(sample_levels_kernel<T, true>) : with(sample_levels_kernel<T, false>);
    if (task.of_logits)
      return plan.resident ? with(sample_rows_kernel<T, true, true>) : with(sample_rows_kernel<T, false, true>);
    return plan.resident ? with(sample_rows_kernel<T, true, false>) : with(sample_rows_kernel<T, false, false>);
  }
};

}  // namespace rungs::RUNGS_ABI::production
