#include "oracles/exact_sum.hpp"

#include <algorithm>
#include <cstddef>

namespace rungs::tests {
namespace {

// Of bits that are finite: significand * 2^exponent.
struct parts {
  bool is_negative;
  std::uint64_t significand;
  int exponent;
};
parts take_apart(float_format of, std::uint64_t item) {
  const std::uint64_t mantissa = item & ((1ull << of.mantissa_bits) - 1);
  const int field = static_cast<int>((item & ~of.sign()) >> of.mantissa_bits);
  if (field == 0) return {(item & of.sign()) != 0, mantissa, of.least_exponent()};
  return {(item & of.sign()) != 0, mantissa | 1ull << of.mantissa_bits, of.least_exponent() + field - 1};
}

bool is_finite(float_format of, std::uint64_t item) { return (item & ~of.sign()) < of.infinity(); }
bool is_zero(float_format of, std::uint64_t item) { return (item & ~of.sign()) == 0; }

}  // namespace

void exact_total::add_many(bool is_negative, unsigned __int128 magnitude, int exponent, std::uint64_t times) {
  // In two halves, so that 2^62 of them fit.
  const auto low = static_cast<__int128>(static_cast<std::uint64_t>(magnitude)) * times;
  const auto high = static_cast<__int128>(magnitude >> 64) * times;
  counts_[static_cast<std::size_t>(exponent - lowest)] += is_negative ? -low : low;
  if (high != 0) counts_[static_cast<std::size_t>(exponent + 64 - lowest)] += is_negative ? -high : high;
}

void exact_total::add_special(bool is_nan, bool is_negative) {
  if (is_nan)
    nan_ = true;
  else if (is_negative)
    minus_infinity_ = true;
  else
    plus_infinity_ = true;
}

void exact_total::add(float_format of, std::uint64_t item, std::uint64_t times) {
  if (times == 0) return;
  if (!is_finite(of, item)) return add_special(of.is_nan(item), (item & of.sign()) != 0);
  const parts x = take_apart(of, item);
  add_many(x.is_negative, x.significand, x.exponent, times);
}

void exact_total::add_product(float_format of, std::uint64_t a, std::uint64_t b, std::uint64_t times) {
  if (times == 0) return;
  const bool is_negative = ((a ^ b) & of.sign()) != 0;
  if (!is_finite(of, a) || !is_finite(of, b))
    return add_special(of.is_nan(a) || of.is_nan(b) || is_zero(of, a) || is_zero(of, b), is_negative);
  const parts x = take_apart(of, a), y = take_apart(of, b);
  add_many(is_negative, static_cast<unsigned __int128>(x.significand) * y.significand, x.exponent + y.exponent, times);
}

void exact_total::add(bool is_negative, std::uint64_t magnitude, int exponent) {
  add_many(is_negative, magnitude, exponent, 1);
}

void exact_total::add(const exact_total& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  nan_ = nan_ || other.nan_;
  plus_infinity_ = plus_infinity_ || other.plus_infinity_;
  minus_infinity_ = minus_infinity_ || other.minus_infinity_;
}

std::uint64_t exact_total::rounded(float_format to) const {
  if (nan_ || (plus_infinity_ && minus_infinity_)) return to.nan();
  if (plus_infinity_) return to.infinity();
  if (minus_infinity_) return to.infinity() | to.sign();

  // The sum in binary, by carrying from each power of two to the next; what is carried out at the end tells the sign.
  constexpr std::size_t num_bits = num_counts + 128;
  std::vector<unsigned char> bits(num_bits);
  bool is_negative = false;
  for (const int factor : {1, -1}) {
    __int128 carried = 0;
    for (std::size_t i = 0; i < num_bits; ++i) {
      if (i < num_counts) carried += factor * counts_[i];
      bits[i] = static_cast<unsigned char>(carried & 1);
      carried >>= 1;
    }
    if (carried == 0) break;
    is_negative = true;
  }
  int leading = static_cast<int>(num_bits) - 1;
  while (leading >= 0 && bits[static_cast<std::size_t>(leading)] == 0) --leading;
  if (leading < 0) return 0;

  // What is kept are the bits from `last` on, which the least number of the format bounds.
  const int last = std::max(leading - to.mantissa_bits, to.least_exponent() - lowest);
  std::uint64_t kept = 0;
  for (int i = leading; i >= last; --i) kept = kept << 1 | bits[static_cast<std::size_t>(i)];
  const bool half = bits[static_cast<std::size_t>(last - 1)] != 0;
  const bool more = std::any_of(bits.begin(), bits.begin() + (last - 1), [](unsigned char bit) { return bit != 0; });
  if (half && (more || (kept & 1) != 0)) ++kept;

  // kept * 2^(last + lowest), where kept may have one bit more than fits, and is then a power of two.
  int exponent = last + lowest;
  if (kept >> (to.mantissa_bits + 1) != 0) {
    kept >>= 1;
    ++exponent;
  }
  const std::uint64_t sign = is_negative ? to.sign() : 0;
  if (kept >> to.mantissa_bits == 0) return sign | kept;  // below the least normal number
  const int field = exponent - to.least_exponent() + 1;
  if (static_cast<std::uint64_t>(field) >= to.infinity() >> to.mantissa_bits) return sign | to.infinity();
  return sign | static_cast<std::uint64_t>(field) << to.mantissa_bits | (kept & ((1ull << to.mantissa_bits) - 1));
}

}  // namespace rungs::tests
