// Sums and dot products without rounding, then rounded once. Written apart from rungs::exact_sum, and as simple as it
// goes: for every power of two an integer counts it. Bits in, bits out: no floating-point operation is used.
#pragma once

#include <cstdint>
#include <vector>

namespace rungs::tests {

// A format of IEEE 754: a sign, a biased exponent and a mantissa, from the highest bit to the lowest.
struct float_format {
  int exponent_bits, mantissa_bits;

  constexpr std::uint64_t infinity() const { return ((1ull << exponent_bits) - 1) << mantissa_bits; }
  constexpr std::uint64_t nan() const { return infinity() | 1ull << (mantissa_bits - 1); }
  constexpr std::uint64_t sign() const { return 1ull << (exponent_bits + mantissa_bits); }
  // The exponent of the least number.
  constexpr int least_exponent() const { return 2 - (1 << (exponent_bits - 1)) - mantissa_bits; }
  constexpr bool is_nan(std::uint64_t bits) const { return (bits & ~sign()) > infinity(); }
};
inline constexpr float_format f16_format{5, 10}, bf16_format{8, 7}, f32_format{8, 23}, f64_format{11, 52};

class exact_total {
 public:
  // The items are bits of these formats. Up to 2^62 terms.
  void add(float_format of, std::uint64_t item, std::uint64_t times = 1);
  void add_product(float_format of, std::uint64_t a, std::uint64_t b, std::uint64_t times = 1);
  void add(const exact_total& other);
  // magnitude * 2^exponent.
  void add(bool is_negative, std::uint64_t magnitude, int exponent);

  // The bits of the sum, to nearest, ties to even. An exact zero is +0. All NaN have the bits of nan().
  std::uint64_t rounded(float_format to) const;

 private:
  void add_many(bool is_negative, unsigned __int128 magnitude, int exponent, std::uint64_t times);
  void add_special(bool is_nan, bool is_negative);

  // counts_[i] * 2^(i + lowest): products of f64 begin at 2^-2148, and end below 2^2048. A record reaches further.
  static constexpr int lowest = -2200, num_counts = 2200 - lowest;
  std::vector<__int128> counts_ = std::vector<__int128>(num_counts);
  bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

}  // namespace rungs::tests
