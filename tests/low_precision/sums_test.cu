// Sums and greatest magnitudes of fp8 and of scaled fp4 against exact sums on the host: every code, every scale, odd
// shapes, any alignment, replayed graphs, errors; and that the bits depend on nothing but the codes.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
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
using bytes = std::vector<std::uint8_t>;

template <class F>
constexpr small_format format_of = std::is_same_v<F, __nv_fp8_e4m3> ? e4m3 : e5m2;

// What a sum of floats may differ by, no item of which passes through more than `height` roundings.
double bound(std::size_t height, double magnitudes) {
  const double h = static_cast<double>(height) * 0x1p-24;
  return h / (1 - h) * magnitudes;
}

bytes random_codes(std::size_t n, unsigned seed, unsigned first, unsigned num_magnitudes, unsigned sign) {
  std::mt19937 engine(seed);
  bytes codes(n);
  for (auto& code : codes) {
    const auto drawn = static_cast<unsigned>(engine());
    code = static_cast<std::uint8_t>((first + drawn % num_magnitudes) | (drawn >> 31 ? sign : 0));
  }
  return codes;
}

// Finite values of fp8 are multiples of 2^-16 below 2^16: 64 bits hold the sum of 2^31 of them.
struct exact_sum {
  double sum = 0, magnitudes = 0, greatest = 0;

  exact_sum(const small_format& format, const std::uint8_t* codes, std::size_t n) {
    double values[256];
    for (int code = 0; code < 256; ++code) values[code] = format.value(code);
    std::int64_t total = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto units = static_cast<std::int64_t>(values[codes[i]] * 0x1p16);
      total += units;
      all += std::abs(units);
      greatest = std::max(greatest, std::fabs(values[codes[i]]));
    }
    sum = std::ldexp(static_cast<double>(total), -16);
    magnitudes = std::ldexp(static_cast<double>(all), -16);
  }
};

template <class F>
const F* as(const guarded<std::uint8_t>& codes) {
  return reinterpret_cast<const F*>(codes.data());
}

template <class F>
float sum_of(const guarded<std::uint8_t>& codes, std::size_t n) {
  const guarded<float> out(1);
  EXPECT_EQ(in_two_phases([&](auto&&... storage) { return lp::sum(storage..., as<F>(codes), out.data(), n); }),
            cudaSuccess);
  return out.read()[0];
}
template <class F>
float abs_max_of(const guarded<std::uint8_t>& codes, std::size_t n) {
  const guarded<float> out(1);
  EXPECT_EQ(in_two_phases([&](auto&&... storage) { return lp::abs_max(storage..., as<F>(codes), out.data(), n); }),
            cudaSuccess);
  return out.read()[0];
}

template <class F>
struct Fp8 : OnAGpu {};
using Fp8Items = testing::Types<__nv_fp8_e4m3, __nv_fp8_e5m2>;
TYPED_TEST_SUITE(Fp8, Fp8Items);

TYPED_TEST(Fp8, EveryCodeAlone) {
  const auto format = format_of<TypeParam>;
  bytes codes(256);
  for (int code = 0; code < 256; ++code) codes[code] = static_cast<std::uint8_t>(code);
  const guarded<std::uint8_t> in(codes);
  const guarded<float> sums(256), maxima(256);
  const matrix rows{as<TypeParam>(in), 256, 1};
  ASSERT_EQ(lp::sum(rows, sums.data()), cudaSuccess);
  ASSERT_EQ(lp::abs_max(rows, maxima.data()), cudaSuccess);
  const auto found = sums.read(), greatest = maxima.read();
  for (int code = 0; code < 256; ++code) {
    SCOPED_TRACE(code);
    const double expected = format.value(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found[code]) && std::isnan(greatest[code]));
    } else {
      EXPECT_EQ(found[code], expected);
      EXPECT_EQ(greatest[code], std::fabs(expected));
    }
  }
}

TYPED_TEST(Fp8, Arrays) {
  const auto format = format_of<TypeParam>;
  constexpr unsigned sign = 0x80;
  const std::size_t tile = production::tile_bytes;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17},
                              tile - 1, tile, tile + 1, 2 * tile + 5, std::size_t{1000003}, 1030 * tile + 7}) {
    const bytes codes = random_codes(n, 3, 0, format.num_finite, sign);
    const exact_sum exact(format, codes.data(), n);
    float first = 0;
    for (const std::size_t offset : {0, 1, 6, 15}) {
      SCOPED_TRACE(std::to_string(n) + " items, offset " + std::to_string(offset));
      const guarded<std::uint8_t> in(codes, offset);
      const float sum = sum_of<TypeParam>(in, n);
      EXPECT_NEAR(sum, exact.sum, bound(lp::array_height(n), exact.magnitudes));
      if (offset == 0) first = sum;
      EXPECT_EQ(std::bit_cast<unsigned>(first), std::bit_cast<unsigned>(sum)) << "other bits at another address";
      EXPECT_EQ(abs_max_of<TypeParam>(in, n), exact.greatest);
      workspace workspace;
      const guarded<float> out(2);
      ASSERT_EQ(lp::sum(workspace, as<TypeParam>(in), out.data(), n), cudaSuccess);
      ASSERT_EQ(lp::abs_max(workspace, as<TypeParam>(in), out.data() + 1, n), cudaSuccess);
      const auto kept = out.read();
      EXPECT_EQ(std::bit_cast<unsigned>(kept[0]), std::bit_cast<unsigned>(sum));
      EXPECT_EQ(kept[1], exact.greatest);
    }
  }
}

// Small whole numbers, whose sum is exact in any order: one item that is lost or read twice changes it.
TYPED_TEST(Fp8, NoItemIsLost) {
  const auto format = format_of<TypeParam>;
  const unsigned one = static_cast<unsigned>(nearest_code(format)(1)),
                 four = static_cast<unsigned>(nearest_code(format)(4));
  for (const std::size_t n : {std::size_t{4099}, 3 * std::size_t{production::tile_bytes} + 77}) {
    const bytes codes = random_codes(n, 11, one, four - one + 1, 0x80);
    const exact_sum exact(format, codes.data(), n);
    EXPECT_EQ(sum_of<TypeParam>(guarded<std::uint8_t>(codes, 3), n), exact.sum);
    EXPECT_EQ(sum_of<TypeParam>(guarded<std::uint8_t>(codes), n), exact.sum);
  }
}

TYPED_TEST(Fp8, Rows) {
  const auto format = format_of<TypeParam>;
  struct shape {
    std::size_t rows, columns, stride, offset;
  };
  std::vector<shape> shapes;
  for (const std::size_t columns :
       {1, 15, 16, 17, 127, 511, 512, 513, 1000, 2048, 8191, 8192, 8193, 16384, 16385, 50001}) {
    const std::size_t rows = columns < 1000 ? 77 : 5;
    shapes.push_back({rows, columns, columns, 0});
    shapes.push_back({rows, columns, columns + 3, 1});
    shapes.push_back({rows, columns, (columns + 31) / 16 * 16, 0});
  }
  shapes.push_back({70001, 32, 32, 0});
  for (const shape& of : shapes) {
    SCOPED_TRACE(std::to_string(of.rows) + " x " + std::to_string(of.columns) + ", stride " +
                 std::to_string(of.stride) + ", offset " + std::to_string(of.offset));
    const bytes codes = random_codes(of.rows * of.stride, 5, 0, format.num_finite, 0x80);
    const guarded<std::uint8_t> in(codes, of.offset);
    const guarded<float> sums(of.rows), maxima(of.rows), alone(1);
    const matrix rows{as<TypeParam>(in), of.rows, of.columns, of.stride};
    ASSERT_EQ(lp::sum(rows, sums.data()), cudaSuccess);
    ASSERT_EQ(lp::abs_max(rows, maxima.data()), cudaSuccess);
    const std::size_t last = of.rows - 1;
    ASSERT_EQ(lp::sum(matrix{rows.row(last), 1, of.columns}, alone.data()), cudaSuccess);
    const auto found = sums.read(), greatest = maxima.read();
    for (std::size_t row = 0; row < of.rows; ++row) {
      const exact_sum exact(format, &codes[row * of.stride], of.columns);
      ASSERT_NEAR(found[row], exact.sum, bound(lp::row_height(of.columns), exact.magnitudes)) << "row " << row;
      ASSERT_EQ(greatest[row], exact.greatest) << "row " << row;
    }
    EXPECT_EQ(std::bit_cast<unsigned>(alone.read()[0]), std::bit_cast<unsigned>(found[last])) << "the last row alone";
    const guarded<std::uint8_t> in_apart(codes, of.offset + 1);
    const matrix rows_apart{as<TypeParam>(in_apart), of.rows, of.columns, of.stride};
    ASSERT_EQ(lp::sum(rows_apart, sums.data()), cudaSuccess);
    EXPECT_EQ(std::memcmp(sums.read().data(), found.data(), of.rows * sizeof(float)), 0) << "at another address";
  }
}

// --- fp4

template <class Scale, int group_size_>
struct fp4_format {
  using scale = Scale;
  static constexpr int group_size = group_size_;
};
template <class Scale>
double value_of(const Scale& scale) {
  if constexpr (std::is_same_v<Scale, float>)
    return scale;
  else if constexpr (std::is_same_v<Scale, __nv_fp8_e4m3>)
    return e4m3.value(scale.__x);
  else
    return value_of_e8m0(scale.__x);
}
template <class Scale>
Scale scale_of_code(int code) {
  Scale scale;
  if constexpr (std::is_same_v<Scale, float>)
    scale = code == 255 ? NAN : std::ldexp(1.0f + static_cast<float>(code) / 256, code - 127);
  else
    scale.__x = static_cast<std::uint8_t>(code);
  return scale;
}

template <class Format>
struct Fp4 : OnAGpu {
  using scale = typename Format::scale;
  static constexpr std::size_t group = Format::group_size, group_bytes = group / 2;

  // Two random codes a byte, and scales of both signs where they have signs.
  static void draw(std::size_t num_bytes, unsigned seed, bytes& codes, std::vector<scale>& scales) {
    codes = random_codes(num_bytes, seed, 0, 256, 0);
    std::mt19937 engine(seed + 1);
    scales.resize(num_bytes / group_bytes);
    for (scale& each : scales) {
      const int drawn = static_cast<int>(engine() % 64);
      if constexpr (std::is_same_v<scale, float>)
        each = 0.3f * static_cast<float>(drawn) - 9;
      else
        each =
            scale_of_code<scale>(std::is_same_v<scale, __nv_fp8_e4m3> ? 2 * drawn + drawn % 2 * 128 : 120 + drawn / 8);
    }
  }
  static void exact(const std::uint8_t* codes, const scale* scales, std::size_t num_bytes, double& sum,
                    double& magnitudes) {
    double values[16];
    for (int code = 0; code < 16; ++code) values[code] = e2m1.value(code);
    sum = magnitudes = 0;
    for (std::size_t first = 0; first < num_bytes; first += group_bytes) {
      double of_group = 0, all = 0;
      for (std::size_t i = first; i < first + group_bytes; ++i)
        for (const int code : {codes[i] & 15, codes[i] >> 4}) {
          of_group += values[code];
          all += std::fabs(values[code]);
        }
      const double of_codes = value_of(scales[first / group_bytes]);
      sum += of_codes * of_group;
      magnitudes += std::fabs(of_codes) * all;
    }
  }
};
using Fp4Formats = testing::Types<fp4_format<__nv_fp8_e4m3, 16>, fp4_format<__nv_fp8_e8m0, 32>, fp4_format<float, 16>,
                                  fp4_format<float, 32>>;
TYPED_TEST_SUITE(Fp4, Fp4Formats);

// A group that holds one code, at every place, with every scale.
TYPED_TEST(Fp4, EveryCodeWithEveryScale) {
  using fixture = TestFixture;
  using scale = typename fixture::scale;
  constexpr std::size_t group_bytes = fixture::group_bytes, num_rows = 256 * 16;
  for (std::size_t place = 0; place < fixture::group; ++place) {
    bytes codes(num_rows * group_bytes);
    std::vector<scale> scales(num_rows);
    for (std::size_t row = 0; row < num_rows; ++row) {
      codes[row * group_bytes + place / 2] = static_cast<std::uint8_t>(row % 16 << (place % 2 * 4));
      scales[row] = scale_of_code<scale>(static_cast<int>(row / 16));
    }
    const guarded<std::uint8_t> in(codes);
    const guarded<scale> of_groups(scales);
    const guarded<float> out(num_rows);
    const matrix packed{static_cast<const std::uint8_t*>(in.data()), num_rows, group_bytes};
    ASSERT_EQ(lp::dequantising_sum<fixture::group>(packed, of_groups.data(), out.data()), cudaSuccess);
    const auto found = out.read();
    for (std::size_t row = 0; row < num_rows; ++row) {
      const auto expected = static_cast<float>(e2m1.value(static_cast<int>(row % 16)) * value_of(scales[row]));
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(found[row])) << "row " << row;
      else
        ASSERT_EQ(found[row], expected) << "row " << row;
    }
  }
}

TYPED_TEST(Fp4, Arrays) {
  using fixture = TestFixture;
  constexpr int group = fixture::group;
  const std::size_t tile = production::tile_bytes, one = fixture::group_bytes;
  const guarded<float> global(std::vector<float>{0.25f});
  for (const std::size_t n : {std::size_t{0}, one, 2 * one, 3 * one, tile - one, tile, tile + one, 5 * tile + 3 * one,
                              1030 * tile + 5 * one}) {
    bytes codes;
    std::vector<typename fixture::scale> scales;
    fixture::draw(n, 21, codes, scales);
    double sum, magnitudes;
    fixture::exact(codes.data(), scales.data(), n, sum, magnitudes);
    const guarded<typename fixture::scale> of_groups(scales, 1);
    float first = 0;
    for (const std::size_t offset : {0, 1, 10}) {
      SCOPED_TRACE(std::to_string(n) + " bytes, offset " + std::to_string(offset));
      const guarded<std::uint8_t> in(codes, offset);
      const guarded<float> out(1);
      EXPECT_EQ(in_two_phases([&](auto&&... storage) {
                  return lp::dequantising_sum<group>(storage..., in.data(), of_groups.data(), out.data(), 2 * n);
                }),
                cudaSuccess);
      const float found = out.read()[0];
      EXPECT_NEAR(found, sum, bound(lp::array_height(n), magnitudes));
      if (offset == 0) first = found;
      EXPECT_EQ(std::bit_cast<unsigned>(first), std::bit_cast<unsigned>(found)) << "other bits at another address";
      workspace workspace;
      ASSERT_EQ(lp::dequantising_sum<group>(workspace, in.data(), of_groups.data(), out.data(), 2 * n, global.data()),
                cudaSuccess);
      EXPECT_EQ(out.read()[0], found / 4);
    }
  }
}

TYPED_TEST(Fp4, Rows) {
  using fixture = TestFixture;
  constexpr std::size_t one = fixture::group_bytes;
  for (const std::size_t groups : {1, 2, 3, 5, 31, 32, 33, 64, 513, 1024, 1025, 3001})
    for (const std::size_t padding : {0, 16, 5}) {
      const std::size_t rows = groups < 64 ? 67 : 5, columns = groups * one, stride = columns + padding;
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + ", stride " + std::to_string(stride));
      bytes codes;
      std::vector<typename fixture::scale> scales, unused;
      fixture::draw(rows * stride, 31, codes, unused);
      bytes others;
      fixture::draw(rows * columns, 32, others, scales);
      const guarded<std::uint8_t> in(codes, padding);
      const guarded<typename fixture::scale> of_groups(scales);
      const guarded<float> out(rows), out_apart(rows);
      ASSERT_EQ(
          lp::dequantising_sum<fixture::group>(matrix{in.data(), rows, columns, stride}, of_groups.data(), out.data()),
          cudaSuccess);
      const auto found = out.read();
      // Codes, scales or both that cannot be read by words.
      for (const std::size_t offset : {0, 1, 2}) {
        const guarded<std::uint8_t> in_apart(codes, offset);
        const guarded<typename fixture::scale> of_groups_apart(scales, offset != 1);
        ASSERT_EQ(lp::dequantising_sum<fixture::group>(matrix{in_apart.data(), rows, columns, stride},
                                                       of_groups_apart.data(), out_apart.data()),
                  cudaSuccess);
        const auto found_apart = out_apart.read();
        ASSERT_EQ(std::memcmp(found_apart.data(), found.data(), rows * sizeof(float)), 0) << "other bits, " << offset;
      }
      for (std::size_t row = 0; row < rows; ++row) {
        double sum, magnitudes;
        fixture::exact(&codes[row * stride], &scales[row * groups], columns, sum, magnitudes);
        ASSERT_NEAR(found[row], sum, bound(lp::row_height(columns), magnitudes)) << "row " << row;
      }
    }
}

// --- contracts

using LowPrecisionSums = OnAGpu;

TEST_F(LowPrecisionSums, AGraphIsReplayedWithOtherCodes) {
  const std::size_t n = 300'001;
  const guarded<std::uint8_t> in(n);
  const guarded<float> out(1);
  std::size_t size = 0;
  ASSERT_EQ(lp::sum(nullptr, size, as<__nv_fp8_e4m3>(in), out.data(), n), cudaSuccess);
  const guarded<std::uint8_t> storage(size);
  const own_stream stream;
  const captured graph(stream,
                       [&] { return lp::sum(storage.data(), size, as<__nv_fp8_e4m3>(in), out.data(), n, stream); });
  for (unsigned seed = 0; seed < 3; ++seed) {
    const bytes codes = random_codes(n, seed, 0, e4m3.num_finite, 0x80);
    in.write(codes);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    const exact_sum exact(e4m3, codes.data(), n);
    EXPECT_NEAR(out.read()[0], exact.sum, bound(lp::array_height(n), exact.magnitudes));
  }
}

// None of these calls reaches the device.
TEST(LowPrecisionErrors, OfSums) {
  const auto* const codes = reinterpret_cast<const __nv_fp8_e4m3*>(256);
  const auto* const packed = reinterpret_cast<const std::uint8_t*>(256);
  const auto* const scales = reinterpret_cast<const __nv_fp8_e4m3*>(256);
  auto* const out = reinterpret_cast<float*>(256);
  auto* const storage = reinterpret_cast<void*>(256);
  constexpr cudaError_t refused = cudaErrorInvalidValue;

  EXPECT_EQ(lp::sum(matrix<const __nv_fp8_e4m3>{nullptr, 2, 3}, out), refused);
  EXPECT_EQ(lp::sum(matrix{codes, 2, 3}, nullptr), refused);
  EXPECT_EQ(lp::abs_max(matrix{codes, 2, rows::most_columns + 1}, out), refused);
  EXPECT_EQ(lp::sum(matrix{codes, 0, 3}, nullptr), cudaSuccess);
  std::size_t size = 0;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 33}) {
    EXPECT_EQ(lp::sum(nullptr, size, codes, out, n), cudaSuccess);
    EXPECT_GT(size, 0u);
    std::size_t less = size - 1;
    EXPECT_EQ(lp::sum(storage, less, codes, out, n), refused);
    EXPECT_EQ(lp::abs_max(storage, less, codes, out, n), refused);
  }
  EXPECT_GE(size, (std::size_t{1} << 33) / production::tile_bytes * 4);
  EXPECT_EQ(lp::sum(storage, size, codes, nullptr, 5), refused);
  EXPECT_EQ(lp::sum<__nv_fp8_e4m3>(storage, size, nullptr, out, 5), refused);

  EXPECT_EQ(lp::dequantising_sum<16>(matrix{packed, 2, 12}, scales, out), refused) << "a group and a half";
  EXPECT_EQ(lp::dequantising_sum<16>(matrix{packed, 2, 8}, static_cast<const float*>(nullptr), out), refused);
  EXPECT_EQ(lp::dequantising_sum<16>(storage, size, packed, scales, out, 24), refused) << "a group and a half";
  EXPECT_EQ(lp::dequantising_sum<16>(storage, size, packed, static_cast<const float*>(nullptr), out, 32), refused);
}

}  // namespace
}  // namespace rungs::tests
