// An exact sum of doubles: one fixed-point number wide enough for every finite double, rounded once at the end. f32
// items are doubles, so the same accumulator is the reference for f32 and f64.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rungs::tests {

class superaccumulator {
 public:
  // Finite values only.
  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & ((1ull << 52) - 1);
    const std::uint64_t significand = biased == 0 ? fraction : fraction | 1ull << 52;
    add_shifted(significand, (biased == 0 ? 1 : biased) - 1, bits >> 63 != 0);
  }

  // integer * 2^exponent
  void add(__int128 integer, int exponent) {
    const bool negative = integer < 0;
    const auto magnitude =
        negative ? -static_cast<unsigned __int128>(integer) : static_cast<unsigned __int128>(integer);
    add_shifted(static_cast<std::uint64_t>(magnitude), exponent + lowest_exponent, negative);
    add_shifted(static_cast<std::uint64_t>(magnitude >> 64), exponent + lowest_exponent + 64, negative);
  }

  void add(const superaccumulator& other) {
    superaccumulator copy = other;
    copy.settle();
    settle();
    for (int i = 0; i < num_limbs; ++i) limbs_[i] += copy.limbs_[i];
    ++pending_;
  }

  // Rounded once, to nearest even, to float or double. An exact zero is +0.
  template <class Float>
  Float rounded() const {
    constexpr int digits = std::numeric_limits<Float>::digits;
    constexpr int least_bit =
        std::numeric_limits<Float>::min_exponent - digits + lowest_exponent;  // of the smallest denormal
    superaccumulator magnitude = *this;
    magnitude.settle();
    const bool negative = magnitude.limbs_[num_limbs - 1] < 0;
    if (negative) {
      for (auto& limb : magnitude.limbs_) limb = -limb;
      magnitude.settle();
    }
    int top = num_limbs - 1;
    while (top >= 0 && magnitude.limbs_[top] == 0) --top;
    if (top < 0) return Float{0};
    const int top_bit = top * limb_bits + std::bit_width(static_cast<std::uint64_t>(magnitude.limbs_[top])) - 1;
    const int low_bit = std::max(top_bit - digits + 1, least_bit);  // weight of the result's last place
    std::uint64_t kept = 0;
    for (int b = top_bit; b >= low_bit; --b) kept = kept << 1 | magnitude.bit(b);
    if (low_bit > 0 && magnitude.bit(low_bit - 1)) {
      bool sticky = false;
      for (int b = 0; b < low_bit - 1 && !sticky; ++b) sticky = magnitude.bit(b);
      if (sticky || (kept & 1)) ++kept;
    }
    const Float result = std::ldexp(static_cast<Float>(kept), low_bit - lowest_exponent);  // inf where it overflows
    return negative ? -result : result;
  }

 private:
  static constexpr int limb_bits = 32, num_limbs = 72;  // 2304 bits: 2098 for the doubles, the rest for carries
  static constexpr int lowest_exponent = 1074;          // bit 0 weighs 2^-1074
  static constexpr std::int64_t base = std::int64_t{1} << limb_bits;

  void add_shifted(std::uint64_t significand, int position, bool negative) {
    if (significand == 0) return;
    const unsigned __int128 wide = static_cast<unsigned __int128>(significand) << (position % limb_bits);
    const int limb = position / limb_bits;
    for (int i = 0; i < 3; ++i) {
      const auto part = static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> (limb_bits * i)));
      limbs_[limb + i] += negative ? -part : part;
    }
    if (++pending_ == 1 << 30) settle();  // a limb holds 2^31 additions of 32 bits
  }

  // Carries: every limb but the last is in [0, 2^32).
  void settle() {
    for (int i = 0; i + 1 < num_limbs; ++i) {
      const std::int64_t carry = limbs_[i] >> limb_bits;  // floor
      limbs_[i] -= carry * base;
      limbs_[i + 1] += carry;
    }
    pending_ = 0;
  }

  bool bit(int index) const { return limbs_[index / limb_bits] >> (index % limb_bits) & 1; }

  std::array<std::int64_t, num_limbs> limbs_{};
  int pending_ = 0;
};

}  // namespace rungs::tests
