// The greatest k of one long row of 64-bit keys, by one read of it.
//
//   sample   a block reads 8,192 candidates at places that a hash spreads. Two of them are bounds. At least k of
//            the row reach the lower one; where k is large, fewer than k reach the upper one.
//   gather   all blocks read the row. What reaches the upper bound belongs to the k. What lies between is gathered.
//   ...      the same for those gathered, until few are left
//   select   a block finds the k of the few digit by digit. A row of up to 16 Ki begins here.
//   sort     blocks sort tiles of the few. A row of up to 4 Ki begins here.
//   rank     each of the few looks up in all tiles how many come before it
//
// Where few are left it is faster to rank all of them, and none are selected.
//
// No two candidates are equal, since the column decides between equal keys. So the keys' values do not matter: the
// bounds are as tight for many equal keys as for random ones.
//
// The bounds hold with five standard deviations. Where one fails, the launch that selects or sorts reads the row digit
// by digit. Its blocks draw tiles, and wait only for tiles that others have drawn. So it ends with any number of
// blocks.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/long_results.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// A key by its order, and the complement of its column. Of equal keys the one with more of these comes first.
struct alignas(16) placed_key {
  unsigned long long key;
  unsigned before;

  __device__ bool reaches(const placed_key& bound) const {
    return key > bound.key || (key == bound.key && before >= bound.before);
  }
  __device__ unsigned column() const { return ~before; }
  __device__ unsigned bits_from(int shift) const {  // of 96
    return static_cast<unsigned>(shift >= 32 ? key >> (shift - 32) : key << (32 - shift)) |
           (shift < 32 ? before >> shift : 0);
  }
};

struct sampled_row {
  static constexpr int sampling_threads = 1024, samples_per_thread = 8;
  static constexpr unsigned most_samples = sampling_threads * samples_per_thread;
  static constexpr int gathering_threads = block_selection::block_threads;
  static constexpr unsigned least_chosen_from = 4096;    // where fewer are left, all of them stay
  static constexpr unsigned most_columns_left = 16'384;  // of a row that is not sampled
  static constexpr unsigned most_left = 40'960;          // candidates that rounds may leave
  static constexpr std::size_t most_ranked_k = 4096;     // up to it, none are chosen before the last launch
  static constexpr int most_rounds = 6,
                       num_digits = (96 + block_selection::digit_bits - 1) / block_selection::digit_bits;
  static constexpr unsigned num_bins = static_cast<unsigned>(num_digits) << block_selection::digit_bits;
  static constexpr double deviations = 5, least_distance = 4;
};

// The place of sample i of `num_samples`, of `size` candidates: anywhere in the i-th of equal shares.
__host__ __device__ inline unsigned sampled_place(unsigned i, unsigned num_samples, unsigned size) {
  const auto begin = static_cast<unsigned>(static_cast<unsigned long long>(size) * i / num_samples);
  const auto end = static_cast<unsigned>(static_cast<unsigned long long>(size) * (i + 1) / num_samples);
  unsigned word = (i + 1) * 0x9e3779b1u;
  word = (word ^ word >> 15) * 0x85ebca77u;
  word = (word ^ word >> 13) * 0xc2b2ae3du;
  word ^= word >> 16;
  return begin + static_cast<unsigned>(static_cast<unsigned long long>(word) * (end - begin) >> 32);
}

// How many samples are to reach each bound. A bound may miss it by `slack`, to the safe side.
struct sampled_ranks {
  unsigned lower, upper, slack;

  __host__ __device__ sampled_ranks(double needed, double size, double num_samples) {
    const double expected = needed * num_samples / size;
    const double share = expected / num_samples;
    const double distance =
        sampled_row::deviations * sqrt(expected * (share < 1 ? 1 - share : 0.)) + sampled_row::least_distance;
    lower = static_cast<unsigned>(expected + distance) + 1;
    upper = expected > distance ? static_cast<unsigned>(expected - distance) : 0;
    slack = static_cast<unsigned>(distance / 4);
  }
};

// What a round leaves: its bounds, and how many candidates are where.
struct sampled_round {
  placed_key lower, upper;
  unsigned needed;    // how many of the round's candidates belong to the k
  unsigned gathered;  // between the bounds
  unsigned chosen;    // reach the upper bound
  bool failed;
};

// A read of the row where a round failed.
struct sampled_pass {
  unsigned drawn, done;  // tiles
};

struct sampled_state {
  sampled_round rounds[sampled_row::most_rounds];
  sampled_pass passes[sampled_row::num_digits + 1];
  unsigned collected;
};

struct sampled_plan {
  candidate_layout layout;
  std::size_t k;
  unsigned num_columns, num_parts, num_rounds;
  bool ranks_all;  // none are chosen before the last launches
  bool selects;    // the k of those left
  unsigned rooms[sampled_row::most_rounds];
  sampled_state* d_state;
  unsigned* d_bins;         // of each digit
  placed_key* d_places[2];  // rounds take turns

  __host__ __device__ placed_key* gathered_by(unsigned round) const { return d_places[round % 2]; }
  __host__ __device__ placed_key* selected() const { return gathered_by(num_rounds); }
  __device__ unsigned begin_of(unsigned part) const {
    constexpr unsigned unit = 64;
    if (part == num_parts) return num_columns;
    return static_cast<unsigned>(static_cast<unsigned long long>(num_columns / unit) * part / num_parts) * unit;
  }
};

// Whether a round left what the next one needs.
__device__ inline bool is_complete(const sampled_round& round, unsigned room) {
  return !round.failed && round.chosen <= round.needed && round.needed - round.chosen <= round.gathered &&
         round.gathered <= room;
}

// What is to be selected of or ranked: the row, what the rounds left, or the k.
struct sampled_left {
  placed_key* candidates;
  unsigned size, needed;
  bool failed;  // the k are to be found in the row

  static __device__ sampled_left all_k(placed_key* places, const sampled_plan& plan, bool failed) {
    const auto k = static_cast<unsigned>(plan.k);
    return {places, k, k, failed};
  }
  static __device__ sampled_left by_rounds(const sampled_plan& plan) {
    const unsigned last = plan.num_rounds - 1;
    const sampled_round& round = plan.d_state->rounds[last];
    placed_key* const gathered = plan.gathered_by(last);
    if (!is_complete(round, plan.rooms[last])) return all_k(gathered, plan, true);
    return {gathered, round.gathered, round.needed - round.chosen, false};
  }
  static __device__ sampled_left to_rank(const sampled_plan& plan) {
    if (plan.selects) return all_k(plan.selected(), plan, false);
    if (plan.num_rounds == 0) return {plan.d_places[0], plan.num_columns, static_cast<unsigned>(plan.k), false};
    return by_rounds(plan);
  }
};

// The bits of a key from its order, as bits_of.
template <class Order>
__device__ bool wide_bits_of(const Order& order, unsigned long long key, typename Order::Storage& raw) {
  unsigned long long word = key ^ order.flip;
  if constexpr (Order::is_float) {
    word = word > Order::sign ? word - Order::sign : 0ull - word;
    const unsigned long long magnitude = word & ~Order::sign;
    if (magnitude == 0 || magnitude > order.infinity) return false;
  }
  raw = word;
  return true;
}

// Where the results go: to the output, or to be sorted.
template <class Order, class Output>
struct output_results {
  Order order;
  Output output;

  __device__ void operator()(std::size_t rank, const placed_key& each) const {
    typename Order::Storage raw;
    if (wide_bits_of(order, each.key, raw))
      output.write(0, rank, each.column(), raw);
    else
      output.write(0, rank, each.column());
  }
};
struct sortable_results {
  candidate_layout layout;
  wide_candidate* d_candidates;

  __device__ void operator()(std::size_t rank, const placed_key& each) const {
    d_candidates[rank] = layout.make(each.key, each.column());
  }
};
struct placed_results {
  placed_key* d_places;

  __device__ void operator()(std::size_t rank, const placed_key& each) const { d_places[rank] = each; }
};

// --- sample

// The samples of a block, in registers.
struct block_samples {
  placed_key own[sampled_row::samples_per_thread];
  unsigned size;

  static __device__ unsigned index(int i) { return i * sampled_row::sampling_threads + threadIdx.x; }

  template <class Use>
  __device__ void for_each(Use use) const {
#pragma unroll
    for (int i = 0; i < sampled_row::samples_per_thread; ++i)
      if (index(i) < size) use(own[i]);
  }
};

// Finds bounds of a block's candidates digit by digit. held.for_each(use) calls use(candidate) for those of a thread.
template <class Held>
struct bounds_of {
  static constexpr int digit_bits = 7;
  static constexpr unsigned num_bins = 1u << digit_bits;
  struct shared {
    unsigned bins[3][num_bins];  // digits take turns; the first has to be 0
    unsigned ones[3], zeros[3];  // bits that are set, or not, in one of a class
  };

  const Held& held;
  shared& memory;
  int turn = 0;

  __device__ bounds_of(const Held& candidates, shared& storage) : held(candidates), memory(storage) {
    if (threadIdx.x < num_bins) memory.bins[0][threadIdx.x] = 0;
  }

  // Whether it has the bound's bits above `bit`.
  static __device__ bool is_in_class(const placed_key& each, const placed_key& bound, int bit) {
    const placed_key differing = {each.key ^ bound.key, each.before ^ bound.before};
    if (bit >= 95) return true;
    if (bit >= 31) return differing.key >> (bit - 31) == 0;
    return differing.key == 0 && differing.before >> (bit + 1) == 0;
  }

  // Of the candidates that have the bound's bits above `bit`: adds to the bound what they share, and returns the
  // greatest bit in which two of them differ, or -1.
  __device__ int skip_shared_bits(placed_key& bound, int bit) {
    unsigned ones[3] = {0, 0, 0}, zeros[3] = {0, 0, 0};
    held.for_each([&](const placed_key& each) {
      if (!is_in_class(each, bound, bit)) return;
      const unsigned words[3] = {each.before, static_cast<unsigned>(each.key), static_cast<unsigned>(each.key >> 32)};
#pragma unroll
      for (int w = 0; w < 3; ++w) {
        ones[w] |= words[w];
        zeros[w] |= ~words[w];
      }
    });
    __syncthreads();
    if (threadIdx.x < 3) memory.ones[threadIdx.x] = memory.zeros[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < 3; ++w) {
#pragma unroll
      for (int distance = parts::warp_threads / 2; distance > 0; distance /= 2) {
        ones[w] |= __shfl_xor_sync(parts::full_mask, ones[w], distance);
        zeros[w] |= __shfl_xor_sync(parts::full_mask, zeros[w], distance);
      }
      if (threadIdx.x % parts::warp_threads == 0) {
        atomicOr(memory.ones + w, ones[w]);
        atomicOr(memory.zeros + w, zeros[w]);
      }
    }
    __syncthreads();
    unsigned words[3];
    int first = -1;
#pragma unroll
    for (int w = 2; w >= 0; --w) {
      const unsigned differing = first < 0 ? memory.ones[w] & memory.zeros[w] : 0xffffffff;
      words[w] = memory.ones[w];
      if (first < 0 && differing != 0) {
        const int highest = 31 - __clz(static_cast<int>(differing));
        words[w] &= ~((2u << highest) - 1);
        first = 32 * w + highest;
      } else if (first >= 0) {
        words[w] = 0;
      }
    }
    bound = {static_cast<unsigned long long>(words[2]) << 32 | words[1], words[0]};
    return first;
  }

  // A bound that at least `least` and at most `most` candidates reach. Digit by digit, each warp looks up the bins
  // itself.
  __device__ placed_key bound(unsigned least, unsigned most) {
    placed_key found{0, 0};
    unsigned reaching = held.size, above = 0;  // the bound, and the end of its class
    int bit = 95;
    bool skips = true;
    while (true) {
      if (skips) bit = skip_shared_bits(found, bit);
      if (reaching <= most || bit < 0) return found;
      const int width = min(bit + 1, digit_bits), shift = bit + 1 - width;
      const unsigned inside = reaching - above;
      unsigned* const bins = memory.bins[turn];
      turn = turn == 2 ? 0 : turn + 1;
      if (threadIdx.x < num_bins) memory.bins[turn][threadIdx.x] = 0;  // all have read these two barriers ago
      held.for_each([&](const placed_key& each) {
        if (is_in_class(each, found, bit)) atomicAdd(bins + (each.bits_from(shift) & ((1u << width) - 1)), 1u);
      });
      __syncthreads();
      const unsigned digit = find_digit(bins, least, above, reaching);
      if (shift >= 32) {
        found.key |= static_cast<unsigned long long>(digit) << (shift - 32);
      } else {
        found.key |= static_cast<unsigned long long>(digit) << shift >> 32;
        found.before |= digit << shift;
      }
      bit = shift - 1;
      skips = reaching > most && reaching - above == inside;
    }
  }

  // The greatest digit that `least` candidates reach. Leaves how many reach it, and how many the next one.
  static __device__ unsigned find_digit(const unsigned* bins, unsigned least, unsigned& above, unsigned& reaching) {
    constexpr int of_lane = num_bins / parts::warp_threads;
    const int lane = static_cast<int>(threadIdx.x % parts::warp_threads);
    const int first = (parts::warp_threads - 1 - lane) * of_lane;
    unsigned counts[of_lane], sum = 0;
#pragma unroll
    for (int i = 0; i < of_lane; ++i) {
      counts[i] = bins[first + i];
      sum += counts[i];
    }
    unsigned up_to = sum;
#pragma unroll
    for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
      const unsigned before = __shfl_up_sync(parts::full_mask, up_to, distance);
      if (lane >= distance) up_to += before;
    }
    up_to += above;
    unsigned digit = 0, with = up_to - sum, without = with;
#pragma unroll
    for (int i = of_lane - 1; i >= 0; --i)
      if (with < least) {
        digit = static_cast<unsigned>(first + i);
        without = with;
        with += counts[i];
      }
    const unsigned lanes = __ballot_sync(parts::full_mask, up_to >= least);
    const int from = __ffs(static_cast<int>(lanes)) - 1;
    above = __shfl_sync(parts::full_mask, without, from);
    reaching = __shfl_sync(parts::full_mask, with, from);
    return __shfl_sync(parts::full_mask, digit, from);
  }
};

template <class Order>
__global__ void __launch_bounds__(sampled_row::sampling_threads)
    sample_bounds_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ sampled_plan plan,
                         unsigned round) {
  __shared__ bounds_of<block_samples>::shared memory;
  __shared__ sampled_round shared_before;
  parts::let_next_launch_start();
  sampled_round& now = plan.d_state->rounds[round];
  unsigned needed = static_cast<unsigned>(plan.k), size = plan.num_columns;
  bool failed = false;
  if (round > 0) {
    parts::wait_for_launch_before();
    if (threadIdx.x == 0) shared_before = plan.d_state->rounds[round - 1];
    __syncthreads();
    const sampled_round& before = shared_before;
    failed = !is_complete(before, plan.rooms[round - 1]);
    needed = before.needed - before.chosen;
    size = before.gathered;
  }
  placed_key lower{0, 0}, upper{~0ull, 0xffffffff};
  if (!failed && (round == 0 || size > sampled_row::least_chosen_from)) {
    const unsigned num_samples = min(size, sampled_row::most_samples);
    block_samples samples{{}, num_samples};
    const placed_key* const gathered = round > 0 ? plan.gathered_by(round - 1) : nullptr;
#pragma unroll
    for (int i = 0; i < sampled_row::samples_per_thread; ++i) {
      const unsigned index = block_samples::index(i);
      samples.own[i] = {0, 0};
      if (index >= num_samples) continue;
      const unsigned place = sampled_place(index, num_samples, size);
      if (round > 0)
        samples.own[i] = gathered[place];
      else
        samples.own[i] = {keys.data[place], ~place};
    }
    if (round == 0)
#pragma unroll
      for (int i = 0; i < sampled_row::samples_per_thread; ++i)
        if (block_samples::index(i) < num_samples) samples.own[i].key = keys.order(samples.own[i].key);
    const sampled_ranks ranks(needed, size, num_samples);
    bounds_of<block_samples> bounds(samples, memory);
    if (ranks.lower < num_samples) lower = bounds.bound(ranks.lower, ranks.lower + ranks.slack);
    if (!plan.ranks_all && ranks.upper > ranks.slack) upper = bounds.bound(ranks.upper - ranks.slack, ranks.upper);
  }
  if (threadIdx.x == 0) now = {lower, upper, needed, 0, 0, failed};
  if (round == 0) {
    if (threadIdx.x <= sampled_row::num_digits) plan.d_state->passes[threadIdx.x] = {0, 0};
    if (threadIdx.x == 0) plan.d_state->collected = 0;
    for (unsigned i = threadIdx.x; i < sampled_row::num_bins; i += sampled_row::sampling_threads) plan.d_bins[i] = 0;
  }
}

// --- gather

// What the threads of a warp have to write: to one place after the other, 64 at once.
struct warp_outlet {
  static constexpr unsigned at_once = 64, room = at_once + parts::warp_threads;
  struct shared {
    unsigned long long keys[room];
    unsigned befores[room];
  };

  shared& memory;
  unsigned* counter;
  unsigned size = 0;

  // Whole warps call it.
  template <class Put>
  __device__ void add(bool wanted, const placed_key& each, Put put) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const unsigned lanes = __ballot_sync(parts::full_mask, wanted);
    if (lanes == 0) return;
    if (wanted) {
      const unsigned to = size + __popc(lanes & ((1u << lane) - 1));
      memory.keys[to] = each.key;
      memory.befores[to] = each.before;
    }
    size += __popc(lanes);
    __syncwarp();
    if (size < at_once) return;
    write(at_once, put);
    const placed_key last = {memory.keys[at_once + lane], memory.befores[at_once + lane]};
    __syncwarp();
    memory.keys[lane] = last.key;
    memory.befores[lane] = last.before;
    __syncwarp();
    size -= at_once;
  }
  template <class Put>
  __device__ void write(unsigned count, Put put) {
    if (count == 0) return;
    const unsigned lane = threadIdx.x % parts::warp_threads;
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(counter, count);
    first = __shfl_sync(parts::full_mask, first, 0);
    for (unsigned i = lane; i < count; i += parts::warp_threads)
      put(first + i, placed_key{memory.keys[i], memory.befores[i]});
  }
};

template <class Order, class Results>
__global__ void __launch_bounds__(sampled_row::gathering_threads, 2)
    gather_between_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ sampled_plan plan,
                          const __grid_constant__ Results results, unsigned round) {
  constexpr int warps = sampled_row::gathering_threads / parts::warp_threads;
  __shared__ warp_outlet::shared outlets[2][warps];
  parts::let_next_launch_start();
  sampled_round& now = plan.d_state->rounds[round];
  const unsigned warp = threadIdx.x / parts::warp_threads;
  placed_key* const gathered = plan.gathered_by(round);
  const unsigned room = plan.rooms[round];
  warp_outlet between{outlets[0][warp], &now.gathered}, chosen{outlets[1][warp], &now.chosen};
  unsigned first_result = 0, needed = 0;
  const bool chooses = !plan.ranks_all;
  const auto gather = [&](unsigned place, const placed_key& each) {
    if (place < room) gathered[place] = each;
  };
  const auto choose = [&](unsigned place, const placed_key& each) {
    if (place < needed) results(std::size_t{first_result} + place, each);
  };

  if (round == 0) {
    const key_stream<Order> stream(keys, plan.layout, 0, plan.begin_of(blockIdx.x), plan.begin_of(blockIdx.x + 1));
    const unsigned first_column = plan.begin_of(blockIdx.x);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    typename key_stream<Order>::chunk pending[2];
#else  // two do not fit the registers
    typename key_stream<Order>::chunk pending[1];
#endif
    stream.begin_reading(pending);
    parts::wait_for_launch_before();
    const placed_key lower = now.lower, upper = now.upper;
    needed = now.needed;
    stream.for_each_chunk(pending, [&](const auto& loaded, unsigned index) {
      stream.for_each_vector(loaded, index, [&](const auto& read, unsigned first) {
        if (!__any_sync(parts::full_mask, read[0] >= lower.key || read[1] >= lower.key)) return;
#pragma unroll 1
        for (unsigned i = 0; i < 2; ++i) {
          const placed_key each{i == 0 ? read[0] : read[1], ~(first_column + first + i)};
          const bool reaches = stream.has(first + i) && each.reaches(lower),
                     is_chosen = chooses && reaches && each.reaches(upper);
          between.add(reaches && !is_chosen, each, gather);
          chosen.add(is_chosen, each, choose);
        }
      });
      return true;
    });
  } else {
    parts::wait_for_launch_before();
    if (now.failed) return;
    const placed_key* const from = plan.gathered_by(round - 1);
    const unsigned size = plan.d_state->rounds[round - 1].gathered;
    const placed_key lower = now.lower, upper = now.upper;
    needed = now.needed;
    first_result = static_cast<unsigned>(plan.k) - needed;
    const unsigned lane = threadIdx.x % parts::warp_threads;
    for (unsigned first = (blockIdx.x * warps + warp) * parts::warp_threads; first < size;
         first += gridDim.x * sampled_row::gathering_threads) {
      const placed_key each = first + lane < size ? from[first + lane] : placed_key{0, 0};
      const bool reaches = first + lane < size && each.reaches(lower),
                 is_chosen = chooses && reaches && each.reaches(upper);
      between.add(reaches && !is_chosen, each, gather);
      chosen.add(is_chosen, each, choose);
    }
  }
  between.write(between.size, gather);
  chosen.write(chosen.size, choose);
}

// --- select

// Candidates that a block reads again for each digit. The cache of its multiprocessor holds most of them.
template <class At>
struct cached_candidates {
  static constexpr unsigned at_once = 8, block_threads = block_selection::block_threads;

  At at;
  unsigned size;

  template <class Use>
  __device__ void for_each(Use use) const {
    for (unsigned first = threadIdx.x; first < size; first += at_once * block_threads) {
      placed_key read[at_once];
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) read[i] = at(min(first + i * block_threads, size - 1));
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i)
        if (first + i * block_threads < size) use(read[i]);
    }
  }
};

// Calls results(first_result + i, candidate) for the greatest `needed` of `size` candidates, in any order. All threads
// of a block call it.
template <class At, class Results>
__device__ void select_candidates(At at, unsigned size, unsigned needed, unsigned first_result,
                                  const Results& results) {
  using held_candidates = cached_candidates<At>;
  __shared__ typename bounds_of<held_candidates>::shared memory;
  __shared__ unsigned selected;
  if (threadIdx.x == 0) selected = 0;
  const held_candidates held{at, size};
  bounds_of<held_candidates> bounds(held, memory);
  const placed_key bound = bounds.bound(needed, needed);
  held.for_each([&](const placed_key& each) {
    if (each.reaches(bound)) results(std::size_t{first_result} + atomicAdd(&selected, 1u), each);
  });
}

// Blocks draw the tiles of a pass, and then wait until all are done. So they wait only for blocks that run: a call ends
// with any number of them.
template <class Use, class Flush>
__device__ void draw_tiles(sampled_pass& pass, unsigned num_tiles, Use use, Flush flush) {
  __shared__ unsigned drawn;
  unsigned own = 0;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) drawn = atomicAdd(&pass.drawn, 1u);
    __syncthreads();
    const unsigned tile = drawn;
    if (tile >= num_tiles) break;
    use(tile);
    ++own;
  }
  flush();
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (own > 0) atomicAdd(&pass.done, own);
    while (*static_cast<volatile unsigned*>(&pass.done) < num_tiles) {
    }
    __threadfence();
  }
  __syncthreads();
}

// Calls take(candidate) for the greatest k of a row, by all blocks of a grid: a pass for each digit. Behind it all have
// been taken.
template <class Order, class Take>
__device__ void choose_by_digits(const keys_of_rows<Order>& keys, const sampled_plan& plan, block_selection& selection,
                                 Take take) {
  constexpr int digit_bits = block_selection::digit_bits;
  constexpr unsigned num_bins = 1u << digit_bits, block_threads = block_selection::block_threads;
  constexpr unsigned loads = 4, tile_items = 8 * loads * block_threads;
  const unsigned num_tiles = (plan.num_columns - 1) / tile_items + 1;
  sampled_pass* pass = plan.d_state->passes;

  const auto for_each = [&](auto use, auto flush) {
    draw_tiles(
        *pass++, num_tiles,
        [&](unsigned tile) {
          const unsigned begin = tile * tile_items, size = min(plan.num_columns - begin, tile_items);
          for (unsigned first = threadIdx.x; first < size; first += loads * block_threads) {
            typename Order::Storage read[loads];
#pragma unroll
            for (unsigned i = 0; i < loads; ++i)
              if (first + i * block_threads < size) read[i] = keys.data[begin + first + i * block_threads];
#pragma unroll
            for (unsigned i = 0; i < loads; ++i)
              if (first + i * block_threads < size)
                use(static_cast<wide_candidate>(keys.order(read[i])) << 32 | ~(begin + first + i * block_threads));
          }
        },
        flush);
  };
  wide_candidate prefix = 0;
  int shift = 96;
  auto needed = static_cast<unsigned>(plan.k);
  for (unsigned* bins = plan.d_bins;; bins += num_bins) {
    const int seen = shift, width = min(shift, digit_bits);
    shift -= width;
    for (unsigned i = threadIdx.x; i < num_bins; i += block_threads) selection.bins[i] = 0;
    for_each(
        [&](wide_candidate each) {
          if (each >> seen == prefix)
            atomicAdd(selection.bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
        },
        [&] {
          for (unsigned i = threadIdx.x; i < num_bins; i += block_threads)
            if (selection.bins[i] != 0) atomicAdd(bins + i, selection.bins[i]);
        });
    for (unsigned i = threadIdx.x; i < num_bins; i += block_threads) selection.bins[i] = __ldcg(bins + i);
    __syncthreads();
    selection.find_digit(needed);
    prefix = prefix << width | selection.digit;
    needed -= selection.above;
    if (selection.inside == needed) break;
    __syncthreads();
  }
  for_each(
      [&](wide_candidate each) {
        if (each >> shift >= prefix)
          take(placed_key{static_cast<unsigned long long>(each >> 32), static_cast<unsigned>(each)});
      },
      [] {});
}

// Of a short row.
template <class Order, class Results>
__global__ void __launch_bounds__(block_selection::block_threads)
    select_of_row_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ sampled_plan plan,
                         const __grid_constant__ Results results) {
  parts::let_next_launch_start();
  const auto at = [&](unsigned i) { return placed_key{keys.order(keys.data[i]), ~i}; };
  select_candidates(at, plan.num_columns, static_cast<unsigned>(plan.k), 0, results);
}

// A block selects of what the last round left. Where a round failed, all blocks find the k of the row.
template <class Order, class Results>
__global__ void __launch_bounds__(block_selection::block_threads)
    select_of_left_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ sampled_plan plan,
                          const __grid_constant__ Results results) {
  __shared__ block_selection selection;
  parts::let_next_launch_start();
  parts::wait_for_launch_before();
  const sampled_left left = sampled_left::by_rounds(plan);
  if (left.failed) {
    choose_by_digits(keys, plan, selection,
                     [&](const placed_key& each) { results(atomicAdd(&plan.d_state->collected, 1u), each); });
  } else if (blockIdx.x == 0 && left.needed > 0) {
    const placed_key* const candidates = left.candidates;
    select_candidates([=](unsigned i) { return candidates[i]; }, left.size, left.needed,
                      static_cast<unsigned>(plan.k) - left.needed, results);
  }
}

// --- sort and rank

// Leaves a tile of candidates in their order: each counts how many of the tile come before it. All threads call it.
struct ranked_tile {
  static constexpr unsigned items = 128, shares = block_selection::block_threads / items;
  unsigned long long keys[items];
  unsigned befores[items];

  template <class At>
  __device__ void sort(unsigned size, At at, placed_key* sorted) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size; i += block_selection::block_threads) {
      const placed_key each = at(i);
      keys[i] = each.key;
      befores[i] = each.before;
    }
    __syncthreads();
    const unsigned item = threadIdx.x / shares;
    const placed_key own = item < size ? placed_key{keys[item], befores[item]} : placed_key{0, 0};
    unsigned before = 0;
#pragma unroll 4
    for (unsigned other = threadIdx.x % shares; other < size; other += shares)
      before += !own.reaches({keys[other], befores[other]});
#pragma unroll
    for (unsigned distance = shares / 2; distance > 0; distance /= 2)
      before += __shfl_xor_sync(parts::full_mask, before, distance);
    if (threadIdx.x % shares == 0 && item < size) sorted[before] = own;
  }
};

// Sorts the tiles of a short row.
template <class Order>
__global__ void __launch_bounds__(block_selection::block_threads)
    sort_row_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ sampled_plan plan) {
  __shared__ ranked_tile tile;
  parts::let_next_launch_start();
  const unsigned begin = blockIdx.x * ranked_tile::items, size = min(plan.num_columns - begin, ranked_tile::items);
  const auto at = [&](unsigned i) { return placed_key{keys.order(keys.data[begin + i]), ~(begin + i)}; };
  tile.sort(size, at, plan.d_places[0] + begin);
}

// Sorts the tiles of what was selected, or of what the last round left. Where a round failed and none were selected,
// finds the k first.
template <class Order>
__global__ void __launch_bounds__(block_selection::block_threads)
    sort_left_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ sampled_plan plan) {
  __shared__ block_selection selection;
  __shared__ ranked_tile tile;
  parts::let_next_launch_start();
  parts::wait_for_launch_before();
  const sampled_left left = sampled_left::to_rank(plan);
  if (left.failed)
    choose_by_digits(keys, plan, selection,
                     [&](const placed_key& each) { left.candidates[atomicAdd(&plan.d_state->collected, 1u)] = each; });
  for (unsigned begin = blockIdx.x * ranked_tile::items; begin < left.size; begin += gridDim.x * ranked_tile::items) {
    placed_key* const candidates = left.candidates + begin;
    tile.sort(
        min(left.size - begin, ranked_tile::items), [=](unsigned i) { return candidates[i]; }, candidates);
  }
}

// The rank of each of those left is the sum of how many of each tile come before it.
template <class Order, class Results>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    rank_left_kernel(const __grid_constant__ sampled_plan plan, const __grid_constant__ Results results) {
  constexpr unsigned at_once = 2;
  parts::let_next_launch_start();
  parts::wait_for_launch_before();
  const sampled_left left = sampled_left::to_rank(plan);
  const unsigned lane = threadIdx.x % parts::warp_threads, last = left.size - 1;
  const unsigned warp = (blockIdx.x * block_selection::block_threads + threadIdx.x) / parts::warp_threads;
  for (unsigned first = warp * at_once; first < left.size; first += gridDim.x * block_selection::warps * at_once) {
    placed_key own[at_once];
    unsigned before[at_once];
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      own[i] = left.candidates[min(first + i, last)];
      before[i] = 0;
    }
    for (unsigned begin = lane * ranked_tile::items; begin < left.size;
         begin += parts::warp_threads * ranked_tile::items) {
      const unsigned size = min(left.size - begin, ranked_tile::items);
      unsigned found[at_once] = {};
#pragma unroll
      for (unsigned step = ranked_tile::items; step > 0; step /= 2)
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i)
          if (found[i] + step <= size && !own[i].reaches(left.candidates[begin + found[i] + step - 1]))
            found[i] += step;
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) before[i] += found[i];
    }
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
#pragma unroll
      for (int distance = parts::warp_threads / 2; distance > 0; distance /= 2)
        before[i] += __shfl_xor_sync(parts::full_mask, before[i], distance);
      if (lane == i && first + i < left.size && before[i] < left.needed)
        results(plan.k - left.needed + before[i], own[i]);
    }
  }
}

// --- the call

inline sampled_plan plan_sampled_row(const parts::device_limits& limits, std::size_t num_columns, std::size_t k,
                                     bool sorted) {
  sampled_plan plan{};
  plan.layout = candidate_layout(num_columns, 64);
  plan.k = k;
  plan.num_columns = static_cast<unsigned>(num_columns);
  plan.ranks_all = k <= sampled_row::most_ranked_k;
  const std::size_t resident = resident_streams * static_cast<std::size_t>(limits.multiprocessors);
  const std::size_t num_parts = parts::at_most(resident, num_columns / chunk_items);
  plan.num_parts = static_cast<unsigned>(num_parts < 1 ? 1 : num_parts);
  // The most that each round may leave. It rises with how many there are before.
  double size = static_cast<double>(num_columns);
  while (plan.num_rounds < sampled_row::most_rounds &&
         size > (plan.num_rounds == 0 ? sampled_row::most_columns_left : sampled_row::most_left)) {
    const double num_samples = size < sampled_row::most_samples ? size : sampled_row::most_samples;
    // How many of a later round's belong to the k is unknown unless all do.
    const bool is_known = plan.ranks_all || plan.num_rounds == 0;
    const sampled_ranks ranks(is_known ? static_cast<double>(k) : size / 2, size, num_samples);
    const double reaching = ranks.lower + ranks.slack;
    const double above = plan.ranks_all || ranks.upper <= ranks.slack ? 0. : ranks.upper - ranks.slack;
    const double samples = reaching - above;
    double left =
        (samples + sampled_row::deviations * std::sqrt(samples) + 2 * sampled_row::least_distance) * size / num_samples;
    if (left < sampled_row::least_chosen_from) left = sampled_row::least_chosen_from;  // so few are not chosen from
    if (left > size) left = size;
    size = left;
    plan.rooms[plan.num_rounds++] = static_cast<unsigned>(left);
  }
  // To rank more than these takes longer than to select.
  constexpr double few_left = 2048, few_sorted_left = 4096;
  if (!plan.ranks_all)
    plan.selects = plan.num_rounds > 0 || !sorted;
  else if (plan.num_rounds == 0)
    plan.selects = size > few_sorted_left;
  else
    plan.selects = size > (sorted ? few_sorted_left + 2 * static_cast<double>(k) : few_left);
  return plan;
}

// Lays the storage of a plan out behind `region`, and returns its size.
inline std::size_t place_sampled_row(char* region, sampled_plan& plan) {
  std::size_t bytes = 0;
  const auto take = [&](auto*& array, std::size_t num_items) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(region + bytes);
    bytes += parts::ceil_div(num_items * sizeof(*array), parts::storage_alignment) * parts::storage_alignment;
  };
  std::size_t rooms[2] = {plan.num_rounds == 0 && !plan.selects ? plan.num_columns : 0, 0};
  if (plan.selects && plan.ranks_all) rooms[plan.num_rounds % 2] = plan.k;
  for (unsigned round = 0; round < plan.num_rounds; ++round)
    if (rooms[round % 2] < plan.rooms[round]) rooms[round % 2] = plan.rooms[round];
  take(plan.d_places[0], rooms[0]);
  take(plan.d_places[1], rooms[1]);
  if (plan.num_rounds == 0) return bytes;
  take(plan.d_state, 1);
  take(plan.d_bins, sampled_row::num_bins);
  return bytes;
}

// Finds what is to be ranked, or the k where the plan selects them.
template <class Order, class Results>
cudaError_t launch_selection(const keys_of_rows<Order>& keys, const Results& results, const sampled_plan& plan,
                             const parts::device_limits& limits, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  for (unsigned round = 0; error == cudaSuccess && round < plan.num_rounds; ++round) {
    error = parts::launch_overlapped(sample_bounds_kernel<Order>, 1, sampled_row::sampling_threads, 0,
                                     round > 0 && limits.overlaps(), stream, keys, plan, round);
    if (error == cudaSuccess)
      error = parts::launch_overlapped(gather_between_kernel<Order, Results>, plan.num_parts,
                                       sampled_row::gathering_threads, 0, limits.overlaps(), stream, keys, plan,
                                       results, round);
  }
  if (error != cudaSuccess || !plan.selects) return error;
  if (plan.num_rounds == 0)
    return parts::launch_overlapped(select_of_row_kernel<Order, Results>, 1, block_selection::block_threads, 0, false,
                                    stream, keys, plan, results);
  return parts::launch_overlapped(select_of_left_kernel<Order, Results>, limits.multiprocessors,
                                  block_selection::block_threads, 0, limits.overlaps(), stream, keys, plan, results);
}

template <class Order, class Results>
cudaError_t launch_ranking(const keys_of_rows<Order>& keys, const Results& results, const sampled_plan& plan,
                           const parts::device_limits& limits, cudaStream_t stream) {
  const auto launch_sort = [&](auto kernel, std::size_t blocks, bool overlapping) {
    return parts::launch_overlapped(kernel, blocks, block_selection::block_threads, 0, overlapping, stream, keys, plan);
  };
  const cudaError_t error =
      plan.num_rounds == 0 && !plan.selects
          ? launch_sort(sort_row_kernel<Order>, parts::ceil_div(plan.num_columns, ranked_tile::items), false)
          : launch_sort(sort_left_kernel<Order>, limits.multiprocessors, limits.overlaps());
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(rank_left_kernel<Order, Results>, 2 * limits.multiprocessors,
                                  block_selection::block_threads, 0, limits.overlaps(), stream, plan, results);
}

// The greatest k of one row.
template <class Order, class Output>
cudaError_t top_k_of_sampled_row(void* d_temp_storage, std::size_t& temp_storage_bytes, const keys_of_rows<Order>& keys,
                                 const Output& output, const parts::device_limits& limits, std::size_t num_columns,
                                 std::size_t k, bool sorted, cudaStream_t stream) {
  const output_results<Order, Output> results{keys.order, output};
  char* region;
  cudaError_t error;
  sampled_plan plan = plan_sampled_row(limits, num_columns, k, sorted);
  const bool sorts = sorted && plan.selects && !plan.ranks_all;
  long_plan_of<Order> sorting{plan.layout, 1, k, plan.num_columns, 0, nullptr, nullptr, nullptr, nullptr};
  const std::size_t row_bytes = place_sampled_row(nullptr, plan);
  const std::size_t bytes = row_bytes + (sorts ? place_long_results(nullptr, true, sorting) : 0);
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  place_sampled_row(region, plan);
  if (sorts) {
    place_long_results(region + row_bytes, true, sorting);
    error = launch_selection(keys, sortable_results{plan.layout, sorting.d_candidates}, plan, limits, stream);
    return error != cudaSuccess ? error : write_long_results(output, sorting, true, stream);
  }
  if (sorted && plan.selects)
    error = launch_selection(keys, placed_results{plan.selected()}, plan, limits, stream);
  else
    error = launch_selection(keys, results, plan, limits, stream);
  if (error != cudaSuccess || (plan.selects && !sorted)) return error;
  return launch_ranking(keys, results, plan, limits, stream);
}

}  // namespace rungs::RUNGS_ABI::production
