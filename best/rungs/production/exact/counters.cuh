// Exact sums of one block, in shared memory: each thread adds to integers of its own, its counters.
//
// Counter c counts 2^(spacing * c + lowest_exponent) and has 64 bits. A term is one or more words of 32 bits, each
// shifted to its place and added to a counter. That is exact whatever the data, and needs no order and no atomics: no
// two threads share a counter, and lanes meet no bank conflicts. Floats have a counter every 16 bits, so that a term
// goes to one; doubles every 32, or few threads would have room. A warp clears its threads' counters when it first
// needs them. What is left in windows at the end never goes there: the sums of warps are added up beside them.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/parts/warp.cuh"
#include "rungs/production/exact/short_sum.cuh"
#include "rungs/production/exact/terms.cuh"

namespace rungs::RUNGS_ABI::production {

extern __shared__ long long exact_counters[];  // counter c of thread t: [c * blockDim.x + t]

// So many terms of a thread fit its counters and its window.
inline constexpr std::size_t most_terms_of_thread = std::size_t{1} << 17;

// What may be other than zero beside a short sum.
struct long_part {
  int first, last;  // digits
  unsigned seen;    // as exact::seen

  static __device__ long_part nothing() { return {1 << 15, -1, 0}; }
  __device__ void touch(int from, int to) {
    first = from < first ? from : first;
    last = to > last ? to : last;
  }
};
struct either_part {
  __device__ long_part operator()(long_part a, const long_part& b) const {
    a.touch(b.first, b.last);
    a.seen |= b.seen;
    return a;
  }
};

// What a block adds up. Nothing of it is cleared: all that is read was written before.
template <class Total, int num_words>
struct block_total {
  static constexpr int most_warps = 32;
  // Of each warp: what is in its window, and what its threads' counters have, if they were used.
  short_sum<num_words> of_warp[most_warps];
  long_part counted[most_warps];
  bool counts[most_warps];
  // Of all: digits where `part` says so.
  Total sum;
  long_part part;

  __device__ bool is_touched(int digit) const { return part.first <= digit && digit <= part.last; }
};

template <class Total, class Term>
struct thread_counters {
  static constexpr int spacing = std::is_same_v<Term, float> ? 16 : 32;
  static constexpr int num_counters = Total::num_digits * 32 / spacing;
  // Terms that are not of the record's own format may lie below all counters where they are zero, and above where they
  // are not finite.
  static constexpr bool may_lie_outside = sizeof(typename Total::item) < sizeof(Term) && !std::is_same_v<Term, factors>;

  // Those of the calling thread.
  static __device__ void clear() {
#pragma unroll 4
    for (int c = 0; c < num_counters; ++c) exact_counters[c * blockDim.x + threadIdx.x] = 0;
  }

  // Position is that of the number's last place, in bits above the lowest.
  template <int num_words>
  static __device__ void add(const unsigned (&words)[num_words], unsigned position) {
    const unsigned row = blockDim.x * sizeof(long long), by = position % spacing;
    char* const first = reinterpret_cast<char*>(exact_counters + threadIdx.x) + position / spacing * row;
    const auto add_at = [&](int c, long long value) { *reinterpret_cast<long long*>(first + c * row) += value; };
    const int top = static_cast<int>(words[num_words - 1]);
    if constexpr (spacing == 16) {
#pragma unroll
      for (int i = 0; i + 1 < num_words; ++i) add_at(2 * i, static_cast<long long>(words[i]) << by);
      add_at(2 * (num_words - 1), static_cast<long long>(top) * (1 << by));
    } else {
      add_at(0, words[0] << by);
#pragma unroll
      for (int i = 1; i < num_words; ++i) add_at(i, __funnelshift_l(words[i - 1], words[i], by));
      add_at(num_words, (static_cast<long long>(top) << by) >> 32);
    }
  }

  // A float, in few instructions: a counter is added the product of the mantissa and a power of two with the sign.
  // False, and the counters have no meaning, where it is not finite.
  static __device__ bool add_float(float number) {
    using format = exact::format_of<float>;
    const auto all = bits_of<unsigned>(number), magnitude = all & ~format::sign;
    const bool is_finite = magnitude < format::infinity;
    // A denormal number has the exponent of field 1, and no leading bit.
    const int field = static_cast<int>(magnitude >> format::mantissa_bits), above = field > 1 ? field - 1 : 0;
    const unsigned mantissa = magnitude - (static_cast<unsigned>(above) << format::mantissa_bits);
    int position = above + 1 + format::least_exponent - Total::lowest_exponent;
    if constexpr (may_lie_outside) position = is_finite && position > 0 ? position : 0;
    const int by = position & (spacing - 1), power = (static_cast<int>(all) >> 31 | 1) << by;
    const unsigned row = blockDim.x * sizeof(long long) / spacing;
    char* const first = reinterpret_cast<char*>(exact_counters + threadIdx.x);
    auto& counter = *reinterpret_cast<long long*>(first + static_cast<unsigned>(position - by) * row);
    long long held = counter;
    asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(held) : "r"(mantissa), "r"(power));
    counter = held;
    return is_finite;
  }

  // Adds terms[0] to terms[count - 1]; returns what was not finite, as exact::seen. Of that the digits have no meaning.
  template <int count, class Terms>
  static __device__ unsigned add_terms(const Terms& terms) {
    bool all_finite = true;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (spacing == 16) {
        all_finite = add_float(terms[i]) && all_finite;
      } else {
        const auto taken = take_apart(terms[i]);
        int position = taken.exponent - Total::lowest_exponent;
        if constexpr (may_lie_outside) position = taken.is_finite && position > 0 ? position : 0;
        add(taken.words, position);
        all_finite = all_finite && taken.is_finite;
      }
    }
    unsigned seen = 0;
    if (!all_finite) {
#pragma unroll
      for (int i = 0; i < count; ++i) seen |= seen_in(terms[i]);
    }
    return seen;
  }

  // The sums of all threads' counters and of the warps' windows, as digits less than 2^34.
  template <int num_words>
  static __device__ void sum_block(block_total<Total, num_words>& total) {
    constexpr int counters_of_digit = 32 / spacing, num_digits = Total::num_digits;
    __shared__ long long low_sums[num_counters], high_sums[num_counters];  // of the halves of each counter
    __shared__ long long window_sums[num_digits];
    const int lane = threadIdx.x % parts::warp_threads, num_warps = blockDim.x / parts::warp_threads;
    const bool is_warp = lane < num_warps;
    const short_sum<num_words>& of_warp = total.of_warp[is_warp ? lane : 0];
    const unsigned counting_warps = __ballot_sync(parts::full_mask, is_warp && total.counts[lane]);
    if (threadIdx.x < parts::warp_threads) {
      long_part part = is_warp ? total.counted[lane] : long_part::nothing();
      if (is_warp && of_warp.first < num_digits)
        part.touch(of_warp.first, of_warp.first + num_words + 1);  // and two carries
      part = parts::warp_reduce(part, either_part{});
      if (lane == 0) {
        part.last = part.last < num_digits ? part.last : num_digits - 1;
        if (part.first >= num_digits) part.first = part.last = num_digits - 1;
        total.part = part;
      }
    }
    __syncthreads();
    for (int i = threadIdx.x / parts::warp_threads; i < num_digits; i += num_warps) {
      long long sum = 0;
      if (total.is_touched(i)) sum = total_of_lanes(is_warp ? of_warp.template in_digit<Total>(i) : 0);
      if (lane == 0) window_sums[i] = sum;
    }
    for (int c = threadIdx.x / parts::warp_threads; c < num_counters; c += num_warps) {
      long long low = 0, high = 0;
      if (total.is_touched(c / counters_of_digit)) {
#pragma unroll 4
        for (int warp = 0; warp < num_warps; ++warp) {
          if ((counting_warps >> warp & 1) == 0) continue;
          const long long held = exact_counters[c * blockDim.x + warp * parts::warp_threads + lane];
          low += held & 0xffffffff;
          high += held >> 32;
        }
        low = total_of_lanes(low), high = total_of_lanes(high);
      }
      if (lane == 0) low_sums[c] = low, high_sums[c] = high;
    }
    __syncthreads();
    const auto of_digit = [&](const long long* sums, int i) -> long long {
      if (i < 0 || i >= num_digits) return 0;
      if constexpr (counters_of_digit == 2) return sums[2 * i] + sums[2 * i + 1] * (1 << spacing);
      return sums[i];
    };
    const auto digit = [&](int i) {
      return of_digit(low_sums, i) + of_digit(high_sums, i - 1) + (i < 0 ? 0 : window_sums[i]);
    };
    for (int i = threadIdx.x; i < num_digits; i += blockDim.x)
      total.sum.digits[i] = (i + 1 < num_digits ? digit(i) & 0xffffffff : digit(i)) + (digit(i - 1) >> 32);
    __syncthreads();
  }
};

}  // namespace rungs::RUNGS_ABI::production
