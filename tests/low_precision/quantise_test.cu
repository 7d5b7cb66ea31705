// Quantisation against the formats on the host, bit for bit: all bf16 items, scales of all sizes, groups of zeros,
// subnormals, infinities and NaN, odd shapes, any alignment, replayed graphs, errors.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <rungs/rows/low_precision.cuh>
#include <string>
#include <vector>

#include "gpu_test.hpp"
#include "low_precision/formats.hpp"

namespace rungs::tests {
namespace {

namespace lp = low_precision;
using lp::matrix;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Of nvfp4, besides 1: the ends of their range among them.
constexpr float global_scales[] = {0x1p-100f, 0x1.8p-30f, 0.37f, 0x1.1p40f, 0x1p100f};

template <class T>
constexpr float greatest_finite = std::is_same_v<T, float>    ? std::numeric_limits<float>::max()
                                  : std::is_same_v<T, __half> ? 65504.0f
                                                              : 0x1.fep127f;

// A scheme's call, on memory of bytes.
template <scheme how_>
struct call_of {
  static constexpr scheme how = how_;
  static constexpr bool has_float_scale = how == scheme::fp8_by_floats;
  static constexpr std::size_t group = how == scheme::nvfp4                           ? 16
                                       : how == scheme::mxfp8 || how == scheme::mxfp4 ? 32
                                                                                      : 128;
  static constexpr std::size_t scale_bytes = has_float_scale ? 4 : 1, codes_per_byte = is_fp4(how) ? 2 : 1;

  // code_stride in bytes
  template <class T>
  static cudaError_t quantise(const matrix<const T>& in, std::uint8_t* codes, std::size_t code_stride, void* scales,
                              const float* global_scale, cudaStream_t stream = nullptr) {
    const std::size_t columns = in.num_columns / codes_per_byte;
    auto* const powers = static_cast<__nv_fp8_e8m0*>(scales);
    if constexpr (is_fp4(how)) {
      const matrix<std::uint8_t> packed{codes, in.num_rows, columns, code_stride};
      if constexpr (how == scheme::nvfp4)
        return lp::quantise_nvfp4(in, packed, static_cast<__nv_fp8_e4m3*>(scales), global_scale, stream);
      else
        return lp::quantise_mxfp4(in, packed, powers, stream);
    } else {
      const matrix<__nv_fp8_e4m3> fp8{reinterpret_cast<__nv_fp8_e4m3*>(codes), in.num_rows, columns, code_stride};
      if constexpr (how == scheme::mxfp8)
        return lp::quantise_mxfp8(in, fp8, powers, stream);
      else if constexpr (has_float_scale)
        return lp::quantise_fp8(in, fp8, static_cast<float*>(scales), stream);
      else
        return lp::quantise_fp8(in, fp8, powers, stream);
    }
  }
};

// Compares the codes and the scale of one group, and answers whether they are right.
template <scheme how, class T>
bool is_right(const T* items, std::size_t n, const std::uint8_t* codes, const void* scale, float global_scale) {
  float greatest = 0;
  bool has_nan = false;
  for (std::size_t i = 0; i < n; ++i) {
    const float item = static_cast<float>(items[i]);
    if (std::isnan(item)) has_nan = true;
    greatest = std::fmax(greatest, std::isinf(item) ? greatest_finite<T> : std::fabs(item));
  }
  const quantised_group of = scale_of(how, greatest, has_nan, global_scale);
  if constexpr (how == scheme::fp8_by_floats) {
    float found;
    std::memcpy(&found, scale, sizeof(found));
    EXPECT_EQ(std::isnan(found), of.scale_is_nan);
    if (!of.scale_is_nan) EXPECT_EQ(found, of.scale) << "greatest magnitude " << greatest;
  } else {
    EXPECT_EQ(int{*static_cast<const std::uint8_t*>(scale)}, of.scale) << "greatest magnitude " << greatest;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const float item = static_cast<float>(items[i]);
    const int found = is_fp4(how) ? codes[i / 2] >> (i % 2 * 4) & 15 : codes[i], expected = code_of(how, item, of);
    EXPECT_EQ(found, expected) << "item " << i << ": " << item << ", greatest magnitude " << greatest;
    if (found != expected) break;
  }
  return !testing::Test::HasFailure();
}

struct shape {
  std::size_t rows, columns, padding, offset, code_padding, code_offset;
  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(columns) + ", padded by " + std::to_string(padding) + " and " +
           std::to_string(code_padding) + ", offset " + std::to_string(offset) + " and " + std::to_string(code_offset);
  }
};

template <class Call, class T>
void check(const shape& of, const std::vector<T>& items, float global_scale = 1) {
  SCOPED_TRACE(of.name());
  const std::size_t stride = of.columns + of.padding, code_columns = of.columns / Call::codes_per_byte,
                    code_stride = code_columns + of.code_padding, groups = of.columns / Call::group;
  ASSERT_EQ(items.size(), of.rows * stride);
  const guarded<T> in(items, of.offset);
  const guarded<std::uint8_t> codes(of.rows * code_stride, of.code_offset),
      scales(of.rows * groups * Call::scale_bytes, Call::scale_bytes);
  const guarded<float> global(std::vector<float>{global_scale});
  ASSERT_EQ(Call::quantise(matrix<const T>{in.data(), of.rows, of.columns, stride}, codes.data(), code_stride,
                           scales.data(), global_scale == 1 ? nullptr : global.data()),
            cudaSuccess);
  const auto written = codes.read(), found = scales.read();
  for (std::size_t row = 0; row < of.rows; ++row) {
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t first = group * Call::group;
      ASSERT_TRUE((is_right<Call::how>(&items[row * stride + first], Call::group,
                                       &written[row * code_stride + first / Call::codes_per_byte],
                                       &found[(row * groups + group) * Call::scale_bytes], global_scale)))
          << "row " << row << ", group " << group;
    }
    for (std::size_t i = code_columns; i < code_stride; ++i)
      ASSERT_EQ(written[row * code_stride + i], 0xa5) << "between rows";
  }
}

template <class T>
T item_of_bits(unsigned bits) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<float>(bits);
  } else {
    const auto half = static_cast<std::uint16_t>(bits);
    T item;
    std::memcpy(static_cast<void*>(&item), &half, sizeof(half));
    return item;
  }
}

// Groups of 16 items with one of a dozen characters each.
template <class T>
std::vector<T> drawn_items(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> items(n);
  const int range = std::is_same_v<T, __half> ? 14 : 120;
  int character = 0, exponent = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 16 == 0) {
      character = static_cast<int>(engine() % 40);
      if (i % 128 == 0) exponent = static_cast<int>(engine() % (2 * range)) - range;
    }
    const auto drawn = static_cast<std::int32_t>(engine());
    float value = std::ldexp(static_cast<float>(drawn), exponent - 31);
    if (character == 0) value = drawn % 2 ? -0.0f : 0.0f;
    if (character == 1) value *= std::ldexp(1.0f, -(drawn & 15));
    items[i] = T(value);
    if (character == 2) items[i] = item_of_bits<T>(static_cast<unsigned>(drawn) & 0x807f007fu);  // subnormal
    if (character == 3 && drawn % 32 == 0) items[i] = T(drawn < 0 ? -infinity : infinity);
    if (character == 4 && drawn % 64 == 0) items[i] = T(std::numeric_limits<float>::quiet_NaN());
    if (character == 5) items[i] = T(drawn < 0 ? -greatest_finite<T> : greatest_finite<T>);
  }
  return items;
}

template <class Call>
struct Quantise : OnAGpu {};
using Calls = testing::Types<call_of<scheme::fp8_by_floats>, call_of<scheme::fp8_by_powers>, call_of<scheme::mxfp8>,
                             call_of<scheme::mxfp4>, call_of<scheme::nvfp4>>;
TYPED_TEST_SUITE(Quantise, Calls);

// Each group has a greatest magnitude, somewhere, and otherwise items of both signs below it, one after the other: all
// down to 2^-20 of it, and the least ones. The greatest are those of all exponents, and all of some.
TYPED_TEST(Quantise, AllItemsBelowEachGreatest) {
  constexpr std::size_t group = TypeParam::group;
  std::vector<unsigned> greatest;
  for (unsigned exponent = 0; exponent < 255; ++exponent) {
    const bool has_all = exponent == 0 || exponent == 1 || exponent == 127 || exponent == 254;
    for (unsigned mantissa = 0; mantissa < 128; ++mantissa)
      if (has_all || mantissa == 0 || mantissa == 127 || mantissa == (exponent * 37 & 127))
        greatest.push_back(exponent << 7 | mantissa);
  }
  std::vector<__nv_bfloat16> items;
  for (const unsigned top : greatest) {
    const unsigned lowest = top > 20 * 128 ? top - 20 * 128 : 0;
    const std::size_t begin = items.size();
    const auto add = [&](unsigned bits) {
      if ((items.size() - begin) % group == top % group) items.push_back(item_of_bits<__nv_bfloat16>(top ^ 0x8000u));
      items.push_back(item_of_bits<__nv_bfloat16>(bits));
    };
    for (unsigned bits = lowest; bits <= top; ++bits) {
      add(bits);
      add(bits | 0x8000u);
    }
    for (unsigned bits = 0; bits < 4; ++bits) add(bits);
    while (items.size() % group != 0) items.push_back(item_of_bits<__nv_bfloat16>(top));
  }
  check<TypeParam>({1, items.size(), 0, 0, 0, 0}, items);
  if (TypeParam::how == scheme::nvfp4)
    for (const float global : global_scales) check<TypeParam>({1, items.size(), 0, 0, 0, 0}, items, global);
}

// In the order of their bits, NaN and infinities with them.
TYPED_TEST(Quantise, AllItems) {
  std::vector<__nv_bfloat16> items(1 << 16);
  for (unsigned bits = 0; bits < items.size(); ++bits) items[bits] = item_of_bits<__nv_bfloat16>(bits);
  check<TypeParam>({1, items.size(), 0, 0, 0, 0}, items);
  if (TypeParam::how == scheme::nvfp4)
    for (const float global : global_scales) check<TypeParam>({1, items.size(), 0, 0, 0, 0}, items, global);
}

// For every float that it is meant for, the reciprocal is the toolkit's.
__global__ void count_other_reciprocals(unsigned first, unsigned end, unsigned* count) {
  for (unsigned bits = first + blockIdx.x * blockDim.x + threadIdx.x; bits < end; bits += gridDim.x * blockDim.x) {
    const float value = __uint_as_float(bits);
    if (__float_as_uint(production::reciprocal(value)) != __float_as_uint(__frcp_rn(value))) atomicAdd(count, 1);
  }
}
struct Reciprocal : OnAGpu {};
TEST_F(Reciprocal, IsRoundedCorrectly) {
  const guarded<unsigned> count(std::vector<unsigned>{0});
  count_other_reciprocals<<<1024, 256>>>(std::bit_cast<unsigned>(0x1p-126f), std::bit_cast<unsigned>(0x1p126f),
                                         count.data());
  EXPECT_EQ(count.read()[0], 0u);
}

template <class Call, class T>
void check_shapes() {
  const std::size_t group = Call::group, many = production::few_pieces * 16 / sizeof(T) + 3 * group;
  const std::vector<shape> shapes = {
      {1, group, 0, 0, 0, 0},        {3, group, 0, 0, 0, 0},          {77, 3 * group, 0, 0, 0, 0},
      {1, 4096 * group, 0, 0, 0, 0}, {301, 5 * group, 0, 0, 0, 0},    {40, 5 * group, 16, 0, 0, 0},
      {40, 5 * group, 0, 0, 16, 0},  {40, 5 * group, 32, 16, 64, 32}, {40, 5 * group, 3, 0, 0, 0},
      {40, 5 * group, 0, 1, 0, 0},   {40, 5 * group, 0, 0, 0, 1},     {40, 5 * group, 0, 0, 7, 0},
      {40, 5 * group, 5, 7, 3, 5},   {2, 1031 * group, 0, 1, 0, 0},   {2, 1031 * group, 16, 0, 16, 0},
      {20000, group, 16, 0, 0, 0},   {1, many, 0, 0, 0, 0},
  };
  unsigned seed = 100;
  for (const shape& of : shapes) {
    const auto items = drawn_items<T>(of.rows * (of.columns + of.padding), ++seed);
    check<Call>(of, items, Call::how == scheme::nvfp4 && seed % 2 ? 0.011f : 1);
    if (testing::Test::HasFailure()) return;
  }
}
TYPED_TEST(Quantise, ShapesOfBfloat16) { check_shapes<TypeParam, __nv_bfloat16>(); }
TYPED_TEST(Quantise, ShapesOfHalf) { check_shapes<TypeParam, __half>(); }
TYPED_TEST(Quantise, ShapesOfFloat) { check_shapes<TypeParam, float>(); }

// --- a scale for each row

template <class T, class Scale, scheme how>
void check_rows() {
  std::vector<shape> shapes;
  for (const std::size_t columns :
       {1, 7, 8, 9, 31, 64, 100, 128, 257, 512, 1000, 2048, 4095, 8192, 8193, 16384, 16392, 40000, 131072, 131075}) {
    const std::size_t rows = columns < 1000 ? 37 : 3;
    shapes.push_back({rows, columns, 0, 0, 0, 0});
    shapes.push_back({rows, columns, 3, 1, 5, 3});
    shapes.push_back({rows, columns, 16 - columns % 16, 0, 16 - columns % 16, 0});
  }
  shapes.push_back({2, 1 << 20, 0, 0, 0, 0});
  unsigned seed = 500;
  for (const shape& of : shapes) {
    SCOPED_TRACE(of.name());
    const std::size_t stride = of.columns + of.padding, code_stride = of.columns + of.code_padding;
    // Few rows would be without NaN and infinities.
    auto items = drawn_items<T>(of.rows * stride, ++seed);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (i / stride % 3 != 0 && !std::isfinite(static_cast<float>(items[i]))) items[i] = T(1.5f);
    const guarded<T> in(items, of.offset);
    const guarded<std::uint8_t> codes(of.rows * code_stride, of.code_offset);
    const guarded<Scale> scales(of.rows);
    ASSERT_EQ(
        lp::quantise_fp8_rows(matrix<const T>{in.data(), of.rows, of.columns, stride},
                              matrix{reinterpret_cast<__nv_fp8_e4m3*>(codes.data()), of.rows, of.columns, code_stride},
                              scales.data()),
        cudaSuccess);
    const auto written = codes.read();
    const auto found = scales.read();
    for (std::size_t row = 0; row < of.rows; ++row) {
      ASSERT_TRUE((is_right<how>(&items[row * stride], of.columns, &written[row * code_stride], &found[row], 1)))
          << "row " << row;
      for (std::size_t i = of.columns; i < code_stride; ++i)
        ASSERT_EQ(written[row * code_stride + i], 0xa5) << "between rows";
    }
  }
}
using QuantiseRows = OnAGpu;
TEST_F(QuantiseRows, OfBfloat16ByFloats) { check_rows<__nv_bfloat16, float, scheme::fp8_by_floats>(); }
TEST_F(QuantiseRows, OfFloatByPowers) { check_rows<float, __nv_fp8_e8m0, scheme::fp8_by_powers>(); }

// --- contracts

using LowPrecisionQuantise = OnAGpu;

TEST_F(LowPrecisionQuantise, AGraphIsReplayedWithOtherItems) {
  using call = call_of<scheme::nvfp4>;
  const std::size_t columns = 4096, rows = 33;
  const guarded<__nv_bfloat16> in(rows * columns);
  const guarded<std::uint8_t> codes(rows * columns / 2), scales(rows * columns / 16);
  const own_stream stream;
  const captured graph(stream, [&] {
    return call::quantise(matrix<const __nv_bfloat16>{in.data(), rows, columns}, codes.data(), columns / 2,
                          scales.data(), nullptr, stream);
  });
  for (unsigned seed = 0; seed < 3; ++seed) {
    const auto items = drawn_items<__nv_bfloat16>(rows * columns, seed);
    in.write(items);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    const auto written = codes.read(), found = scales.read();
    for (std::size_t group = 0; group < found.size(); ++group)
      ASSERT_TRUE((is_right<scheme::nvfp4>(&items[16 * group], 16, &written[8 * group], &found[group], 1)));
  }
}

// None of these calls reaches the device.
TEST(LowPrecisionErrors, OfQuantisation) {
  using item = const __nv_bfloat16;
  auto* const in = reinterpret_cast<item*>(256);
  auto* const codes = reinterpret_cast<__nv_fp8_e4m3*>(256);
  auto* const packed = reinterpret_cast<std::uint8_t*>(256);
  auto* const scales = reinterpret_cast<float*>(256);
  auto* const powers = reinterpret_cast<__nv_fp8_e8m0*>(256);
  constexpr cudaError_t refused = cudaErrorInvalidValue;

  EXPECT_EQ(lp::quantise_fp8(matrix{in, 2, 192}, matrix{codes, 2, 192}, scales), refused) << "a group and a half";
  EXPECT_EQ(lp::quantise_mxfp8(matrix{in, 2, 48}, matrix{codes, 2, 48}, powers), refused) << "a group and a half";
  EXPECT_EQ(lp::quantise_mxfp4(matrix{in, 2, 48}, matrix{packed, 2, 24}, powers), refused) << "a group and a half";
  EXPECT_EQ(lp::quantise_nvfp4(matrix{in, 2, 24}, matrix{packed, 2, 12}, codes), refused) << "a group and a half";
  EXPECT_EQ(lp::quantise_fp8(matrix{in, 2, 128}, matrix{codes, 2, 256}, scales), refused) << "other shapes";
  EXPECT_EQ(lp::quantise_fp8(matrix{in, 2, 128}, matrix{codes, 3, 128}, scales), refused) << "other shapes";
  EXPECT_EQ(lp::quantise_mxfp4(matrix{in, 2, 64}, matrix{packed, 2, 64}, powers), refused) << "two codes a byte";
  EXPECT_EQ(lp::quantise_fp8(matrix{in, 2, 128}, matrix{codes, 2, 128, 100}, scales), refused) << "rows overlap";
  EXPECT_EQ(lp::quantise_fp8(matrix<item>{nullptr, 2, 128}, matrix{codes, 2, 128}, scales), refused);
  EXPECT_EQ(lp::quantise_fp8(matrix{in, 2, 128}, matrix<__nv_fp8_e4m3>{nullptr, 2, 128}, scales), refused);
  EXPECT_EQ(lp::quantise_fp8(matrix{in, 2, 128}, matrix{codes, 2, 128}, static_cast<float*>(nullptr)), refused);
  EXPECT_EQ(lp::quantise_fp8_rows(matrix{in, 2, 5}, matrix{codes, 2, 5}, static_cast<float*>(nullptr)), refused);
  EXPECT_EQ(lp::quantise_fp8(matrix{in, 0, 128}, matrix{codes, 0, 128}, scales), cudaSuccess);
  EXPECT_EQ(lp::quantise_nvfp4(matrix{in, 2, 0}, matrix{packed, 2, 0}, codes), cudaSuccess);
  EXPECT_EQ(lp::quantise_fp8_rows(matrix{in, 2, 0}, matrix{codes, 2, 0}, scales), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests
