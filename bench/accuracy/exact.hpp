// The exact sum of floats and of products of floats, in integers: an oracle that no order of additions can fool.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace rungs::bench {

// Of finite floats and of products of two, up to 2^39 of them: a sum of integers for each exponent.
class exact_sum {
 public:
  void add(float item, std::int64_t times = 1) { add_product(item, 1, times); }
  void add_product(float x, float y, std::int64_t times = 1) {
    const taken_apart a = take_apart(x), b = take_apart(y);
    integers_[static_cast<std::size_t>(a.exponent + b.exponent)] +=
        static_cast<__int128>(a.significand * b.significand) * times;
  }

  // Rounded once, to nearest even; infinity where it is too large. An exact zero is +0.
  float rounded() const { return round<float>(); }
  // The same to double: no product is too small for it, nor any sum of products too large.
  double in_double() const { return round<double>(); }
  double minus(float item) const {
    exact_sum difference = *this;
    difference.add(item, -1);
    return difference.in_double();
  }

 private:
  static constexpr int num_words = 19;  // of 32 bits; the lowest bit weighs 2^-298
  static constexpr int lowest_exponent = 2 * -149;
  static constexpr std::size_t num_exponents = 2 * 253 + 1;

  // A float is significand * 2^(exponent - 149).
  struct taken_apart {
    std::int64_t significand;
    int exponent;
  };
  static taken_apart take_apart(float item) {
    std::uint32_t bits;
    std::memcpy(&bits, &item, sizeof bits);
    const int biased = bits >> 23 & 0xff;
    const auto magnitude = static_cast<std::int64_t>((bits & 0x7fffff) | (biased == 0 ? 0 : 0x800000));
    return {bits >> 31 ? -magnitude : magnitude, biased == 0 ? 0 : biased - 1};
  }

  template <class T>
  T round() const {
    constexpr int digits = std::numeric_limits<T>::digits;
    std::array<std::uint32_t, num_words> words{};
    for (int exponent = 0; exponent < static_cast<int>(num_exponents); ++exponent) {
      const __int128 integer = integers_[static_cast<std::size_t>(exponent)];
      add_shifted(words, integer * (std::int64_t{1} << exponent % 32), exponent / 32);
    }
    const bool negative = words.back() >> 31;
    if (negative) {
      for (auto& word : words) word = ~word;
      add_shifted(words, 1, 0);
    }
    int top = 32 * num_words - 1;
    const auto bit = [&](int at) { return words[static_cast<std::size_t>(at / 32)] >> at % 32 & 1; };
    while (top >= 0 && bit(top) == 0) --top;
    // The lowest bit that the result can hold, and the bits from there up. Denormals hold fewer.
    const int least = std::max(0, std::numeric_limits<T>::min_exponent - digits - lowest_exponent);
    const int lowest = std::max(least, top - digits + 1);
    std::uint64_t kept = 0;
    for (int at = top; at >= lowest; --at) kept = kept << 1 | bit(at);
    bool is_more_than_half = false;
    for (int at = lowest - 2; at >= 0; --at) is_more_than_half = is_more_than_half || bit(at);
    if (lowest > 0 && bit(lowest - 1) && (is_more_than_half || (kept & 1) != 0)) ++kept;
    const T magnitude = std::ldexp(static_cast<T>(kept), lowest + lowest_exponent);
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

  std::array<__int128, num_exponents> integers_{};
};

// A unit in the last place of a finite float.
inline double last_place(float value) {
  constexpr int digits = std::numeric_limits<float>::digits, least = std::numeric_limits<float>::min_exponent;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, (value == 0 || exponent < least ? least : exponent) - digits);
}

}  // namespace rungs::bench
