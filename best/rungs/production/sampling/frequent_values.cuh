// Cuts and the draw in windows that have too many tokens for a list, as most of them have one of a few values.
//
// A sample of the row tells which values these are. Their tokens are counted, by where the columns are. All others of
// the windows are listed. So the order is that of lists, with one of the frequent values between two of them. A cut in
// a frequent value is a number of its tokens, in the order of columns. Counts tell in which part of the row it is, and
// that part is read again.
#pragma once

#include <cmath>
#include <cstdint>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// Of a block. Peers read counts, and write sizes.
struct frequent_memory {
  static constexpr unsigned most_values = 4, num_bins = weight_bins::block_threads;
  halved_bins<num_bins> fine;
  unsigned counts[most_values][num_bins];  // of the block's tokens of a value, by their columns
  token_mass of_warps[weight_bins::warps];
  candidate votes[most_values];
  unsigned totals[most_values];  // of the row
  float values[most_values];     // from the greatest to the least
  unsigned num_values, size, sizes[cluster::parts::greatest_cluster_blocks];
  unsigned bin, number;
  found_bin found;
};

// A block's list, and that of the tokens of all blocks, which is the same where there is one block.
struct frequent_lists {
  candidate* own;
  unsigned capacity;
  candidate* gathered;
  unsigned gathered_capacity;
};

// All threads of all blocks call each function. `Windows` tells whether a value is in a window, and what is before it.
template <class Share, bool of_logits, class Windows>
class frequent_search {
  using memory = frequent_memory;
  static constexpr unsigned lanes = parts::warp_threads, block_threads = weight_bins::block_threads,
                            warps = weight_bins::warps;
  static constexpr unsigned vector_items = Share::vector_items;

 public:
  __device__ frequent_search(const Share& share, const row_levels<of_logits>& levels, const Windows& windows,
                             memory& own, const frequent_lists& lists, row_blocks& group)
      : share_(share), levels_(levels), windows_(windows), own_(own), lists_(lists), group_(group) {
    while ((share.num_segments() - 1) >> shift_ >= memory::num_bins) ++shift_;
  }

  // Cuts and the draw, each in its window. False where lists have no room, or a window does not hold its cut.
  __device__ bool cut(const window_targets& targets, const token_mass& total, row_cuts& cuts) {
    return list_others() && find_cuts(targets, total, cuts, [&](unsigned w, weight_sum target, token_cut& found) {
             return find(w, w == window_targets::of_count, target, found);
           });
  }

  // Has to come first. False if there are too many tokens for the lists that have none of the frequent values. They are
  // too many where no value is frequent, so that nothing is read then but the sample.
  __device__ bool list_others() {
    choose();
    return own_.num_values > 0 && list();
  }
  // The cut of a window that reaches `target`, of weights or of tokens. False if the window does not hold it.
  __device__ bool find(unsigned w, bool by_count, weight_sum target, token_cut& found) {
    token_mass before = windows_.before(w);
    if (target <= before.measure(by_count)) return false;
    candidate high = ~candidate{0};
#pragma unroll 1
    for (unsigned i = 0;; ++i) {
      // Listed tokens from the frequent value before to the next one.
      const bool is_last = i == own_.num_values;
      const candidate low = is_last ? 0 : token_candidate(own_.values[i], 0) + 1;  // column 0 is the first of equals
      token_mass listed{0, 0};
      for_each_token(w, low, high, [&](candidate, float value) { add(listed, {weight_of(value), 1}); });
      listed = sum_of_block(listed);
      const weight_sum needed = target - before.measure(by_count);
      if (needed <= listed.measure(by_count)) {
        found = narrow(w, low, high, by_count, needed, before.sum);
        return true;
      }
      add(before, listed);
      if (is_last) return false;
      const float value = own_.values[i];
      if (windows_.has(w, value)) {
        const weight_sum weight = weight_of(value), left = target - before.measure(by_count),
                         number = by_count ? left : (left + weight - 1) / weight;
        if (number <= own_.totals[i]) {
          const unsigned column = column_of(i, static_cast<unsigned>(number));
          found = {token_candidate(value, column), before.sum + number * weight};
          return true;
        }
        add(before, {own_.totals[i] * weight, own_.totals[i]});
      }
      high = token_candidate(value, ~0u) - 1;  // below all tokens of the value
    }
  }

 private:
  // Finds frequent values of the windows in a sample, which is the same in all blocks. Each thread has one value of it,
  // and a warp's most frequent one stands for a vote.
  __device__ void choose() {
    constexpr unsigned least_alike = 3;
    uint4 sampled[4];
    share_.sample(sampled);
    own_.fine.clear();
    for (auto& of_value : own_.counts) of_value[threadIdx.x] = 0;
    if (threadIdx.x < memory::most_values) own_.votes[threadIdx.x] = 0;
    if (threadIdx.x == 0) own_.num_values = own_.size = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned round = 0; round < memory::most_values; ++round) {
      float own = NAN;
      for (const uint4& vector : sampled)
        Share::for_each_in(vector, [&](float value) {
          if (own != own && windows_.has(value) && !is_frequent(value)) own = value == 0 ? 0 : value;
        });
      const unsigned bits = rounded::bits_of(own);
      const auto alike = static_cast<unsigned>(__popc(__match_any_sync(parts::full_mask, bits)));
      if (own == own && alike >= least_alike) atomicMax(&own_.votes[round], static_cast<candidate>(alike) << 32 | bits);
      __syncthreads();
      const candidate vote = own_.votes[round];
      if (vote == 0) break;
      if (threadIdx.x == 0) {
        float value = rounded::of_bits(static_cast<unsigned>(vote));
        for (unsigned i = 0; i < round; ++i) {
          const float other = own_.values[i];
          own_.values[i] = rounded::greater(other, value);
          value = rounded::less(other, value);
        }
        own_.values[round] = value;
        own_.num_values = round + 1;
      }
      __syncthreads();
    }
  }
  __device__ bool is_frequent(float value) const {
    bool is_one = false;
    for (unsigned i = 0; i < own_.num_values; ++i) is_one |= value == own_.values[i];
    return is_one;
  }

  // Lists what is in windows but not frequent, and counts what is frequent. False if there are too many for the lists.
  __device__ bool list() {
    static_assert(memory::most_values == 4 && Share::segment_columns <= 0xffff);
    const unsigned num_values = own_.num_values;
    float frequent[memory::most_values];
#pragma unroll
    for (unsigned i = 0; i < memory::most_values; ++i) frequent[i] = i < num_values ? own_.values[i] : NAN;
    bool is_full = false;
    share_.template for_each_vector<1>([&](const auto& values, unsigned first) {
      unsigned numbers[2] = {0, 0};  // of two values each
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        const float value = values[i];
        const unsigned low = (value == frequent[0]) | (value == frequent[1]) << 16,
                       high = (value == frequent[2]) | (value == frequent[3]) << 16;
        numbers[0] += low;
        numbers[1] += high;
        if ((low | high) != 0 || is_full || !windows_.has(value)) continue;
        const unsigned place = atomicAdd(&own_.size, 1u);
        is_full = place >= lists_.capacity;
        if (!is_full) lists_.own[place] = token_candidate(value, first + i);
      }
      const unsigned bin = share_.segment_of(first) >> shift_;
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned sum = parts::warp_reduce(numbers[i], plus{});
        if (threadIdx.x % lanes != 0) continue;
        if ((sum & 0xffff) != 0) atomicAdd(&own_.counts[2 * i][bin], sum & 0xffff);
        if (sum >> 16 != 0) atomicAdd(&own_.counts[2 * i + 1][bin], sum >> 16);
      }
    });
    __syncthreads();
    const unsigned num_blocks = group_.num_blocks(), warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    group_.settle();
    if (threadIdx.x < num_blocks) *group_.of_rank(own_.sizes + group_.rank(), threadIdx.x) = own_.size;
    group_.meet();
    const unsigned size = lane < num_blocks ? own_.sizes[lane % num_blocks] : 0, behind = mass_up_to({0, size}).count;
    num_tokens_ = __shfl_sync(parts::full_mask, behind, lanes - 1);
    if (__any_sync(parts::full_mask, size > lists_.capacity) || num_tokens_ > lists_.gathered_capacity) return false;
    if (num_blocks > 1) {  // a warp copies from one peer, with others where there are fewer peers
      const unsigned peer = warp % num_blocks, num_there = __shfl_sync(parts::full_mask, size, peer);
      candidate* const to = lists_.gathered + __shfl_sync(parts::full_mask, behind - size, peer);
      const candidate* const there = group_.of_rank(lists_.own, peer);
#pragma unroll 1
      for (unsigned i = warp / num_blocks * lanes + lane; i < num_there; i += block_threads / num_blocks)
        to[i] = there[i];
    }
#pragma unroll 1
    for (unsigned i = 0; i < num_values; ++i) {
      const token_mass total = sum_of_block({0, count_of_bin(i)});
      if (threadIdx.x == 0) own_.totals[i] = total.count;
    }
    group_.meet();
    return true;
  }
  // Of all blocks' tokens of a value, in the bin that is the thread's.
  __device__ unsigned count_of_bin(unsigned value) const {
    unsigned count = 0;
#pragma unroll 1
    for (unsigned i = 0; i < group_.num_blocks(); ++i)  // each block begins with another one
      count += *group_.of_rank(&own_.counts[value][threadIdx.x], (group_.rank() + i) & (group_.num_blocks() - 1));
    return count;
  }
  __device__ token_mass sum_of_block(token_mass mass) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    mass = mass_of_lane(mass_up_to(mass), lanes - 1);
    if (lane == 0) own_.of_warps[warp] = mass;
    __syncthreads();
    mass = lane < warps ? own_.of_warps[lane % warps] : token_mass{0, 0};
    __syncthreads();
    return mass_of_lane(mass_up_to(mass), lanes - 1);
  }
  // Finds the thread whose mass reaches the target, and what is before it.
  __device__ found_bin reach(const token_mass& mass, bool by_count, weight_sum target) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const token_mass up_to = mass_up_to(mass);
    if (lane == lanes - 1) own_.of_warps[warp] = up_to;
    __syncthreads();
    token_mass before =
        mass_of_lane(mass_up_to(lane < warp ? own_.of_warps[lane % warps] : token_mass{0, 0}), lanes - 1);
    add(before, {up_to.sum - mass.sum, up_to.count - mass.count});
    if (before.measure(by_count) < target && target <= before.measure(by_count) + mass.measure(by_count))
      own_.found = {threadIdx.x, before};
    __syncthreads();
    const found_bin found = own_.found;
    __syncthreads();
    return found;
  }
  __device__ unsigned weight_of(float value) const { return weight_of_level<of_logits>(levels_.level(value)); }

  // take(token, value) for each of the thread's gathered tokens of a window, from `low` to `high`.
  template <class Take>
  __device__ void for_each_token(unsigned w, candidate low, candidate high, Take take) const {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < num_tokens_; i += block_threads) {
      const candidate token = lists_.gathered[i];
      const float value = value_of_token(token);
      if (token >= low && token <= high && windows_.has(w, value)) take(token, value);
    }
  }
  // The cut among listed tokens, by bins of their places in the order.
  __device__ token_cut narrow(unsigned w, candidate low, candidate high, bool by_count, weight_sum needed,
                              weight_sum sum_before) {
    for (;;) {
      candidate least = ~candidate{0}, greatest = 0;
      for_each_token(w, low, high, [&](candidate token, float) {
        least = min(least, token);
        greatest = max(greatest, token);
      });
      group_.template share_extremes<false>(least, greatest);
      low = least;
      high = greatest;
      if (low == high) break;
      constexpr int digit_bits = 9;
      static_assert(memory::num_bins == 1 << digit_bits);
      const int shift = max(64 - __clzll(static_cast<long long>(high - low)) - digit_bits, 0);
      own_.fine.clear();
      __syncthreads();
      for_each_token(w, low, high, [&](candidate token, float value) {
        own_.fine.add(static_cast<unsigned>((high - token) >> shift), weight_of(value), true);
      });
      __syncthreads();
      const found_bin fine = reach(own_.fine.mass(threadIdx.x), by_count, needed);
      needed -= fine.before.measure(by_count);
      sum_before += fine.before.sum;
      high -= static_cast<candidate>(fine.bin) << shift;
      const candidate width = (candidate{1} << shift) - 1;
      if (high - low > width) low = high - width;
    }
    return {high, sum_before + weight_of(value_of_token(high))};
  }
  // The column of a frequent value's `number`th token.
  __device__ unsigned column_of(unsigned value, unsigned number) {
    const found_bin bin = reach({0, count_of_bin(value)}, true, number);
    group_.meet();
    number -= bin.before.count;
    const float wanted = own_.values[value];
    unsigned first = share_.first_column(bin.bin << shift_);
#pragma unroll 4
    for (;; first += lanes) {  // each warp finds the same
      const unsigned alike = __ballot_sync(parts::full_mask, share_.value_at(first + threadIdx.x % lanes) == wanted);
      const auto count = static_cast<unsigned>(__popc(alike));
      if (number <= count) {
        unsigned left = alike;
        for (; number > 1; --number) left &= left - 1;
        return first + static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
      }
      number -= count;
    }
  }

  const Share& share_;
  const row_levels<of_logits> levels_;
  const Windows& windows_;
  memory& own_;
  const frequent_lists lists_;
  row_blocks& group_;
  unsigned num_tokens_ = 0, shift_ = 0;
};

}  // namespace rungs::RUNGS_ABI::production
