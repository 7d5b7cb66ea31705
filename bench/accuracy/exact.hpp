// The exact sum of floats, in integers: an oracle that no order of additions can fool.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace rungs::bench {

// Of finite floats, up to 2^39 of them: a sum of significands for each exponent.
class exact_sum {
 public:
  void add(float item, std::int64_t times = 1) {
    std::uint32_t bits;
    std::memcpy(&bits, &item, sizeof bits);
    const std::uint32_t exponent = bits >> 23 & 0xff;
    const auto significand = static_cast<std::int64_t>((bits & 0x7fffff) | (exponent == 0 ? 0 : 0x800000));
    significands_[exponent] += bits >> 31 ? -times * significand : times * significand;
  }

  // Rounded once, to nearest even; infinity where it is too large. An exact zero is +0.
  float rounded() const { return round<float>(); }
  // The same to double: no float is too small for it, nor any sum of floats too large.
  double in_double() const { return round<double>(); }
  double minus(float item) const {
    exact_sum difference = *this;
    difference.add(item, -1);
    return difference.in_double();
  }

 private:
  static constexpr int num_words = 12;  // of 32 bits; the lowest bit weighs 2^-149
  static constexpr int lowest_exponent = -149;

  template <class T>
  T round() const {
    std::array<std::uint32_t, num_words> words{};
    for (int exponent = 0; exponent < 255; ++exponent) {
      const int shift = exponent == 0 ? 0 : exponent - 1;
      const auto significand = static_cast<__int128>(significands_[static_cast<std::size_t>(exponent)]);
      add_shifted(words, significand * (std::int64_t{1} << shift % 32), shift / 32);
    }
    const bool negative = words.back() >> 31;
    if (negative) {
      for (auto& word : words) word = ~word;
      add_shifted(words, 1, 0);
    }
    int top = 32 * num_words - 1;
    const auto bit = [&](int at) { return words[static_cast<std::size_t>(at / 32)] >> at % 32 & 1; };
    while (top >= 0 && bit(top) == 0) --top;
    if (top < 0) return 0;
    std::uint64_t leading = 0;
    for (int i = 0; i < 64; ++i) leading = leading << 1 | (top >= i ? bit(top - i) : 0);
    for (int at = top - 64; at >= 0; --at) leading |= bit(at);  // whatever is below only breaks a tie
    const T magnitude = std::ldexp(static_cast<T>(leading), top - 63 + lowest_exponent);
    return negative ? -magnitude : magnitude;
  }

  static void add_shifted(std::array<std::uint32_t, num_words>& words, __int128 value, int first) {
    std::uint64_t carry = 0;
    for (int i = first; i < num_words; ++i) {
      const std::uint64_t sum =
          std::uint64_t{words[static_cast<std::size_t>(i)]} + static_cast<std::uint32_t>(value) + carry;
      words[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(sum);
      carry = sum >> 32;
      value >>= 32;
    }
  }

  std::array<std::int64_t, 255> significands_{};
};

// A unit in the last place of a finite float.
inline double last_place(float value) {
  constexpr int digits = std::numeric_limits<float>::digits, least = std::numeric_limits<float>::min_exponent;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, (value == 0 || exponent < least ? least : exponent) - digits);
}

}  // namespace rungs::bench
