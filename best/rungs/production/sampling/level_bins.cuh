// A row by bins of levels: sums of weights are exact in each bin, and tokens of a bin are neighbours in the order.
//
// The blocks of a cluster have the row together, each a share, or a single block has it. Each block reads its share
// once. Then blocks
//   1. find the greatest and the least item, which say how wide bins are,
//   2. add up weights in bins; each block then adds up all blocks' sums of its part of the bins,
//   3. find the bins in which cuts and the draw lie, and list their tokens.
// The first block finds cuts and the draw among the listed tokens, by finer bins. So blocks meet four times.
// Where there are too many tokens, as of equal logits, nothing is listed. Then all blocks look through their shares for
// each cut, by the same finer bins, and meet about five times more.
//
// The draw's target follows from a cut that is known only then. But a cut's bin bounds the sum up to the cut to a
// token's weight, so the draw has one bin or two.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/row_blocks.cuh"

namespace rungs::RUNGS_ABI::production {

// The last token of a cut, and the sum of the weights up to it.
struct token_cut {
  candidate last;
  weight_sum up_to;
};

// The sum of weights that a draw has to reach, of tokens that have `sum`.
__device__ inline weight_sum draw_target(weight_sum sum, weight_sum fraction) {
  return rounded::upper_product(sum, fraction) + 1;
}

// What cuts are made of, in integers.
struct window_targets {
  unsigned top_k;  // 0: all
  bool by_sum, cuts_by_sum, draws;
  unsigned sum_share;
  weight_sum fraction;
};

// Sums of weights in two words: of their lower halves, and of their upper ones. So no addition overflows, of up to 2^16
// weights.
template <unsigned num>
struct halved_bins {
  alignas(16) unsigned low[num], high[num], counts[num];

  __device__ void clear() {
    static_assert(sizeof(halved_bins) % sizeof(uint4) == 0);
#pragma unroll
    for (unsigned i = threadIdx.x; i < sizeof(halved_bins) / sizeof(uint4); i += weight_bins::block_threads)
      reinterpret_cast<uint4*>(low)[i] = {0, 0, 0, 0};
  }
  __device__ void add(unsigned bin, unsigned weight, bool counting) {
    atomicAdd(low + bin, weight & 0xffff);
    atomicAdd(high + bin, weight >> 16);
    if (counting) atomicAdd(counts + bin, 1u);
  }
  // Of as many equal weights as fit 2^16.
  __device__ void add_many(unsigned bin, unsigned weight, unsigned number) {
    atomicAdd(low + bin, (weight & 0xffff) * number);
    atomicAdd(high + bin, (weight >> 16) * number);
    atomicAdd(counts + bin, number);
  }
  // By any lanes of a warp: at once, where all have one bin and one weight.
  __device__ void add_alike(unsigned bin, unsigned weight) {
    const unsigned lanes = __activemask();
    int is_one_bin, is_one_weight;
    __match_all_sync(lanes, bin, &is_one_bin);
    __match_all_sync(lanes, weight, &is_one_weight);
    if (!is_one_bin || !is_one_weight) return add(bin, weight, true);
    if (static_cast<int>(threadIdx.x % parts::warp_threads) == __ffs(static_cast<int>(lanes)) - 1)
      add_many(bin, weight, static_cast<unsigned>(__popc(lanes)));
  }
  __device__ token_mass mass(unsigned bin) const {
    return {(static_cast<weight_sum>(high[bin]) << 16) + low[bin], counts[bin]};
  }
};

// Bins from `first` to `last`, which have the levels from `least` to `greatest`. What the bins before have.
struct level_window {
  unsigned first, last, least, greatest;
  token_mass before;

  __device__ bool has(unsigned level) const { return level - least <= greatest - least; }
};

// Of a block. Peers read bins and the list. They write extremes, groups, sizes, few tokens, and the last token of the
// cuts. The first block gathers listed tokens where its bins were.
struct level_memory {
  static constexpr unsigned num_bins = 2048, group_bins = parts::warp_threads, num_groups = num_bins / group_bins;
  static constexpr unsigned num_windows = 3, fine_bins = weight_bins::block_threads, few_tokens = 128;
  static constexpr unsigned most_blocks = cluster::parts::greatest_cluster_blocks, warps = weight_bins::warps;
  static constexpr unsigned list_capacity = 1536, gathered_capacity = 3072;
  static constexpr std::size_t most_items = std::size_t{1} << 16;  // of a block

  union {
    halved_bins<num_bins> bins;  // of the block's items; behind a meeting, sums up to a bin in its group
    candidate gathered[gathered_capacity];
  };
  halved_bins<fine_bins> fine[num_windows];
  token_mass groups[num_groups];
  token_mass of_warps[warps];
  int extremes_of_warps[warps][2], extremes[most_blocks][2];
  level_window windows[num_windows];
  unsigned sizes[most_blocks], size, num_left, num_few[num_windows], few_weights[few_tokens];
  candidate few[few_tokens], last;
  found_bin found;
  token_cut cut;
  row_blocks_memory blocks;

  static __host__ __device__ unsigned capacity(unsigned num_blocks) {
    return num_blocks > 1 ? list_capacity : gathered_capacity;
  }
};

template <class T, bool of_logits>
class level_search {
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, warps = memory::warps, counting_lanes = 4;
  static constexpr unsigned block_threads = weight_bins::block_threads, vector_items = held_share<T>::vector_items;
  static_assert(memory::few_tokens * counting_lanes == block_threads && memory::fine_bins == block_threads);

 public:
  enum { of_count, of_sum, of_draw };

  __device__ level_search(const held_share<T>& share, memory& own, candidate* list, row_blocks& group)
      : share_(share), own_(own), list_(list), group_(group), capacity_(memory::capacity(group.num_blocks())) {}

  // Reads the share. Returns the row's greatest item.
  __device__ float read() {
    float greatest = -INFINITY, least = INFINITY;
    share_.read_all(
        [&] {
          own_.bins.clear();
          for (auto& fine : own_.fine) fine.clear();
          if (threadIdx.x < memory::num_windows) own_.num_few[threadIdx.x] = 0;
          if (threadIdx.x == 0) own_.size = 0;
        },
        [&](const float(&values)[vector_items]) {
#pragma unroll
          for (unsigned i = 0; i < vector_items; ++i) {
            greatest = rounded::greater(greatest, values[i]);
            if (of_logits ? values[i] > -INFINITY : values[i] > 0) least = rounded::less(least, values[i]);
          }
        });
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    int extremes[2] = {ordered(greatest), ordered(least)};
    of_lanes(extremes);
    if (lane == 0) {
      own_.extremes_of_warps[warp][0] = extremes[0];
      own_.extremes_of_warps[warp][1] = extremes[1];
    }
    __syncthreads();
    group_.settle();
    if (warp == 0) {
      extremes[0] = own_.extremes_of_warps[lane % warps][0];
      extremes[1] = own_.extremes_of_warps[lane % warps][1];
      of_lanes(extremes);
      if (lane < group_.num_blocks()) {
        int* const there = group_.of_rank(own_.extremes[group_.rank()], lane);
        there[0] = extremes[0];
        there[1] = extremes[1];
      }
    }
    group_.meet();
    extremes[0] = own_.extremes[lane % group_.num_blocks()][0];
    extremes[1] = own_.extremes[lane % group_.num_blocks()][1];
    of_lanes(extremes);
    least_ = value_of(extremes[1]);
    return value_of(extremes[0]);
  }

  // Adds up weights in bins, and lists the tokens of the bins that cuts lie in. False if there are too many of them, in
  // all blocks alike.
  __device__ bool list(const row_levels<of_logits>& levels, unsigned least_level, const window_targets& targets) {
    least_level_ = least_level;
    const unsigned depth = most_level - max(levels.level(least_), least_level);
    shift_ = static_cast<unsigned>(max(32 - __clz(static_cast<int>(depth)) - weight_bins::digit_bits, 0));
    const bool counts = targets.top_k > 0;
    if (depth > 0) {
      share_.for_each([&](float value, unsigned) {
        unsigned level;
        const unsigned weight = levels.weight(value, level);
        if (level >= least_level) own_.bins.add((most_level - level) >> shift_, weight, counts);
      });
    } else {  // all tokens are equal
      unsigned number = 0;
      share_.for_each([&](float value, unsigned) { number += levels.level(value) >= least_level; });
      number = of_lanes(number, plus{});
      if (threadIdx.x % lanes == 0) own_.bins.add_many(0, most_weight, number);
    }
    group_.meet();
    merge();
    group_.meet();
    if (threadIdx.x < lanes) find_windows(targets);
    __syncthreads();
    total_ = own_.found.before;

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
    num_tokens_ = of_lanes(there, plus{});
    return !__any_sync(parts::full_mask, there > capacity_) && num_tokens_ <= memory::gathered_capacity;
  }
  // Of all tokens.
  __device__ const token_mass& total() const { return total_; }

  // By the first block: brings the listed tokens, and adds up their weights in finer bins.
  __device__ void gather(const row_levels<of_logits>& levels) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, num_blocks = group_.num_blocks();
    const auto add_token = [&](candidate token) {
      unsigned level;
      const unsigned weight = levels.weight(value_of_token(token), level);
#pragma unroll
      for (unsigned w = 0; w < memory::num_windows; ++w) {
        const level_window& window = own_.windows[w];
        if (window.has(level)) own_.fine[w].add((window.greatest - level) >> fine_shift(window), weight, true);
      }
    };
    if (num_blocks == 1) {
      tokens_ = list_;
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < num_tokens_; i += block_threads) add_token(list_[i]);
    } else {
      // A warp has one peer, with others where there are fewer peers.
      tokens_ = own_.gathered;
      const unsigned size = lane < num_blocks ? own_.sizes[lane % num_blocks] : 0, peer = warp % num_blocks;
      const unsigned num_there = __shfl_sync(parts::full_mask, size, peer);
      candidate* const to = own_.gathered + of_lanes(lane < peer ? size : 0, plus{});
      const candidate* const there = group_.of_rank(list_, peer);
#pragma unroll 1
      for (unsigned i = warp / num_blocks * lanes + lane; i < num_there; i += block_threads / num_blocks) {
        const candidate token = there[i];
        to[i] = token;
        add_token(token);
      }
    }
    __syncthreads();
  }
  // By the first block: the token of a window with which `target` is reached, of weights or of tokens.
  __device__ token_cut find(unsigned w, weight_sum target, const row_levels<of_logits>& levels) {
    const bool by_count = w == of_count;
    const level_window window = own_.windows[w];
    halved_bins<memory::fine_bins>& fine = own_.fine[w];
    weight_sum needed = target - window.before.measure(by_count), sum_before = window.before.sum;
    found_bin found = find_fine<false>(fine, by_count, needed);
    unsigned num_left = fine.counts[found.bin];
    needed -= found.before.measure(by_count);
    sum_before += found.before.sum;
    const unsigned shift = fine_shift(window), greatest = window.greatest - (found.bin << shift),
                   least = max(window.greatest - min(window.greatest, ((found.bin + 1) << shift) - 1), window.least);
    candidate low = 0, high = ~candidate{0};
    const auto is_left = [&](candidate token) {
      if (token < low || token > high) return false;
      return levels.level(value_of_token(token)) - least <= greatest - least;
    };
#pragma unroll 1
    while (num_left > memory::few_tokens) {  // as of equal items
      candidate least_left = ~candidate{0}, greatest_left = 0;
      for_each_token([&](candidate token) {
        if (!is_left(token)) return;
        if (token < least_left) least_left = token;
        if (token > greatest_left) greatest_left = token;
      });
      group_.template share_extremes<false>(least_left, greatest_left);
      fine.clear();
      __syncthreads();
      low = least_left;
      high = greatest_left;
      constexpr int digit_bits = 9;
      static_assert(memory::fine_bins == 1 << digit_bits);
      const int span = 64 - __clzll(static_cast<long long>(high - low));
      const int finer = span > digit_bits ? span - digit_bits : 0;
      for_each_token([&](candidate token) {
        if (is_left(token))
          fine.add(static_cast<unsigned>((high - token) >> finer),
                   weight_of_level<of_logits>(levels.level(value_of_token(token))), true);
      });
      __syncthreads();
      found = find_fine<false>(fine, by_count, needed);
      num_left = fine.counts[found.bin];
      needed -= found.before.measure(by_count);
      sum_before += found.before.sum;
      high -= static_cast<candidate>(found.bin) << finer;
      const candidate width = (candidate{1} << finer) - 1;
      if (high - low > width) low = high - width;
    }
    for_each_token([&](candidate token) {
      if (!is_left(token)) return;
      const unsigned place = atomicAdd(own_.num_few + w, 1u);
      own_.few[place] = token;
      own_.few_weights[place] = weight_of_level<of_logits>(levels.level(value_of_token(token)));
    });
    __syncthreads();
    return among_few(num_left, by_count, needed, sum_before);
  }
  // The same by all blocks, among the tokens of their shares. Nothing has to be listed.
  __device__ token_cut find_in_shares(unsigned w, weight_sum target, const row_levels<of_logits>& levels) {
    const bool by_count = w == of_count;
    const level_window window = own_.windows[w];
    halved_bins<memory::fine_bins>& fine = own_.fine[w];
    const auto for_each_token = [&](auto take) {
      share_.for_each([&](float value, unsigned column) {
        const unsigned level = levels.level(value);
        if (window.has(level)) take(token_candidate(value, column), level);
      });
    };
    const unsigned shift = fine_shift(window);
    // Levels of equal items tell nothing.
    const bool is_one_level = window.least == window.greatest;
    if (!is_one_level) {
      for_each_token([&](candidate, unsigned level) {
        fine.add_alike((window.greatest - level) >> shift, weight_of_level<of_logits>(level));
      });
      group_.meet();
    }
    weight_sum needed = target - window.before.measure(by_count), sum_before = window.before.sum;
    const auto look_through = [&] {
      const found_bin found = find_fine<true>(fine, by_count, needed);
      needed -= found.before.measure(by_count);
      sum_before += found.before.sum;
      return found.bin;
    };
    const unsigned bin = is_one_level ? 0 : look_through(), greatest = window.greatest - (bin << shift),
                   least = max(window.greatest - min(window.greatest, ((bin + 1) << shift) - 1), window.least);
    candidate low = 0, high = ~candidate{0};
    const auto for_each_left = [&](auto take) {
      for_each_token([&](candidate token, unsigned level) {
        if (token >= low && token <= high && level - least <= greatest - least) take(token, level);
      });
    };
#pragma unroll 1
    for (bool is_first = is_one_level; is_first || own_.num_left > memory::few_tokens; is_first = false) {
      candidate least_left = ~candidate{0}, greatest_left = 0;
      for_each_left([&](candidate token, unsigned) {
        if (token < least_left) least_left = token;
        if (token > greatest_left) greatest_left = token;
      });
      group_.template share_extremes<true>(least_left, greatest_left);  // peers have read bins, too
      fine.clear();
      __syncthreads();
      low = least_left;
      high = greatest_left;
      constexpr int digit_bits = 9;
      static_assert(memory::fine_bins == 1 << digit_bits);
      const int span = 64 - __clzll(static_cast<long long>(high - low));
      const int finer = span > digit_bits ? span - digit_bits : 0;
      for_each_left([&](candidate token, unsigned level) {
        fine.add_alike(static_cast<unsigned>((high - token) >> finer), weight_of_level<of_logits>(level));
      });
      group_.meet();
      high -= static_cast<candidate>(look_through()) << finer;
      const candidate width = (candidate{1} << finer) - 1;
      if (high - low > width) low = high - width;
    }
    // Each block has the few, wherever they come from.
    for_each_left([&](candidate token, unsigned level) {
      const unsigned place = atomicAdd(group_.of_rank(own_.num_few + w, 0), 1u);
      const unsigned weight = weight_of_level<of_logits>(level);
#pragma unroll 1
      for (unsigned rank = 0; rank < group_.num_blocks(); ++rank) {
        *group_.of_rank(own_.few + place, rank) = token;
        *group_.of_rank(own_.few_weights + place, rank) = weight;
      }
    });
    group_.meet();
    return among_few(own_.num_left, by_count, needed, sum_before);
  }

 private:
  // Integers in the order of floats.
  static __device__ int ordered(float value) {
    const int bits = static_cast<int>(rounded::bits_of(value));
    return bits < 0 ? bits ^ 0x7fffffff : bits;
  }
  static __device__ float value_of(int ordered) {
    return rounded::of_bits(static_cast<unsigned>(ordered < 0 ? ordered ^ 0x7fffffff : ordered));
  }
  template <class Number, class ReductionOpT>
  static __device__ Number of_lanes(Number number, ReductionOpT reduction_op) {
    return __shfl_sync(parts::full_mask, parts::warp_reduce(number, reduction_op), 0);
  }
  // The greatest first and the least second of all lanes, in all of them.
  static __device__ void of_lanes(int (&extremes)[2]) {
    extremes[0] = of_lanes(extremes[0], maximum{});
    extremes[1] = of_lanes(extremes[1], minimum{});
  }
  static __device__ void add(token_mass& to, const token_mass& other) {
    to.sum += other.sum;
    to.count += other.count;
  }
  static __device__ token_mass mass_up_to(token_mass mass) {
#pragma unroll
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const weight_sum sum = __shfl_up_sync(parts::full_mask, mass.sum, distance);
      const unsigned count = __shfl_up_sync(parts::full_mask, mass.count, distance);
      if (threadIdx.x % lanes >= distance) add(mass, {sum, count});
    }
    return mass;
  }
  static __device__ token_mass of_lane(const token_mass& mass, unsigned lane) {
    return {__shfl_sync(parts::full_mask, mass.sum, lane), __shfl_sync(parts::full_mask, mass.count, lane)};
  }
  static __device__ unsigned first_lane(bool is_wanted) {
    return static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(parts::full_mask, is_wanted)))) - 1;
  }

  // Adds up all blocks' sums of the block's groups of bins, as sums up to each bin of a group.
  __device__ void merge() {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, num_blocks = group_.num_blocks();
    const unsigned of_block = memory::num_groups / num_blocks;
#pragma unroll 1
    for (unsigned g = group_.rank() * of_block + warp; g < (group_.rank() + 1) * of_block; g += warps) {
      const unsigned bin = g * memory::group_bins + lane;
      token_mass mass{0, 0};
#pragma unroll 8
      for (unsigned i = 0; i < num_blocks; ++i)  // each block begins with another one
        add(mass, group_.of_rank(&own_.bins, (group_.rank() + i) & (num_blocks - 1))->mass(bin));
      mass = mass_up_to(mass);
      // As words of the sum from now on.
      own_.bins.low[bin] = static_cast<unsigned>(mass.sum);
      own_.bins.high[bin] = static_cast<unsigned>(mass.sum >> 32);
      own_.bins.counts[bin] = mass.count;
      const token_mass of_group = of_lane(mass, lanes - 1);
      if (lane < num_blocks) *group_.of_rank(own_.groups + g, lane) = of_group;
    }
  }
  // Of a bin in its group, from the block that has it.
  __device__ token_mass merged(unsigned bin) const {
    const auto& there = *group_.of_rank(&own_.bins, bin / (memory::num_bins / group_.num_blocks()));
    return {static_cast<weight_sum>(there.high[bin]) << 32 | there.low[bin], there.counts[bin]};
  }

  struct reached_bin {
    unsigned bin;
    token_mass before, with;
  };
  // By a warp, each lane of which has two groups, and what comes before these.
  __device__ reached_bin reach(const token_mass& before_lane, const token_mass& first, const token_mass& second,
                               bool by_count, weight_sum target) const {
    token_mass before = before_lane;
    const weight_sum up_to_first = before.measure(by_count) + first.measure(by_count);
    const unsigned owner = first_lane(target <= up_to_first + second.measure(by_count));
    const bool is_second = target > up_to_first;
    if (is_second) add(before, first);
    const unsigned g = 2 * owner + __shfl_sync(parts::full_mask, static_cast<unsigned>(is_second), owner);
    before = of_lane(before, owner);
    const unsigned lane = threadIdx.x % lanes;
    const token_mass up_to = merged(g * memory::group_bins + lane);
    const unsigned bin = first_lane(target <= before.measure(by_count) + up_to.measure(by_count));
    token_mass below = of_lane(up_to, bin > 0 ? bin - 1 : 0), with = of_lane(up_to, bin);
    if (bin == 0) below = {0, 0};
    add(below, before);
    add(with, before);
    return {g * memory::group_bins + bin, below, with};
  }
  __device__ unsigned greatest_level(unsigned bin) const { return most_level - (bin << shift_); }
  __device__ unsigned least_level(unsigned bin) const {
    return max(most_level - ((bin + 1) << shift_) + 1, least_level_);
  }
  // Leaves the mass of all tokens in `found`.
  __device__ void find_windows(const window_targets& targets) {
    const unsigned lane = threadIdx.x % lanes;
    const token_mass first = own_.groups[2 * lane], second = own_.groups[2 * lane + 1];
    token_mass of_lane_pair = first;
    add(of_lane_pair, second);
    const token_mass up_to = mass_up_to(of_lane_pair), total = of_lane(up_to, lanes - 1);
    const token_mass before{up_to.sum - of_lane_pair.sum, up_to.count - of_lane_pair.count};
    const auto find = [&](bool by_count, weight_sum target) { return reach(before, first, second, by_count, target); };
    const auto note = [&](unsigned w, const reached_bin& from, const reached_bin& to) {
      if (lane == 0) own_.windows[w] = {from.bin, to.bin, least_level(to.bin), greatest_level(from.bin), from.before};
    };
    const auto between = [&](unsigned w, weight_sum least, weight_sum most) {
      const reached_bin from = find(false, least), to = most <= from.with.sum ? from : find(false, most);
      note(w, from, to);
      return from;
    };
    if (lane < memory::num_windows) own_.windows[lane] = {1, 0, most_level + 1, most_level + 1, {0, 0}};  // none
    if (lane == 0) own_.found.before = total;
    __syncwarp();
    weight_sum least = total.sum, most = total.sum;  // what is kept
    if (targets.top_k > 0) {
      const unsigned number = min(targets.top_k, total.count);
      const reached_bin at = find(true, number);
      note(of_count, at, at);
      const weight_sum needed = number - at.before.count;
      least = at.before.sum + needed * weight_of_level<of_logits>(least_level(at.bin));
      most = min(at.with.sum, at.before.sum + needed * weight_of_level<of_logits>(greatest_level(at.bin)));
    }
    if (targets.by_sum) {
      if (targets.cuts_by_sum) {
        least = share_of_sum(least, targets.sum_share);
        most = share_of_sum(most, targets.sum_share);
      }
      const reached_bin from = between(of_sum, least, most);
      most = min(total.sum, most - 1 + weight_of_level<of_logits>(greatest_level(from.bin)));
    }
    if (targets.draws) between(of_draw, draw_target(least, targets.fraction), draw_target(most, targets.fraction));
  }

  static __device__ unsigned fine_shift(const level_window& window) {
    const int bits = 32 - __clz(static_cast<int>(window.greatest - window.least));
    constexpr int digit_bits = 9;
    return static_cast<unsigned>(max(bits - digit_bits, 0));
  }
  // A thread a bin. Behind a barrier, and it leaves behind one. Where all blocks look, it leaves the number of the
  // bin's tokens.
  template <bool across>
  __device__ found_bin find_fine(const halved_bins<memory::fine_bins>& fine, bool by_count, weight_sum target) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    token_mass mass = fine.mass(threadIdx.x);
    if constexpr (across)
      for (unsigned i = 1; i < group_.num_blocks(); ++i)
        add(mass, group_.of_rank(&fine, (group_.rank() + i) & (group_.num_blocks() - 1))->mass(threadIdx.x));
    const token_mass up_to = mass_up_to(mass);
    if (lane == lanes - 1) own_.of_warps[warp] = up_to;
    __syncthreads();
    token_mass before = lane < warp ? own_.of_warps[lane % warps] : token_mass{0, 0};
    before.count = of_lanes(before.count, plus{});
    before.sum = row_blocks::sum_of_lanes<lanes>(before.sum);
    add(before, {up_to.sum - mass.sum, up_to.count - mass.count});
    if (before.measure(by_count) < target && target <= before.measure(by_count) + mass.measure(by_count)) {
      own_.found = {threadIdx.x, before};
      if constexpr (across) own_.num_left = mass.count;
    }
    __syncthreads();
    return own_.found;
  }
  template <class Take>
  __device__ void for_each_token(Take take) const {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < num_tokens_; i += block_threads) take(tokens_[i]);
  }
  // Four lanes add up what comes up to a token.
  __device__ token_cut among_few(unsigned size, bool by_count, weight_sum needed, weight_sum sum_before) {
    const unsigned index = threadIdx.x / counting_lanes;
    if (threadIdx.x / lanes * (lanes / counting_lanes) < size) {
      const candidate own = index < size ? own_.few[index] : 0;
      const unsigned own_weight = index < size ? own_.few_weights[index] : 0;
      token_mass up_to{0, 0};
#pragma unroll 1
      for (unsigned other = threadIdx.x % counting_lanes; other < size; other += counting_lanes)
        if (own_.few[other] >= own) add(up_to, {own_.few_weights[other], 1});
#pragma unroll
      for (unsigned distance = 1; distance < counting_lanes; distance *= 2) {
        up_to.sum += __shfl_xor_sync(parts::full_mask, up_to.sum, distance);
        up_to.count += __shfl_xor_sync(parts::full_mask, up_to.count, distance);
      }
      const weight_sum reached = up_to.measure(by_count), without = reached - (by_count ? 1 : own_weight);
      if (own_weight != 0 && threadIdx.x % counting_lanes == 0 && without < needed && needed <= reached)
        own_.cut = {own, sum_before + up_to.sum};
    }
    __syncthreads();
    return own_.cut;
  }

  const held_share<T>& share_;
  memory& own_;
  candidate* const list_;
  row_blocks& group_;
  const unsigned capacity_;
  float least_ = 0;
  unsigned least_level_ = 1, shift_ = 0;
  token_mass total_{0, 0};
  const candidate* tokens_ = nullptr;
  unsigned num_tokens_ = 0;
};

}  // namespace rungs::RUNGS_ABI::production
