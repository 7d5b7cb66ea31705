// The exact sum of floats and of products of floats, by the tests' oracle: one that no order of additions can fool.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracles/exact_sum.hpp"

namespace rungs::bench {

// Of finite floats and of products of two.
class exact_sum {
 public:
  void add(float item) { total_.add(tests::f32_format, bits_of(item)); }
  void add_product(float x, float y) { total_.add_product(tests::f32_format, bits_of(x), bits_of(y)); }

  // Rounded once, to nearest even; infinity where it is too large. An exact zero is +0.
  float rounded() const { return std::bit_cast<float>(static_cast<std::uint32_t>(total_.rounded(tests::f32_format))); }
  // The same to double: no product is too small for it, nor any sum of products too large.
  double in_double() const { return std::bit_cast<double>(total_.rounded(tests::f64_format)); }
  double minus(float item) const {
    exact_sum difference = *this;
    difference.add(-item);
    return difference.in_double();
  }

 private:
  static std::uint64_t bits_of(float item) { return std::bit_cast<std::uint32_t>(item); }
  tests::exact_total total_;
};

// A unit in the last place of a finite float.
inline double last_place(float value) {
  constexpr int digits = std::numeric_limits<float>::digits, least = std::numeric_limits<float>::min_exponent;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, (value == 0 || exponent < least ? least : exponent) - digits);
}

}  // namespace rungs::bench
