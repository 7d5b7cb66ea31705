// Adding floating-point numbers as integers: the common path of exact sums.
//
// With M = 1.5 * 2^k and |x| <= 2^(k-1), the bits of fl(x + M) less the bits of M are the integer nearest to
// x / 2^(k-p), where a mantissa has p bits. So bit patterns are added up as integers. x - (fl(x + M) - M) is the exact
// remainder, and the next level adds it in the same way, p bits lower. Where all remainders of the last level are zero
// and no |x| is above 2^(k-1), the integers hold all of the terms.
#pragma once

#include <type_traits>

#include "rungs/parts/compensated.cuh"
#include "rungs/production/exact/counters.cuh"
#include "rungs/production/exact/short_sum.cuh"
#include "rungs/production/exact/terms.cuh"

namespace rungs::RUNGS_ABI::production {

// The greatest such magnitude of numbers up to `power`, a power of two; of doubles, below it, for want of the lower
// half.
__device__ inline float limit_of(float power) { return power; }
__device__ inline unsigned limit_of(double power) { return magnitude_of(power) - 1; }

template <class Term, class Total, int num_levels>
struct exact_window {
  using format = exact::format_of<Term>;
  using bits = typename format::bits;
  using signed_bits = std::make_signed_t<bits>;
  static constexpr int level_bits = format::mantissa_bits;
  using magnitude = decltype(magnitude_of(Term{}));
  static constexpr int bias = format::greatest_field / 2;
  // The last level is not finer than the least number and the lowest digit; M is a number, and the sums fit the digits.
  static constexpr int finest = format::least_exponent + 1, lowest = Total::lowest_exponent;
  static constexpr int least_k = num_levels * level_bits + (finest > lowest ? finest : lowest);
  static constexpr int most_k = 32 * (Total::num_digits - 2) - 1 + lowest + level_bits;
  static constexpr int greatest_k = most_k < bias ? most_k : bias;
  // After so many terms, each less than 2^51, the sums may be full.
  static constexpr bool may_fill = sizeof(Term) == 8;
  static constexpr int most_terms = 1 << 11;
  // Words for what 2^22 floats, or 2^16 doubles, add up to: less than 2^91 or 2^120, and shifted by 31.
  static constexpr int num_words = may_fill ? 5 : 4;

  int k = 0;
  magnitude limit{};  // of 2^(k-1); zero: there is no window yet
  Term highest_offset;
  long long sums[num_levels];

  __device__ bool is_placed() const { return limit != magnitude{}; }

  // Adds terms[0] to terms[count - 1] of all lanes of the warp, which all call it; false, and nothing is added, where
  // one of them does not fit the window.
  template <int count, class Terms>
  __device__ bool add(const Terms& terms) {
    Term offset[num_levels];
    offset[0] = highest_offset;
#pragma unroll
    for (int level = 1; level < num_levels; ++level) offset[level] = offset[level - 1] * power_of_two(-level_bits);
    bits of_tile[num_levels] = {};
    bits left = 0;
    magnitude most{};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      Term rest = terms[i];
      most = larger(most, magnitude_of(rest));
#pragma unroll
      for (int level = 0; level < num_levels; ++level) {
        const Term rounded = parts::rounded_sum(rest, offset[level]);
        of_tile[level] += bits_of<bits>(rounded);
        rest = parts::rounded_difference(rest, parts::rounded_difference(rounded, offset[level]));
      }
      left |= bits_of<bits>(rest);
    }
    const bool fits = static_cast<bits>(left << 1) == 0 && most <= limit;
    if (!__all_sync(parts::full_mask, fits)) return false;
#pragma unroll
    for (int level = 0; level < num_levels; ++level)
      sums[level] += static_cast<signed_bits>(of_tile[level] - count * bits_of<bits>(offset[level]));
    return true;
  }

  // Begins a window in which numbers up to four times one with these upper bits fit.
  __device__ void place(unsigned most) {
    k = static_cast<int>(most >> level_bits % 32) - bias + 3;
    k = k < least_k ? least_k : k > greatest_k ? greatest_k : k;
    limit = limit_of(power_of_two(k - 1));
    highest_offset = 1.5f * power_of_two(k);
#pragma unroll
    for (int level = 0; level < num_levels; ++level) sums[level] = 0;
  }

  // Adds the sums to the thread's counters. All lanes of the warp have the same window.
  __device__ void empty() {
#pragma unroll
    for (int level = 0; level < num_levels; ++level) {
      const unsigned words[2] = {static_cast<unsigned>(sums[level]), static_cast<unsigned>(sums[level] >> 32)};
      thread_counters<Total, Term>::add(words, position_of(level));
      sums[level] = 0;
    }
  }
  // The digits that this may change: 64 bits, shifted, and two carries.
  __device__ int first_digit() const { return position_of(num_levels - 1) / 32; }
  __device__ int last_digit() const { return position_of(0) / 32 + 4; }

  // What the warp's sums add up to, in the first lane.
  __device__ short_sum<num_words> total_of_warp() const {
    if (!is_placed()) return short_sum<num_words>::nothing();
    // Of few bits each, so that their sums fit words.
    constexpr int level_pieces = may_fill ? 2 : 1, piece_bits = level_bits / level_pieces;
    constexpr int num_pieces = num_levels * level_pieces;
    long long of_word[num_words + 2] = {}, carried = 0;
#pragma unroll
    for (int i = 0; i <= num_pieces; ++i) {
      if (i % level_pieces == 0 && i < num_pieces) carried += sums[num_levels - 1 - i / level_pieces];
      const int piece = static_cast<int>(i < num_pieces ? carried & ((1 << piece_bits) - 1) : carried);
      carried >>= piece_bits;
      const long long sum = parts::warp_reduce(piece, plus{}) * (1ll << i * piece_bits % 32);
      of_word[i * piece_bits / 32] += sum & 0xffffffff;
      of_word[i * piece_bits / 32 + 1] += sum >> 32;
    }
    const int position = position_of(num_levels - 1), by = position % 32;
    short_sum<num_words> total;
    total.first = position / 32;
    unsigned before = 0;
    carried = 0;
#pragma unroll
    for (int i = 0; i < num_words; ++i) {
      carried += of_word[i];
      const auto word = static_cast<unsigned>(carried);
      total.words[i] = __funnelshift_l(before, word, by);
      before = word;
      carried >>= 32;
    }
    return total;
  }

 private:
  __device__ int position_of(int level) const { return k - (level + 1) * level_bits - lowest; }
  static __device__ Term power_of_two(int exponent) {
    const bits pattern = static_cast<bits>(exponent + bias) << level_bits;
    Term power;
    memcpy(&power, &pattern, sizeof(Term));
    return power;
  }
};

}  // namespace rungs::RUNGS_ABI::production
