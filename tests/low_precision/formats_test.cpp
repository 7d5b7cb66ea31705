// The formats of the tests against the toolkit's conversions on the host, both ways.
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "low_precision/formats.hpp"

namespace rungs::tests {
namespace {

float from_half(__half_raw raw) { return __half2float(__half(raw)); }

void expect_same_value(double expected, float found, int code) {
  SCOPED_TRACE(code);
  EXPECT_EQ(std::isnan(expected), std::isnan(found));
  if (std::isnan(expected)) return;
  EXPECT_EQ(expected, double{found});
  EXPECT_EQ(std::signbit(expected), std::signbit(found));
}

// Every point half way between neighbours, their neighbours among floats, all exponents, and numbers at random.
std::vector<float> values_for(const small_format& format) {
  std::vector<float> values;
  const auto add = [&](float value) {
    for (const float each : {value, std::nextafter(value, 0.0f), std::nextafter(value, 1e30f)}) {
      values.push_back(each);
      values.push_back(-each);
    }
  };
  for (int code = 0; code < format.num_finite; ++code) {
    add(static_cast<float>(format.value(code)));
    if (code + 1 < format.num_finite) add(static_cast<float>((format.value(code) + format.value(code + 1)) / 2));
  }
  for (int exponent = -149; exponent <= 127; ++exponent) add(std::ldexp(1.0f, exponent));
  add(std::numeric_limits<float>::max());
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(-std::numeric_limits<float>::infinity());
  std::mt19937 engine(5);
  for (int i = 0; i < 200'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    if (!std::isnan(value)) values.push_back(value);
    values.push_back(std::ldexp(static_cast<float>(static_cast<std::int32_t>(engine())), -31 + i % 20 - 8));
  }
  return values;
}

TEST(Formats, ValuesAreTheToolkits) {
  for (int code = 0; code < 256; ++code) {
    const auto storage = static_cast<__nv_fp8_storage_t>(code);
    expect_same_value(e4m3.value(code), from_half(__nv_cvt_fp8_to_halfraw(storage, __NV_E4M3)), code);
    expect_same_value(e5m2.value(code), from_half(__nv_cvt_fp8_to_halfraw(storage, __NV_E5M2)), code);
    __nv_fp8_e8m0 scale;
    scale.__x = storage;
    expect_same_value(value_of_e8m0(code), static_cast<float>(scale), code);
  }
  for (int code = 0; code < 16; ++code)
    expect_same_value(e2m1.value(code),
                      from_half(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(code), __NV_E2M1)), code);
}

TEST(Formats, SpecifiedValues) {
  EXPECT_EQ(e4m3.greatest(), 448);
  EXPECT_EQ(e4m3.value(1), 0x1p-9);
  EXPECT_EQ(e4m3.value(8), 0x1p-6);
  EXPECT_TRUE(std::isnan(e4m3.value(0xff)));
  EXPECT_EQ(e5m2.greatest(), 57344);
  EXPECT_EQ(e5m2.value(1), 0x1p-16);
  EXPECT_EQ(e5m2.value(0xfc), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(e5m2.value(0x7d)));
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 8; ++code) {
    EXPECT_EQ(e2m1.value(code), magnitudes[code]);
    EXPECT_EQ(e2m1.value(code + 8), -magnitudes[code]);
  }
}

TEST(Formats, NearestCodesAreTheToolkits) {
  const nearest_code to_e4m3(e4m3), to_e5m2(e5m2), to_e2m1(e2m1);
  for (const float value : values_for(e4m3))
    ASSERT_EQ(to_e4m3(value), int{__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)}) << value;
  for (const float value : values_for(e5m2))
    ASSERT_EQ(to_e5m2(value), int{__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2)}) << value;
  for (const float value : values_for(e2m1))
    ASSERT_EQ(to_e2m1(value), int{__nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest)}) << value;
}

TEST(Formats, PowersOfTwoAreTheToolkits) {
  for (const float greatest : values_for(e4m3)) {
    if (!(greatest > 0x1p-110f) || std::isinf(greatest)) continue;
    const auto up = scale_of(scheme::fp8_by_powers, greatest, false, 1);
    ASSERT_EQ(static_cast<int>(up.scale),
              int{__nv_cvt_float_to_e8m0(greatest / 448.0f, __NV_SATFINITE, cudaRoundPosInf)})
        << greatest;
    const auto down = scale_of(scheme::mxfp8, greatest, false, 1);
    ASSERT_EQ(static_cast<int>(down.scale),
              int{__nv_cvt_float_to_e8m0(greatest / 256.0f, __NV_SATFINITE, cudaRoundZero)})
        << greatest;
  }
}

// One group by hand: 448 * 2 and what belongs to it.
TEST(Formats, AGroupByHand) {
  const auto of = scale_of(scheme::fp8_by_floats, 896, false, 1);
  EXPECT_EQ(of.scale, 2);
  EXPECT_EQ(code_of(scheme::fp8_by_floats, 896, of), 0x7e);
  EXPECT_EQ(code_of(scheme::fp8_by_floats, -2, of), 0xb8);
  const auto fp4 = scale_of(scheme::mxfp4, 7.5f, false, 1);
  EXPECT_EQ(fp4.scale, 127);
  EXPECT_EQ(code_of(scheme::mxfp4, 7.5f, fp4), 7);
  EXPECT_EQ(code_of(scheme::mxfp4, -2.5f, fp4), 12);
  const auto nv = scale_of(scheme::nvfp4, 12, false, 0.5f);
  EXPECT_EQ(nv.scale, 0x48);
  EXPECT_EQ(code_of(scheme::nvfp4, 5, nv), 4);
}

}  // namespace
}  // namespace rungs::tests
