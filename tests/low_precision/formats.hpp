// The formats of low precision, written from their specifications: OCP 8-bit floating point 1.0 (e4m3, e5m2) and OCP
// Microscaling 1.0 (e2m1, e8m0). All values are doubles, which hold them and the points half way between them exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace rungs::tests {

// A sign, then an exponent, then a mantissa; subnormal where the exponent is 0.
struct small_format {
  int exponent_bits, mantissa_bits, bias;
  int num_finite;     // magnitudes 0 … num_finite - 1 are finite
  int infinity = -1;  // the magnitude that is infinity, if any; what is above the finite ones otherwise is NaN

  int magnitude_bits() const { return exponent_bits + mantissa_bits; }

  double value(int code) const {
    const int magnitude = code & ((1 << magnitude_bits()) - 1);
    const double sign = code >> magnitude_bits() & 1 ? -1 : 1;
    if (magnitude == infinity) return sign * std::numeric_limits<double>::infinity();
    if (magnitude >= num_finite) return std::numeric_limits<double>::quiet_NaN();
    const int exponent = magnitude >> mantissa_bits, mantissa = magnitude & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  double greatest() const { return value(num_finite - 1); }
};
inline constexpr small_format e4m3{4, 3, 7, 0x7f}, e5m2{5, 2, 15, 0x7c, 0x7c}, e2m1{2, 1, 1, 8};

// The finite code nearest to a value: to be found between two neighbours, on the even one's side where it lies half
// way. What is beyond the greatest is the greatest.
class nearest_code {
 public:
  explicit nearest_code(const small_format& format) : format_(format) {
    for (int code = 0; code + 1 < format.num_finite; ++code)
      half_ways_.push_back((format.value(code) + format.value(code + 1)) / 2);
  }
  // Of a value that is not NaN.
  int operator()(double value) const {
    const double magnitude = std::fabs(value);
    int code = static_cast<int>(std::lower_bound(half_ways_.begin(), half_ways_.end(), magnitude) - half_ways_.begin());
    const bool lies_half_way = code < static_cast<int>(half_ways_.size()) && half_ways_[code] == magnitude;
    if (lies_half_way && code % 2 == 1) ++code;
    return code | (std::signbit(value) ? 1 << format_.magnitude_bits() : 0);
  }

 private:
  small_format format_;
  std::vector<double> half_ways_;
};

inline double value_of_e8m0(int code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
}

// --- quantisation of a group, as rungs/rows/low_precision.cuh says it

enum class scheme { fp8_by_floats, fp8_by_powers, mxfp8, mxfp4, nvfp4 };

constexpr bool is_fp4(scheme of) { return of == scheme::mxfp4 || of == scheme::nvfp4; }

struct quantised_group {
  double scale;  // as it is stored: a float's value, or a code of eight bits
  bool scale_is_nan;
  float factor;
};

// Of a group whose greatest magnitude is `greatest`, which is finite, or has a NaN.
inline quantised_group scale_of(scheme how, float greatest, bool has_nan, float global_scale) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (has_nan) return {how == scheme::fp8_by_floats ? 0.0 : how == scheme::nvfp4 ? 0x7f : 255.0, true, nan};
  static const nearest_code to_e4m3(e4m3);
  const auto by_power = [](int exponent) -> quantised_group {
    const int clamped = std::clamp(exponent, -127, 127);
    return {clamped + 127.0, false, static_cast<float>(std::ldexp(1.0, -clamped))};
  };
  const float by_448 = std::max(greatest / 448.0f, std::numeric_limits<float>::min());
  switch (how) {
    case scheme::fp8_by_floats:
      return {by_448, false, 1 / by_448};
    case scheme::fp8_by_powers: {
      int exponent = -127;
      while (std::ldexp(1.0, exponent) < by_448) ++exponent;
      return by_power(exponent);
    }
    case scheme::mxfp8:
      return by_power(greatest == 0 ? -127 : std::ilogb(greatest) - 8);
    case scheme::mxfp4:
      return by_power(greatest == 0 ? -127 : std::ilogb(greatest) - 2);
    case scheme::nvfp4: {
      const float wanted = greatest / 6.0f * (1 / global_scale);
      const int code = to_e4m3(wanted);
      const float step = static_cast<float>(e4m3.value(code)) * global_scale;
      return {double(code), false, code == 0 ? 0 : 1 / step};
    }
  }
  return {};
}

// The code of one item of the group.
inline int code_of(scheme how, float item, const quantised_group& of) {
  static const nearest_code to_e4m3(e4m3), to_e2m1(e2m1);
  if (is_fp4(how)) return of.scale_is_nan ? 7 | (std::signbit(item) ? 8 : 0) : to_e2m1(item * of.factor);
  return of.scale_is_nan ? 0x7f : to_e4m3(item * of.factor);
}

}  // namespace rungs::tests
