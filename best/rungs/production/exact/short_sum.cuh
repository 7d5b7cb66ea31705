// Exact sums in a few words of registers: what windows hold, added up over a warp, a block and a grid.
#pragma once

#include <cstdint>
#include <type_traits>

#include "rungs/exact/record.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/exact/terms.cuh"

namespace rungs::RUNGS_ABI::production {

// The aggregate of a warp's values, in all lanes.
template <class T, class Op>
__device__ T warp_total(T value, Op op) {
  value = parts::warp_reduce(value, op);
  return parts::has_redux ? value : __shfl_sync(parts::full_mask, value, 0);
}

// The sum of a warp's values, in the first lane. Halves of words are added up in one instruction each.
__device__ inline long long total_of_lanes(long long value) {
  if constexpr (!parts::has_redux) return parts::warp_reduce(value, plus{});
  const auto of_bits = [&](int first) {
    return static_cast<long long>(parts::warp_reduce(static_cast<int>(value >> first & 0xffff), plus{})) << first;
  };
  const auto top = static_cast<long long>(parts::warp_reduce(static_cast<int>(value >> 48), plus{}));
  return of_bits(0) + of_bits(16) + of_bits(32) + top * (1ll << 48);
}

// To nearest, ties to even: a number whose leading bit has the place `leading`, counted from that of a record's lowest
// digit. That bit and the next 63 are kept_and_more, which is zero of a number that is; `rest`: whether any bit below
// is one.
template <class Result, class Total>
__device__ Result rounded_number(std::uint64_t kept_and_more, bool rest, int leading, bool is_negative) {
  using format = exact::format_of<Result>;
  constexpr int finest = format::least_exponent + 1 - Total::lowest_exponent;
  const int coarse = leading - format::mantissa_bits, last = coarse > finest ? coarse : finest;
  const int dropped = 63 - leading + last;  // at least 11
  std::uint64_t kept = dropped < 64 ? kept_and_more >> dropped : 0;
  const std::uint64_t below = dropped < 64 ? kept_and_more << (64 - dropped) : dropped == 64 ? kept_and_more : 0;
  if (below >> 63 != 0 && ((kept & 1) != 0 || below << 1 != 0 || rest)) ++kept;
  if (last - finest >= format::greatest_field)
    kept = format::infinity;
  else
    kept += static_cast<std::uint64_t>(last - finest) << format::mantissa_bits;
  if (kept > format::infinity) kept = format::infinity;
  const auto bits =
      static_cast<typename format::bits>(kept_and_more == 0 ? 0 : kept | (is_negative ? format::sign : 0));
  Result result;
  static_assert(sizeof(result) == sizeof(bits));
  memcpy(static_cast<void*>(&result), &bits, sizeof(bits));
  return result;
}

// (words[0] + words[1] * 2^32 + …) * 2^(32 * first + lowest_exponent): digits of a record, from the first that may be
// other than zero. The last word bears the sign.
template <int num_words_>
struct short_sum {
  static constexpr int num_words = num_words_;
  static constexpr int none = 1 << 20;  // `first` of a sum of nothing, whose words are zero
  static constexpr int elsewhere = -1;  // `first` of a sum that does not fit
  unsigned words[num_words];
  int first;

  static __device__ short_sum nothing() {
    short_sum sum{};
    sum.first = none;
    return sum;
  }
  __device__ bool fits() const { return first != elsewhere; }
  __device__ int sign() const { return static_cast<int>(words[num_words - 1]) >> 31; }

  // The same in more words.
  template <int more>
  __device__ short_sum<more> widened() const {
    short_sum<more> wide;
    wide.first = first;
#pragma unroll
    for (int i = 0; i < more; ++i) wide.words[i] = i < num_words ? words[i] : sign();
    return wide;
  }

  // What it adds to a record's digit i, which has a sign where the last word is.
  template <class Total>
  __device__ long long in_digit(int i) const {
    long long digit = 0;
#pragma unroll
    for (int j = 0; j < num_words; ++j) {
      if (i - first != j) continue;
      if (j + 1 == num_words)
        digit = static_cast<int>(words[j]);
      else
        digit = words[j] | (i + 1 < Total::num_digits ? 0 : static_cast<long long>(words[j + 1]) << 32);
    }
    return digit;
  }

  // As a record's.
  template <class Result, class Total>
  __device__ Result rounded() const {
    const bool is_negative = sign() != 0;
    unsigned held[num_words];
#pragma unroll
    for (int i = 0; i < num_words; ++i) held[i] = words[i];
    negate_if(is_negative, held);
    // The leading bit goes to the top.
    unsigned& top = held[num_words - 1];
    int leading = 32 * (first + num_words) - 1;
#pragma unroll
    for (int step = 1; step < num_words; ++step) {
      if (top != 0) continue;
#pragma unroll
      for (int i = num_words - 1; i > 0; --i) held[i] = held[i - 1];
      held[0] = 0, leading -= 32;
    }
    const int by = __clz(static_cast<int>(top));
    leading -= by;
    unsigned rest = 0;
#pragma unroll
    for (int i = num_words - 1; i > 0; --i) {
      held[i] = __funnelshift_l(held[i - 1], held[i], by % 32);
      rest |= i < num_words - 2 ? held[i] : 0;
    }
    rest |= held[0] << by % 32;
    const std::uint64_t kept_and_more = std::uint64_t{top} << 32 | held[num_words - 2];
    return rounded_number<Result, Total>(kept_and_more, rest != 0, leading, is_negative);
  }
};

// The sum of the sums of a warp's lanes; all call it, and the first has it. It does not fit where one of them does not,
// or where two begin more than a word apart. With one word more it has room for the later ones; `num_words` are to
// have room for carries, too.
template <int num_words, int of_lane>
__device__ short_sum<num_words> sum_of_lanes(const short_sum<of_lane>& mine) {
  static_assert(num_words > of_lane);
  short_sum<num_words> sum;
  sum.first = warp_total(mine.first, minimum{});
  const bool is_later = mine.first == sum.first + 1;
  const bool fits = sum.first == mine.first || is_later || mine.first == mine.none;
  if (!__all_sync(parts::full_mask, fits)) sum.first = sum.elsewhere;
  long long carried = 0;
#pragma unroll
  for (int i = 0; i < num_words; ++i) {
    if (i <= of_lane) {
      const unsigned here = i < of_lane ? mine.words[i] : mine.sign(), before = i > 0 ? mine.words[i - 1] : 0;
      const unsigned word = is_later ? before : here;
      // Halves, whose sums fit words. The last has the sign.
      const int high = i < of_lane ? static_cast<int>(word >> 16) : static_cast<int>(word) >> 16;
      carried += parts::warp_reduce(static_cast<int>(word & 0xffff), plus{});
      carried += parts::warp_reduce(high, plus{}) * 65536ll;
    }
    sum.words[i] = static_cast<unsigned>(carried);
    carried >>= 32;
  }
  return sum;
}

}  // namespace rungs::RUNGS_ABI::production
