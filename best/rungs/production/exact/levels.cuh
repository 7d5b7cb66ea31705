// Sums of few terms, exact whatever the data: terms are cut into levels, and levels are added up as integers.
//
// Level j counts units of 2^(spacing * j + least_unit), the same for all warps. A warp begins at the level of its
// greatest term. With M = 1.5 * 2^p units, where a mantissa has p bits, the bits of fl(x + M) less those of M are the
// integer nearest to x in units. x - (fl(x + M) - M) is the exact remainder, which the next level takes. Most warps
// need one or two levels, and no data more than 13. As levels have fixed places, what warps and blocks have is added up
// level by level, in the lane of that number.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/exact/record.cuh"
#include "rungs/parts/compensated.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/exact/short_sum.cuh"
#include "rungs/production/exact/terms.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Terms>
struct exact_levels {
  using term = typename Terms::term;
  using item = typename Terms::item;
  using record = typename Terms::total;
  static constexpr bool is_float = std::is_same_v<term, float>;
  // Terms of doubles have more levels than a warp has lanes.
  static constexpr bool fit = sizeof(item) <= 4;

  using format = exact::format_of<std::conditional_t<is_float, float, double>>;
  using bits = typename format::bits;
  static constexpr int bias = format::greatest_field / 2, mantissa_bits = format::mantissa_bits;
  // An integer of a term is at most 2^(spacing - 1), so that those of a tile fit 31 or 56 bits.
  static constexpr int spacing = is_float ? 22 : 48;
  static constexpr int thread_terms = 8;
  // No unit is coarser than the last place of the least term. Terms from 2^-10 or 2^-20 to 16 need one level or two.
  static constexpr int num_factors = std::is_same_v<record, exact_sum<item>> ? 1 : 2;
  static constexpr int last_place = num_factors * (exact::format_of<item>::least_exponent + 1);
  static constexpr int usual_unit = is_float ? -17 : -41;
  static constexpr int least_unit = usual_unit - (usual_unit - last_place + spacing - 1) / spacing * spacing;
  static constexpr int greatest_exponent = num_factors * (exact::format_of<item>::greatest_field / 2 + 1);
  static constexpr int num_levels = (greatest_exponent - spacing + 1 - least_unit + spacing - 1) / spacing + 1;
  // Lane 15 counts, in ten bits each, who has seen a NaN, +infinity and -infinity.
  static constexpr int num_places = 16, flags_lane = 15, flag_bits = 10;
  static_assert(!fit || num_levels < flags_lane);

  // The field of M's exponent at level 0, and at the highest level, which has no such number: that level is taken 2^64
  // times smaller.
  static constexpr int least_field = least_unit + mantissa_bits + bias;
  static constexpr int greatest_field = least_field + spacing * (num_levels - 1), scaled_by = 64;
  static constexpr bool has_scaled_level = greatest_field >= format::greatest_field;
  static_assert(!fit || (least_field > 0 && greatest_field - spacing < format::greatest_field));

  long long of_lane = 0;  // level j in lane j
  unsigned seen = 0;      // of the thread, as exact::seen

  // Adds a warp's terms, some in each lane.
  __device__ void add(term (&terms)[thread_terms]) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    auto most = magnitude_of(terms[0]);
#pragma unroll
    for (int i = 1; i < thread_terms; ++i) most = larger(most, magnitude_of(terms[i]));
    const int field = static_cast<int>(warp_total(upper_bits_of(most), maximum{}) >> mantissa_bits % 32);
    // Of the terms, which are below 2^(field + 1 - bias).
    constexpr int below_level_0 = bias + spacing - 2 + least_unit;
    int level = (larger_of(field - below_level_0, 0) + spacing - 1) / spacing;
    if (level >= num_levels - 1) {
      level = num_levels - 1;
      remove_infinities(terms);
      if constexpr (has_scaled_level) {
        const int sum = cut_scaled(terms);
        if (static_cast<int>(lane) == level) of_lane += sum;
        --level;
      }
    }
    // Two levels at a time, which most terms need. Below level 0 all that is finite is zero.
    bits left;
#pragma unroll 1
    do {
      const long long sum = cut(terms, level, left), next = cut(terms, level - 1, left);
      if (static_cast<int>(lane) == level) of_lane += sum;
      if (static_cast<int>(lane) == level - 1) of_lane += next;
      level -= 2;
    } while (__any_sync(parts::full_mask, is_any(left)) && level >= 0);
    if (is_any(left)) seen |= exact::not_a_number;
  }

  // What the warp has: levels, and in one lane the flags.
  __device__ long long total() const {
    long long all = of_lane;
    if (__any_sync(parts::full_mask, seen != 0)) {
      long long flags = 0;
#pragma unroll
      for (int flag = 0; flag < 3; ++flag)
        flags |= static_cast<long long>(__any_sync(parts::full_mask, seen >> flag & 1)) << flag * flag_bits;
      if (threadIdx.x % parts::warp_threads == flags_lane) all = flags;
    }
    return all;
  }
  static __device__ unsigned seen_of(long long flags) {
    unsigned all = 0;
#pragma unroll
    for (int flag = 0; flag < 3; ++flag)
      if ((flags >> flag * flag_bits & ((1 << flag_bits) - 1)) != 0) all |= 1u << flag;
    return all;
  }

  // The same sum in integers of few bits: of a level at most 2^(spacing - 1), and a carry from the level below. All
  // lanes but the first 16 are zero.
  static __device__ long long settled(long long of_lane) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    if (lane == flags_lane) {
      long long flags = 0;
#pragma unroll
      for (int flag = 0; flag < 3; ++flag)
        flags |= static_cast<long long>(seen_of(of_lane) >> flag & 1) << flag * flag_bits;
      of_lane = flags;
    }
    const long long carried = lane < flags_lane - 1 ? (of_lane + (1ll << (spacing - 1))) >> spacing : 0;
    const long long before = __shfl_up_sync(parts::full_mask, carried, 1);
    of_lane -= carried << spacing;
    if (lane > 0 && lane < flags_lane) of_lane += before;
    return of_lane;
  }

 private:
  static __device__ int larger_of(int a, int b) { return a < b ? b : a; }
  static __device__ bool is_any(bits left) { return static_cast<bits>(left << 1) != 0; }  // other than +0 and -0
  static __device__ term number_of(bits pattern) {
    term number;
    memcpy(&number, &pattern, sizeof(term));
    return number;
  }

  // Takes the integers of a level from the terms. Returns their sum over the warp, in all lanes or the first, and what
  // is left of the thread's terms, as bits.
  static __device__ long long cut(term (&terms)[thread_terms], int level, bits& left) {
    const bits pattern =
        (static_cast<bits>(least_field + spacing * level) << mantissa_bits) | bits{1} << (mantissa_bits - 1);
    const term offset = number_of(pattern);
    bits sum = 0;
    left = 0;
#pragma unroll
    for (int i = 0; i < thread_terms; ++i) {
      const term rounded = parts::rounded_sum(terms[i], offset);
      sum += bits_of<bits>(rounded);
      terms[i] = parts::rounded_difference(terms[i], parts::rounded_difference(rounded, offset));
      left |= bits_of<bits>(terms[i]);
    }
    return sum_of_warp(static_cast<std::conditional_t<is_float, int, long long>>(sum - thread_terms * pattern));
  }
  static __device__ long long sum_of_warp(int sum) { return warp_total(sum, plus{}); }
  static __device__ long long sum_of_warp(long long sum) {
    constexpr int low_bits = 26;
    const int low = warp_total(static_cast<int>(sum & ((1 << low_bits) - 1)), plus{});
    return static_cast<long long>(warp_total(static_cast<int>(sum >> low_bits), plus{})) * (1ll << low_bits) +
           static_cast<unsigned>(low);
  }

  // The highest level, of terms from 2^114 on.
  static __device__ int cut_scaled(float (&terms)[thread_terms]) {
    constexpr int least = greatest_field - spacing - (mantissa_bits - spacing + 1);
    constexpr unsigned pattern =
        static_cast<unsigned>(greatest_field - scaled_by) << mantissa_bits | 1u << (mantissa_bits - 1);
    const float offset = number_of(pattern), up = number_of(static_cast<bits>(bias + scaled_by) << mantissa_bits),
                down = number_of(static_cast<bits>(bias - scaled_by) << mantissa_bits);
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < thread_terms; ++i) {
      if (static_cast<int>(bits_of<bits>(terms[i]) >> mantissa_bits & format::greatest_field) < least) continue;
      const float term = terms[i] * down, rounded = parts::rounded_sum(term, offset);
      sum += bits_of<bits>(rounded) - pattern;
      terms[i] = parts::rounded_difference(term, parts::rounded_difference(rounded, offset)) * up;
    }
    return warp_total(static_cast<int>(sum), plus{});
  }

  __device__ void remove_infinities(term (&terms)[thread_terms]) {
#pragma unroll
    for (int i = 0; i < thread_terms; ++i) {
      const unsigned what = seen_in(terms[i]);
      seen |= what;
      if (what != 0) terms[i] = 0;
    }
  }
};

// The sum of a warp's levels as words of 32 bits in two's complement: word i of a record in lane i. Lanes without a
// level have zero. |of_lane| is less than 2^62.
template <class Terms>
__device__ unsigned words_of_levels(long long of_lane) {
  using levels = exact_levels<Terms>;
  constexpr int spacing = levels::spacing, places = 62;
  using digit = std::conditional_t<spacing <= 30, unsigned, unsigned long long>;
  constexpr digit mask = (digit{1} << spacing) - 1;
  const int lane = threadIdx.x % parts::warp_threads;
  // 2^62 in each lane leaves no sign. What this adds is taken away as a constant: digits of its two's complement.
  constexpr int first_place = places / spacing;
  constexpr digit one = digit{1} << places % spacing;
  digit sum = lane < first_place ? 0 : lane == first_place ? mask + 1 - one : mask - one;
  const unsigned long long held = of_lane + (1ull << places);
#pragma unroll
  for (int piece = 0; piece * spacing <= places; ++piece) {
    const auto part = static_cast<digit>(held >> piece * spacing) & mask;
    const digit before = piece == 0 ? part : __shfl_up_sync(parts::full_mask, part, piece);
    if (lane >= piece) sum += before;
  }
  // Carries of more than one go to the neighbour. Those of one, which may run on, are found by adding the masks of
  // lanes that make one and of lanes that hand one on.
  const auto more = static_cast<unsigned>(sum >> spacing), carried = __shfl_up_sync(parts::full_mask, more, 1);
  sum = (sum & mask) + (lane > 0 ? carried : 0);
  const unsigned made = __ballot_sync(parts::full_mask, sum >> spacing != 0);
  sum &= mask;
  const unsigned handed_on = __ballot_sync(parts::full_mask, sum == mask);
  const unsigned carries = (handed_on + (made << 1)) ^ handed_on;
  sum = (sum + (carries >> lane & 1)) & mask;
  // Words begin at other places than digits, which are counted from one level below the least here.
  constexpr int shift = levels::record::lowest_exponent - levels::least_unit + spacing;
  static_assert(shift >= 0);
  const int place = parts::warp_threads * lane + shift, from = place / spacing - 1, by = place % spacing;
  const digit low = __shfl_sync(parts::full_mask, sum, from), high = __shfl_sync(parts::full_mask, sum, from + 1);
  const bool is_negative = (__shfl_sync(parts::full_mask, sum, parts::warp_threads - 1) >> (spacing - 1)) != 0;
  unsigned long long word = from < 0 ? 0 : low;
  if constexpr (spacing < 32) {
    const digit highest = __shfl_sync(parts::full_mask, sum, from + 2);
    word = (word | static_cast<unsigned long long>(high) << spacing |
            static_cast<unsigned long long>(highest) << 2 * spacing) >>
           by;
    if (from + 2 >= parts::warp_threads) word = is_negative ? ~0ull : 0;
  } else {
    word = word >> by | high << (spacing - by);
  }
  return static_cast<unsigned>(word);
}

// The first warp writes the sum of its lanes' levels, rounded once, or as a record.
template <class Terms, class OutputIteratorT>
__device__ void write_levels(long long of_lane, OutputIteratorT d_out) {
  using levels = exact_levels<Terms>;
  using record = typename Terms::total;
  using written = device::value_or<OutputIteratorT, record>;
  const int lane = threadIdx.x % parts::warp_threads;
  const unsigned seen = levels::seen_of(__shfl_sync(parts::full_mask, of_lane, levels::flags_lane));
  const unsigned word = words_of_levels<Terms>(lane < levels::flags_lane ? of_lane : 0);
  if constexpr (exact::is_total<written>) {
    __shared__ long long digits[record::num_digits];
    const unsigned above = __shfl_down_sync(parts::full_mask, word, 1);
    constexpr int last = record::num_digits - 1;
    if (lane <= last) digits[lane] = static_cast<long long>(word | (lane < last ? 0ull : std::uint64_t{above} << 32));
    __syncwarp();
    if (lane > 0) return;
    record total;
#pragma unroll
    for (int i = 0; i <= last; ++i) total.digits[i] = digits[i];
    total.flags = seen;
    total.carry();
    *d_out = total;
  } else {
    const bool is_negative = __shfl_sync(parts::full_mask, word, parts::warp_threads - 1) != 0;
    // The magnitude: words below the least that is not zero stay zero.
    const unsigned any = __ballot_sync(parts::full_mask, word != 0);
    const int least = __ffs(static_cast<int>(any)) - 1;
    const unsigned magnitude = !is_negative || lane < least ? word : lane == least ? 0 - word : ~word;
    const unsigned used = __ballot_sync(parts::full_mask, magnitude != 0);
    const int top = 31 - __clz(static_cast<int>(used));
    const unsigned first = __shfl_sync(parts::full_mask, magnitude, top),
                   second = __shfl_sync(parts::full_mask, magnitude, top - 1),
                   third = __shfl_sync(parts::full_mask, magnitude, top - 2);
    const unsigned below = top > 0 ? second : 0, last = top > 1 ? third : 0;
    const int by = __clz(static_cast<int>(first));
    const bool rest = (last << by | (top > 1 ? used & ((1u << (top - 2)) - 1) : 0)) != 0;
    const std::uint64_t kept_and_more =
        std::uint64_t{__funnelshift_l(below, first, by)} << 32 | __funnelshift_l(last, below, by);
    if (lane > 0) return;
    using format = exact::format_of<written>;
    if (seen == 0) {
      *d_out = rounded_number<written, record>(kept_and_more, rest, 32 * top + 31 - by, is_negative);
      return;
    }
    typename format::bits bits = format::nan;
    if (seen == exact::plus_infinity) bits = format::infinity;
    if (seen == exact::minus_infinity) bits = format::infinity | format::sign;
    written result;
    memcpy(static_cast<void*>(&result), &bits, sizeof(bits));
    *d_out = result;
  }
}

}  // namespace rungs::RUNGS_ABI::production
