// Cuts of a row by windows of values or by bins of weights (window_rows.cuh): a block finds tokens in its share, and
// where there are more blocks they find them together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/frequent_values.cuh"
#include "rungs/production/sampling/level_window.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/value_bins.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// The values of a window from `first` to `last`, as they are in the order of candidates; the weight of the first, and
// their places.
struct window_edges {
  unsigned first, last, most, first_place, last_place;
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
    unsigned short numbers_of_own[most_own][block_threads];  // of each thread: vectors with items in windows
    frequent_memory frequent;
  };
  bin_scan scan;
  row_blocks_memory blocks;
  unsigned sizes[cluster::parts::greatest_cluster_blocks], size, num_few;
  candidate few[few_tokens];
  weight_sum sums_of_warps[weight_bins::warps][cut_windows::num];
  weight_sum sums_of_blocks[cluster::parts::greatest_cluster_blocks][cut_windows::num];
  token_cut cut;
  cut_windows cuts;
  window_edges edges[cut_windows::num];
};
static_assert(sizeof(window_search) <= sizeof(weight_bins));
static_assert(sizeof(sampling_memory::numbers_of_own) <= sizeof(weight_bins));
static_assert(sizeof(frequent_memory) <= sizeof(weight_bins));

// A cut in a bin of levels that has too many tokens for a list, out of the way of others.
template <class Share, bool of_logits>
__device__ __noinline__ bool find_frequent(const Share& share, const row_levels<of_logits>& levels,
                                           const level_window& window, const sampling_plan& plan, sampling_memory& own,
                                           candidate* held, bool by_count, weight_sum target, token_cut& found) {
  const Share own_share = share;
  const windows_of_levels<1, of_logits> windows{{window}, levels};
  candidate* const gathered = plan.num_blocks > 1 ? held + plan.capacity : held;
  row_blocks group(own.blocks, plan.num_blocks);
  frequent_search<Share, of_logits, windows_of_levels<1, of_logits>> search(
      own_share, windows.levels, windows, own.frequent, {held, plan.capacity, gathered, plan.gathered_capacity}, group);
  __syncthreads();
  const bool is_found = search.list_others() && search.find(0, by_count, target, found);
  group.settle();
  return is_found;
}

// A window of which `most` is the greatest weight. The weights before it are the sum of max(weight, most), less `most`
// for each token that is not before. Counts tell how many these are.
struct weight_window {
  unsigned most, first_place, width;
  weight_sum sum = 0;

  __device__ explicit weight_window(const window_edges& edges)
      : most(edges.most),
        first_place(edges.first_place),
        width(edges.last_place >= first_place ? edges.last_place - first_place + 1 : 0) {}
  // Returns whether one of the tokens may be in the window.
  template <unsigned num>
  __device__ bool take(const unsigned (&weights)[num], const unsigned (&places)[num]) {
    unsigned nearest = ~0u;
#pragma unroll
    for (unsigned i = 0; i < num; ++i) {
      sum += max(weights[i], most);
      nearest = __viaddmin_u32(places[i], 0u - first_place, nearest);
    }
    return nearest < width;
  }
  __device__ weight_sum less_most(unsigned number) const { return sum - static_cast<weight_sum>(most) * number; }
};

// What a thread's tokens have before each window, if none of them is; and how many of its vectors it notes, which may
// have tokens in windows.
struct weighed_share {
  weight_sum sums[cut_windows::num];
  unsigned num_noted;
};
template <bool has_count, class Share, bool of_logits>
__device__ __forceinline__ weighed_share weigh_share(const Share& share, const row_levels<of_logits>& levels,
                                                     unsigned least_weight, sampling_memory& own) {
  constexpr unsigned vector_items = Share::vector_items, most_own = sampling_memory::most_own;
  weight_window of_count(own.edges[cut_windows::of_count]), of_sum(own.edges[cut_windows::of_sum]),
      of_draw(own.edges[cut_windows::of_draw]);
  unsigned num_noted = 0;
  share.template for_each_own<4, true>([&](const float(&values)[vector_items], unsigned number) {
    unsigned weights[vector_items], places[vector_items];
#pragma unroll
    for (unsigned i = 0; i < vector_items; ++i) {
      const auto [weight, place] = levels.weigh(values[i]);
      weights[i] = weight;
      places[i] = place;
    }
    if (least_weight > 1) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i)
        if (weights[i] < least_weight) weights[i] = 0;
    }
    bool may_have = of_sum.take(weights, places) | of_draw.take(weights, places);
    if constexpr (has_count) {
      may_have |= of_count.take(weights, places);
    } else {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) of_count.sum += weights[i];
    }
    if (may_have) {
      own.numbers_of_own[min(num_noted, most_own - 1)][threadIdx.x] = static_cast<unsigned short>(number);
      ++num_noted;
    }
  });
  const unsigned number = share.num_own() * vector_items;
  return {{has_count ? of_count.less_most(number) : of_count.sum, of_sum.less_most(number), of_draw.less_most(number)},
          num_noted};
}

// Cuts of a row.
template <class Share, bool of_logits>
class token_search {
  static constexpr unsigned lanes = parts::warp_threads, block_threads = weight_bins::block_threads;
  static constexpr unsigned no_bin = weight_bins::num_bins;
  static constexpr candidate no_token = 0;
  struct token_range {
    candidate low, high;
    bool is_tight;  // so that looking for the least and the greatest token would not narrow it
  };
  static constexpr token_range all_tokens{0, ~candidate{0}, false};
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
    const levels_of_bins of_bin(coarse.bin, coarse.bin, least_level_);
    // Where there is no room even if all weights were the greatest, nothing is listed.
    const unsigned greatest = of_bin.least + of_bin.width;
    const bool overflows = own_.coarse.mass(coarse.bin).sum >
                           static_cast<weight_sum>(plan_.gathered_capacity) * weight_of_level<of_logits>(greatest);
    if (!overflows && (!listed_.has(coarse.bin) || !is_listed_)) {
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
    const weight_sum needed = target - coarse.before.measure(by_count);
    if (!overflows && is_listed_)
      return among_listed([&](float value) { return of_bin.has(levels_.level(value)); }, all_tokens, by_count, needed,
                          coarse.before.sum);
    is_listed_ = false;
    group_.settle();
    token_cut found;
    if (find_frequent<Share, of_logits>(Share(share_), row_levels<of_logits>(levels_),
                                        level_window::of(of_bin.least, greatest, coarse.before), plan_, own_, held_,
                                        by_count, target, found))
      return found;
    return narrow<true>(
        [&](auto take) {
          share_.template for_each<1>([&](float value, unsigned column) {
            if (of_bin.has(levels_.level(value))) take(token_candidate(value, column));
          });
        },
        all_tokens, by_count, needed, coarse.before.sum);
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

    kept = {0, before[cut_windows::of_count]};
#pragma unroll 1
    for (int w = cut_windows::of_count; w < cut_windows::num; ++w) {
      const bool by_count = w == cut_windows::of_count;
      if (by_count ? targets.top_k == 0 : w == cut_windows::of_sum ? !targets.by_sum : !targets.draws) continue;
      const weight_sum target = by_count                    ? targets.top_k
                                : w == cut_windows::of_draw ? draw_target(kept.up_to, targets.fraction)
                                : targets.cuts_by_sum       ? share_of_sum(kept.up_to, targets.sum_share)
                                                            : kept.up_to;
      const weight_sum sum_before = by_count                   ? before[cut_windows::of_count]
                                    : w == cut_windows::of_sum ? before[cut_windows::of_sum]
                                                               : before[cut_windows::of_draw];
      const weight_sum reached = by_count ? windows.counts_before[w] : sum_before;
      if (target <= reached) return false;
      const value_window window = windows.of[w];
      const window_edges& edges = own_.edges[w];
      const token_cut found = among_listed([&](float value) { return window.has(bins.mark(value)); },
                                           {candidate{edges.last} << 32, candidate{edges.first} << 32 | ~0u, true},
                                           by_count, target - reached, sum_before);
      if (found.last == no_token) return false;
      if (w == cut_windows::of_draw)
        token = column_of_token(found.last);
      else
        kept = found;
    }
    return true;
  }

 private:
  // Adds up the weights before windows, and lists the block's tokens in them. Each thread notes which of its vectors
  // may have some, and reads them again.
  __device__ void weigh(const value_bins<of_logits>& bins, const cut_windows& windows, const window_targets& targets,
                        weight_sum (&before)[cut_windows::num]) {
    // Levels below the least one have less weight than it has.
    const unsigned least_weight = weight_of_level<of_logits>(least_level_);
    if (const unsigned edge = threadIdx.x / lanes; edge < 2 * cut_windows::num) {
      const value_window& window = windows.of[edge / 2];
      const bool is_first = edge % 2 == 0;
      const unsigned greatest = static_cast<unsigned>(token_candidate(levels_.greatest, 0) >> 32),
                     from = bins.greatest_from(is_first ? window.first : window.last + 1),
                     ordered = min(is_first ? from : from + 1, greatest);
      const auto weighed = levels_.weigh(value_of_token(candidate{ordered} << 32));
      window_edges& edges = own_.edges[edge / 2];
      if (threadIdx.x % lanes == 0) {
        if (is_first) {
          edges.first = ordered;
          edges.most = weighed.weight >= least_weight ? weighed.weight : 0;
        } else {
          edges.last = ordered;
        }
        (is_first == of_logits ? edges.first_place : edges.last_place) = levels_.with_weight(weighed.place);
      }
    }
    __syncthreads();
    const weighed_share weighed = targets.top_k > 0 ? weigh_share<true>(share_, levels_, least_weight, own_)
                                                    : weigh_share<false>(share_, levels_, least_weight, own_);
    const bool is_first = group_.rank() == 0 && threadIdx.x == 0;
#pragma unroll
    for (int w = 0; w < cut_windows::num; ++w)
      before[w] = weighed.sums[w] +
                  (is_first ? static_cast<weight_sum>(windows.counts_before[w]) * own_.edges[w].most : weight_sum{0});
    unsigned num_noted = weighed.num_noted;
    if (num_noted > sampling_memory::most_own) {
      atomicAdd(&own_.size, plan_.capacity + 1);
      num_noted = 0;
    }
    list_noted(bins, windows, least_weight, num_noted);
  }

  // Lists the tokens of windows in the vectors that the threads of a warp have noted. Lanes share them evenly.
  __device__ void list_noted(const value_bins<of_logits>& bins, const cut_windows& windows, unsigned least_weight,
                             unsigned num_noted) {
    const unsigned lane = threadIdx.x % lanes;
    const unsigned up_to = parts::warp_scan(num_noted, plus{});
    const unsigned total = __shfl_sync(parts::full_mask, up_to, lanes - 1);
    __syncwarp();
#pragma unroll 1
    for (unsigned begin = 0; begin < total; begin += lanes) {
      const unsigned index = begin + lane;
      unsigned owner = 0;  // the lane that has noted it
#pragma unroll
      for (unsigned step = lanes / 2; step > 0; step /= 2)
        if (__shfl_sync(parts::full_mask, up_to, owner + step - 1) <= index) owner += step;
      const unsigned before = __shfl_sync(parts::full_mask, up_to - num_noted, owner);
      if (index >= total) continue;
      const unsigned thread = threadIdx.x - lane + owner, number = own_.numbers_of_own[index - before][thread];
      const uint4 vector = share_.own_vector(number, thread);
      unsigned mask = 0, bit = 1;
      Share::for_each_in(vector, [&](float value) {
        if (windows.have(bins.mark(value)) && levels_.weight(value) >= least_weight) mask |= bit;
        bit *= 2;
      });
      if (mask == 0) continue;
      unsigned place = atomicAdd(&own_.size, static_cast<unsigned>(__popc(mask)));
      unsigned column = share_.column_of_own(number, thread);
      Share::for_each_in(vector, [&](float value) {
        if (mask % 2 != 0 && place < plan_.capacity) held_[place++] = token_candidate(value, column);
        mask /= 2;
        ++column;
      });
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
    // The tokens of the lane's block and those before, as they are gathered.
    const unsigned behind = parts::warp_scan(size, plus{});
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

  // The token among those in the list that have a value of `is_wanted`, which are in the range. No token if all of them
  // do not reach the target.
  template <class IsWanted>
  __device__ token_cut among_listed(IsWanted is_wanted, token_range range, bool by_count, weight_sum needed,
                                    weight_sum sum_before) {
    if (list_size_ <= few_tokens) return among_few(list_, list_size_, is_wanted, by_count, needed, sum_before);
    return narrow<false>(
        [&](auto take) {
#pragma unroll 1
          for (unsigned i = threadIdx.x; i < list_size_; i += block_threads)
            if (is_wanted(value_of_token(list_[i]))) take(list_[i]);
        },
        range, by_count, needed, sum_before);
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
    const bool is_last = own_weight != 0 && without < needed && needed <= reached;
    if (is_last && threadIdx.x % counting_lanes == 0) own_.cut = {own, sum_before + up_to.sum};
    return __syncthreads_or(is_last) != 0 ? own_.cut : token_cut{no_token, 0};
  }

  // for_each(take) takes tokens of the range.
  template <bool across, class ForEach>
  __device__ token_cut narrow(ForEach for_each, token_range range, bool by_count, weight_sum needed,
                              weight_sum sum_before) {
    candidate low = range.low, high = range.high;
    for (bool is_tight = range.is_tight;; is_tight = false) {
      if (!is_tight) {
        candidate least = ~candidate{0}, greatest = 0;
        for_each([&](candidate each) {
          if (each < low || each > high) return;
          if (each < least) least = each;
          if (each > greatest) greatest = each;
        });
        group_.template share_extremes<across>(least, greatest);
        low = least;
        high = greatest;
      }
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
      if (needed > own_.scan.total.measure(by_count)) return {no_token, 0};
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

}  // namespace rungs::RUNGS_ABI::production
