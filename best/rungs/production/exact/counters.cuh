// Exact sums of one block, in shared memory: each thread adds to integers of its own, its counters.
//
// Counter c counts 2^(spacing * c + lowest_exponent) and has 64 bits. A term is one or more words of 32 bits, each
// shifted to its place and added to a counter. That is exact whatever the data, and needs no order and no atomics: no
// two threads share a counter, and lanes meet no bank conflicts. Floats have a counter every 16 bits, so that a term
// goes to one; doubles every 32, or few threads would have room. A warp clears its threads' counters when it first
// needs them. What is left in windows at the end never goes there: its parts of a warp are added up beside them.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/exact/terms.cuh"

namespace rungs::RUNGS_ABI::production {

extern __shared__ long long exact_counters[];  // counter c of thread t: [c * blockDim.x + t]

// So many terms of a thread fit its counters.
inline constexpr std::size_t most_terms_of_thread = std::size_t{1} << 20;

// What a block adds up, and which digits of it may be other than zero: bit i of word i / 32.
template <class Total>
struct block_total {
  static constexpr int num_words = (Total::num_digits + 31) / 32;
  static constexpr int most_parts = 4, most_warps = 32;
  Total sum;
  unsigned touched[num_words];
  unsigned counting_warps;  // bit w: threads of warp w have used their counters
  // What warps have beside their counters: part p of warp w counts 2^(positions[p][w] + lowest_exponent).
  long long parts[most_parts][most_warps];
  int positions[most_parts][most_warps];

  __device__ void clear() {
    for (unsigned i = threadIdx.x; i < Total::num_digits; i += blockDim.x) sum.digits[i] = 0;
    if (threadIdx.x < num_words) touched[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum.flags = sum.unused = counting_warps = 0;
  }
  // What the first num_parts parts of a warp, each less than 2^48, add to a digit.
  template <int num_parts>
  __device__ long long in_digit(int digit, int warp) const {
    long long sum = 0;
#pragma unroll
    for (int part = 0; part < num_parts; ++part) {
      const long long value = parts[part][warp];
      const int position = positions[part][warp], by = position % 32;
      const unsigned long long low = (value & 0xffffffffull) << by;
      if (digit == position / 32) sum += low & 0xffffffff;
      if (digit == position / 32 + 1) sum += static_cast<long long>(low >> 32) + (value >> 32) * (1ll << by);
    }
    return sum;
  }
  __device__ void touch(int digit) {
    if (digit < Total::num_digits) atomicOr(&touched[digit / 32], 1u << digit % 32);
  }
  __device__ void touch_all() {
    for (unsigned& word : touched) atomicOr(&word, ~0u);
  }
  __device__ bool is_touched(int digit) const { return (touched[digit / 32] >> digit % 32 & 1) != 0; }
  // Where no digit was touched, all are zero, and any will do.
  __device__ int first_touched() const {
    int word = 0;
    while (word + 1 < num_words && touched[word] == 0) ++word;
    return parts::at_most(32 * word + (touched[word] != 0 ? __ffs(touched[word]) - 1 : 0), Total::num_digits - 1);
  }
  __device__ int last_touched() const {
    int word = num_words - 1;
    while (word > 0 && touched[word] == 0) --word;
    return parts::at_most(32 * word + (touched[word] != 0 ? 31 - __clz(touched[word]) : 0), Total::num_digits - 1);
  }
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

  // Adds terms[0] to terms[count - 1]; returns what was not finite, as exact::seen. Of that the digits have no meaning.
  template <int count, class Terms>
  static __device__ unsigned add_terms(const Terms& terms) {
    bool all_finite = true;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const auto taken = take_apart(terms[i]);
      int position = taken.exponent - Total::lowest_exponent;
      if constexpr (may_lie_outside) position = taken.is_finite && position > 0 ? position : 0;
      add(taken.words, position);
      all_finite = all_finite && taken.is_finite;
    }
    unsigned seen = 0;
    if (!all_finite) {
#pragma unroll
      for (int i = 0; i < count; ++i) seen |= seen_in(terms[i]);
    }
    return seen;
  }

  // The sums of all threads' counters and of the warps' parts, as digits less than 2^34, of those that were touched.
  template <int num_parts>
  static __device__ void sum_block(block_total<Total>& total) {
    constexpr int counters_of_digit = 32 / spacing;
    __shared__ long long low_sums[num_counters], high_sums[num_counters];  // of the halves of each counter
    __shared__ long long part_sums[Total::num_digits];
    const int lane = threadIdx.x % parts::warp_threads, num_warps = blockDim.x / parts::warp_threads;
    __syncthreads();
    const unsigned counting_warps = total.counting_warps;
    for (int i = threadIdx.x / parts::warp_threads; i < Total::num_digits; i += num_warps) {
      long long sum = 0;
      if (num_parts > 0 && total.is_touched(i))
        sum = parts::warp_reduce(lane < num_warps ? total.template in_digit<num_parts>(i, lane) : 0ll, plus{});
      if (lane == 0) part_sums[i] = sum;
    }
    for (int c = threadIdx.x / parts::warp_threads; counting_warps != 0 && c < num_counters; c += num_warps) {
      long long low = 0, high = 0;
      if (total.is_touched(c / counters_of_digit)) {
#pragma unroll 4
        for (int warp = 0; warp < num_warps; ++warp) {
          if ((counting_warps >> warp & 1) == 0) continue;
          const long long held = exact_counters[c * blockDim.x + warp * parts::warp_threads + lane];
          low += held & 0xffffffff;
          high += held >> 32;
        }
        low = parts::warp_reduce(low, plus{}), high = parts::warp_reduce(high, plus{});
      }
      if (lane == 0) low_sums[c] = low, high_sums[c] = high;
    }
    __syncthreads();
    const auto of_digit = [&](const long long* sums, int i) -> long long {
      if (counting_warps == 0 || i < 0 || i >= Total::num_digits) return 0;
      if constexpr (counters_of_digit == 2) return sums[2 * i] + sums[2 * i + 1] * (1 << spacing);
      return sums[i];
    };
    const auto digit = [&](int i) {
      return of_digit(low_sums, i) + of_digit(high_sums, i - 1) + (i < 0 ? 0 : part_sums[i]);
    };
    for (int i = threadIdx.x; i < Total::num_digits; i += blockDim.x)
      total.sum.digits[i] = (i + 1 < Total::num_digits ? digit(i) & 0xffffffff : digit(i)) + (digit(i - 1) >> 32);
    __syncthreads();
  }
};

}  // namespace rungs::RUNGS_ABI::production
