// Softmax and norms of rows of fp8, and RMSNorm to codes, against double precision and the formats on the host: every
// code, NaN and infinities, shapes on both sides of every change of mapping, scales, any alignment, in place, errors;
// and that the bits of a row depend on the row alone.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <rungs/rows/fp8_rows.cuh>
#include <string>
#include <vector>

#include "gpu_test.hpp"
#include "low_precision/formats.hpp"

namespace rungs::tests::rows_of_codes {
namespace {

using rows::code_scale;
using rows::matrix;
using bytes = std::vector<std::uint8_t>;

template <class F>
constexpr bool is_e4m3 = std::is_same_v<F, __nv_fp8_e4m3>;
template <class F>
constexpr small_format format_of = is_e4m3<F> ? e4m3 : e5m2;

template <class T>
double value_of(const T& item) {
  if constexpr (sizeof(T) == 1)
    return format_of<T>.value(std::bit_cast<std::uint8_t>(item));
  else
    return static_cast<float>(item);
}

// Whether a result is `expected`, rounded once to T after an error of at most `error`.
template <class T>
bool is_near(const T& result, double expected, double error) {
  if (std::isinf(expected)) error = 0;
  const double found = value_of(result);
  if constexpr (sizeof(T) == 1) {
    static const nearest_code nearest(format_of<T>);
    if (std::isnan(expected)) return std::bit_cast<std::uint8_t>(result) == 0x7f;
    return format_of<T>.value(nearest(expected - error)) <= found &&
           found <= format_of<T>.value(nearest(expected + error));
  } else {
    if (std::isnan(expected) || std::isinf(expected))
      return std::isnan(expected) ? std::isnan(found) : found == expected;
    const double half_step = std::is_same_v<T, float> ? 0x1p-24 : std::is_same_v<T, __half> ? 0x1p-11 : 0x1p-8;
    const double least = std::is_same_v<T, __half> ? 0x1p-25 : std::is_same_v<T, float> ? 0x1p-134 : 0x1p-126;
    return std::fabs(found - expected) <= error + half_step * (std::fabs(expected) + error) + least;
  }
}

bytes random_codes(std::size_t n, unsigned seed, const small_format& format) {
  std::mt19937 engine(seed);
  bytes codes(n);
  for (auto& code : codes) {
    const auto drawn = static_cast<unsigned>(engine());
    code = static_cast<std::uint8_t>(drawn % static_cast<unsigned>(format.num_finite) | (drawn >> 31 ? 0x80u : 0));
  }
  return codes;
}
template <class T>
std::vector<T> random_items(std::size_t n, unsigned seed, float deviation) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<T> items(n);
  for (T& item : items) item = T(normal(engine));
  return items;
}

// What a row's values are, and what norms know of them.
struct exact_row {
  std::vector<double> values;
  double greatest = -std::numeric_limits<double>::infinity(), sum = 0, mean = 0, variance = 0, square = 0;

  exact_row(const small_format& format, const std::uint8_t* codes, std::size_t n, float scale) : values(n) {
    float of_code[256];
    for (int code = 0; code < 256; ++code) of_code[code] = static_cast<float>(format.value(code)) * scale;
    bool has_nan = false;
    const double count = static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = of_code[codes[i]];
      has_nan = has_nan || std::isnan(values[i]);
      greatest = std::fmax(greatest, values[i]);
      mean += values[i] / count;
      square += values[i] * values[i] / count;
    }
    for (const double value : values) {
      sum += std::exp(value - greatest);
      variance += (value - mean) * (value - mean) / count;
    }
    if (has_nan) sum = NAN;
  }
};

constexpr double unit = 0x1p-24, depth = 64;  // more additions than any item passes through

// Each of the operations: its call, what it answers, and how far from it the result may be before it is rounded.
template <class W>
struct parameters {
  const W *d_weight, *d_bias;
  const std::vector<W>&weights, &biases;
};
struct softmax {
  template <class In, class Out, class W>
  static cudaError_t run(const In& in, const code_scale& scale, const Out& out, const parameters<W>&) {
    return rows::softmax(in, scale, out);
  }
  template <class Out, class W>
  static std::pair<double, double> expected(const exact_row& row, std::size_t i, const parameters<W>&) {
    const double value = std::exp(row.values[i] - row.greatest) / row.sum;
    return {value, value * (2 * depth * unit + (sizeof(Out) < 4 ? 0x1p-16 : 0))};
  }
};
struct log_softmax {
  template <class In, class Out, class W>
  static cudaError_t run(const In& in, const code_scale& scale, const Out& out, const parameters<W>&) {
    return rows::log_softmax(in, scale, out);
  }
  template <class Out, class W>
  static std::pair<double, double> expected(const exact_row& row, std::size_t i, const parameters<W>&) {
    const double value = row.values[i] - row.greatest - std::log(row.sum);
    return {value, 2e-6 + 4 * unit * std::fabs(value) + (sizeof(Out) < 4 ? 0x1p-16 : 0)};
  }
};
template <class W>
std::pair<double, double> of_norm(double value, double mean, double scale, std::size_t i, const parameters<W>& with) {
  const double weight = with.d_weight == nullptr ? 1 : value_of(with.weights[i]);
  const double bias = with.d_bias == nullptr ? 0 : value_of(with.biases[i]);
  const double scaled = (value - mean) * scale * weight, of_mean = mean * scale * weight;
  const double magnitude = std::fabs(scaled) + std::fabs(bias) + std::fabs(of_mean);
  // The mean's own error is relative to the deviation.
  return {scaled + bias, depth * unit * (magnitude + (mean == 0 ? 0 : std::fabs(weight))) + 1e-7};
}
struct layer_norm {
  template <class In, class Out, class W>
  static cudaError_t run(const In& in, const code_scale& scale, const Out& out, const parameters<W>& with) {
    rows::norm_options<W> options;
    options.d_weight = with.d_weight;
    options.d_bias = with.d_bias;
    return rows::layer_norm(in, scale, out, options);
  }
  template <class Out, class W>
  static std::pair<double, double> expected(const exact_row& row, std::size_t i, const parameters<W>& with) {
    return of_norm(row.values[i], row.mean, 1 / std::sqrt(row.variance + 1e-5f), i, with);
  }
};
struct rms_norm {
  template <class In, class Out, class W>
  static cudaError_t run(const In& in, const code_scale& scale, const Out& out, const parameters<W>& with) {
    rows::norm_options<W> options;
    options.d_weight = with.d_weight;
    options.d_bias = with.d_bias;
    return rows::rms_norm(in, scale, out, options);
  }
  template <class Out, class W>
  static std::pair<double, double> expected(const exact_row& row, std::size_t i, const parameters<W>& with) {
    return of_norm(row.values[i], 0, 1 / std::sqrt(row.square + 1e-5f), i, with);
  }
};

struct shape {
  std::size_t num_rows, num_columns, stride, offset, out_stride, out_offset;
  std::string name() const {
    return std::to_string(num_rows) + " x " + std::to_string(num_columns) + ", strides " + std::to_string(stride) +
           " and " + std::to_string(out_stride) + ", offsets " + std::to_string(offset) + " and " +
           std::to_string(out_offset);
  }
};

// Four columns are a piece. Mappings change at powers of two of them, and where memory or a cluster is full.
std::vector<shape> shapes() {
  std::vector<shape> all;
  for (std::size_t columns = 4; columns <= 8192; columns *= 2)
    for (const std::size_t n : {columns - 1, columns, columns + 1}) {
      const std::size_t rows = n < 300 ? 131 : 7;
      all.push_back({rows, n, n, 0, n, 0});
      all.push_back({rows, n, n + 3, 1, n + 1, 2});
      all.push_back({rows, n, n / 4 * 4 + 8, 4, n / 4 * 4 + 4, 4});
    }
  all.push_back({1, 1, 1, 0, 1, 0});
  // Of a block's threads some have fewer pieces than others: 3072 and 5120.
  for (const std::size_t n : {3072, 5120, 8200, 12288, 16385, 32768, 65537}) {
    all.push_back({2, n, n, 0, n, 0});
    all.push_back({2, n, n + 2, 3, n + 5, 1});
  }
  for (const std::size_t n : {131072, 300001, 458752, 524288, 600001}) all.push_back({1, n, n, n % 2, n, n % 2});
  return all;
}

template <class In_, class Out_, class Weight_>
struct types {
  using In = In_;
  using Out = Out_;
  using Weight = Weight_;
};
template <class Types>
struct RowsOfCodes : OnAGpu {
  using In = typename Types::In;
  using Out = typename Types::Out;
  using W = typename Types::Weight;
  static constexpr small_format format = format_of<In>;

  static matrix<In> codes_in(const guarded<std::uint8_t>& memory, const shape& of) {
    return {reinterpret_cast<In*>(memory.data()), of.num_rows, of.num_columns, of.stride};
  }
  static matrix<Out> results_in(const guarded<Out>& memory, const shape& of) {
    return {memory.data(), of.num_rows, of.num_columns, of.out_stride};
  }
  // Exponents of a row's values are small; those of others are not.
  static float scale_of_row(std::size_t row) {
    return (is_e4m3<In> ? 0x1.3p-7f : 0x1.3p-13f) * static_cast<float>(1 + row % 3);
  }

  template <class Operation>
  static void judge(const shape& of, const bytes& codes, const std::vector<float>& scales, const parameters<W>& with,
                    const std::vector<Out>& results) {
    for (std::size_t row = 0; row < of.num_rows; ++row) {
      const exact_row exact(format, &codes[row * of.stride], of.num_columns, scales[scales.size() == 1 ? 0 : row]);
      for (std::size_t i = 0; i < of.num_columns; ++i) {
        const auto [expected, error] = Operation::template expected<Out>(exact, i, with);
        const Out& found = results[row * of.out_stride + i];
        ASSERT_TRUE(is_near(found, expected, error))
            << "row " << row << ", column " << i << ": " << value_of(found) << ", expected " << expected;
      }
      for (std::size_t i = of.num_columns; i < of.out_stride; ++i) {
        const auto* const between = reinterpret_cast<const std::uint8_t*>(&results[row * of.out_stride + i]);
        for (std::size_t byte = 0; byte < sizeof(Out); ++byte) ASSERT_EQ(between[byte], 0xa5) << "between rows";
      }
    }
  }

  template <class Operation>
  static void check_shapes() {
    const std::size_t most = 700000;
    const std::vector<W> weights = random_items<W>(most, 8, 1), biases = random_items<W>(most, 9, 1);
    const guarded<W> weight(weights), bias(biases), weight_apart(weights, 1), bias_apart(biases, 3);
    unsigned seed = 0;
    for (const shape& of : shapes()) {
      SCOPED_TRACE(of.name());
      const bytes codes = random_codes(of.num_rows * of.stride, ++seed, format);
      // One for each row, one for all, and in the end weights without biases.
      const bool of_rows = seed % 3 == 0;
      std::vector<float> scales;
      for (std::size_t row = 0; row < (of_rows ? of.num_rows : 1); ++row) scales.push_back(scale_of_row(row));
      const parameters<W> with{seed % 4 == 3   ? nullptr
                               : seed % 4 == 2 ? weight_apart.data()
                                               : weight.data(),
                               seed % 4 == 3   ? nullptr
                               : seed % 4 == 1 ? bias_apart.data()
                                               : bias.data(),
                               weights, biases};
      const guarded<std::uint8_t> in(codes, of.offset);
      const guarded<Out> out(of.num_rows * of.out_stride, of.out_offset);
      const guarded<float> scale(scales);
      const code_scale how{scale.data(), of_rows};
      ASSERT_EQ(Operation::run(codes_in(in, of), how, results_in(out, of), with), cudaSuccess);
      const std::vector<Out> results = out.read();
      judge<Operation>(of, codes, scales, with, results);
      if constexpr (sizeof(Out) == 1) {
        auto* const place = reinterpret_cast<Out*>(in.data());
        ASSERT_EQ(Operation::run(codes_in(in, of), how, matrix{place, of.num_rows, of.num_columns, of.stride}, with),
                  cudaSuccess);
        const bytes in_place = in.read();
        for (std::size_t row = 0; row < of.num_rows; ++row)
          for (std::size_t i = 0; i < of.stride; ++i)
            ASSERT_EQ(in_place[row * of.stride + i], i < of.num_columns
                                                         ? std::bit_cast<std::uint8_t>(results[row * of.out_stride + i])
                                                         : codes[row * of.stride + i])
                << "in place, row " << row << ", column " << i;
      }
      if (testing::Test::HasFailure()) return;
    }
  }

  // Rows of each code between two others. Scale 1, that is none.
  template <class Operation>
  static void check_codes() {
    const shape of{256, 3, 3, 0, 3, 0};
    bytes codes;
    for (int code = 0; code < 256; ++code)
      for (const int each : {0x38, code, 0xb4}) codes.push_back(static_cast<std::uint8_t>(each));
    const std::vector<W> none;
    const parameters<W> with{nullptr, nullptr, none, none};
    const guarded<std::uint8_t> in(codes);
    const guarded<Out> out(codes.size());
    ASSERT_EQ(Operation::run(codes_in(in, of), {}, results_in(out, of), with), cudaSuccess);
    judge<Operation>(of, codes, {1}, with, out.read());
  }
};
using Types = testing::Types<types<__nv_fp8_e4m3, float, float>, types<__nv_fp8_e4m3, __nv_bfloat16, __nv_bfloat16>,
                             types<__nv_fp8_e5m2, __half, __half>, types<__nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>,
                             types<__nv_fp8_e5m2, __nv_fp8_e5m2, float>>;
TYPED_TEST_SUITE(RowsOfCodes, Types);

TYPED_TEST(RowsOfCodes, Softmax) { TestFixture::template check_shapes<softmax>(); }
TYPED_TEST(RowsOfCodes, RmsNorm) { TestFixture::template check_shapes<rms_norm>(); }
TYPED_TEST(RowsOfCodes, EveryCode) {
  TestFixture::template check_codes<softmax>();
  TestFixture::template check_codes<rms_norm>();
}

// Two of the pairs have the other operations, too: one takes the compiler half a minute.
template <class Types>
struct AllOperations : RowsOfCodes<Types> {};
using FewTypes = testing::Types<types<__nv_fp8_e4m3, float, float>, types<__nv_fp8_e5m2, __nv_fp8_e5m2, float>>;
TYPED_TEST_SUITE(AllOperations, FewTypes);

TYPED_TEST(AllOperations, LogSoftmax) { TestFixture::template check_shapes<log_softmax>(); }
TYPED_TEST(AllOperations, LayerNorm) { TestFixture::template check_shapes<layer_norm>(); }
TYPED_TEST(AllOperations, EveryCode) {
  TestFixture::template check_codes<log_softmax>();
  TestFixture::template check_codes<layer_norm>();
}

// A row alone, aligned, has the bits that it has as the last of a batch at an odd address.
TYPED_TEST(RowsOfCodes, BitsDependOnTheRowAlone) {
  using Out = typename TestFixture::Out;
  using W = typename TestFixture::W;
  const std::vector<W> none;
  const parameters<W> with{nullptr, nullptr, none, none};
  for (const std::size_t columns : {3, 77, 256, 2049, 3072, 4096, 5120, 8192, 16384, 50257, 128256, 458752, 500001}) {
    SCOPED_TRACE(columns);
    const std::size_t batch = columns < 10000 ? 1000 : 17;
    const bytes row = random_codes(columns, 6, TestFixture::format);
    bytes many = random_codes(batch * columns, 5, TestFixture::format);
    std::memcpy(&many[(batch - 1) * columns], row.data(), columns);
    const guarded<std::uint8_t> alone(row), among(many, 1);
    const guarded<Out> out_alone(columns), out_among(many.size(), 3);
    const guarded<float> scale(std::vector<float>{TestFixture::scale_of_row(1)});
    const shape one{1, columns, columns, 0, columns, 0}, all{batch, columns, columns, 1, columns, 3};
    const auto expect_same = [&](auto operation) {
      using Operation = decltype(operation);
      const code_scale how{scale.data(), false};
      ASSERT_EQ(Operation::run(TestFixture::codes_in(alone, one), how, TestFixture::results_in(out_alone, one), with),
                cudaSuccess);
      ASSERT_EQ(Operation::run(TestFixture::codes_in(among, all), how, TestFixture::results_in(out_among, all), with),
                cudaSuccess);
      EXPECT_EQ(std::memcmp(out_alone.read().data(), &out_among.read()[(batch - 1) * columns], columns * sizeof(Out)),
                0);
    };
    expect_same(softmax{});
    expect_same(rms_norm{});
  }
}

// --- RMSNorm to codes: the kernel tells the factor of each row, and from there on all is bit by bit

template <class T, class Scale, scheme how>
void check_quantised(bool has_residual) {
  const std::size_t most = 700000;
  std::vector<T> weights = random_items<T>(most, 8, 1);
  const guarded<T> weight(weights), weight_apart(weights, 1);
  unsigned seed = has_residual ? 1000 : 2000;
  for (const shape& of : shapes()) {
    SCOPED_TRACE(of.name());
    ++seed;
    std::vector<T> items =
        random_items<T>(of.num_rows * of.stride, seed, std::ldexp(1.0f, static_cast<int>(seed % 20) - 10));
    const std::vector<T> before = random_items<T>(of.num_rows * of.stride, seed + 1, 1);
    for (std::size_t i = 0; i < of.num_columns; ++i) items[i] = T(0);  // a row of zeros where no residual is added
    if (of.num_rows > 2) items[2 * of.stride + of.num_columns / 2] = T(NAN);
    const guarded<T> in(items, of.offset), residual(before, of.offset);
    const guarded<std::uint8_t> codes(of.num_rows * of.out_stride, of.out_offset);
    const guarded<Scale> scales(of.num_rows);
    const guarded<float> factors(of.num_rows);
    rows::norm_options<T> options;
    const bool is_weighted = seed % 3 != 0;
    if (is_weighted) options.d_weight = seed % 3 == 1 ? weight.data() : weight_apart.data();
    if (has_residual) options.residual = matrix{residual.data(), of.num_rows, of.num_columns, of.stride};
    options.d_scales = factors.data();
    ASSERT_EQ(rows::rms_norm(
                  matrix<const T>{in.data(), of.num_rows, of.num_columns, of.stride},
                  matrix{reinterpret_cast<__nv_fp8_e4m3*>(codes.data()), of.num_rows, of.num_columns, of.out_stride},
                  scales.data(), options),
              cudaSuccess);
    const auto written = codes.read();
    const auto found = scales.read();
    const auto factor = factors.read();
    const auto sums = residual.read();
    for (std::size_t row = 0; row < of.num_rows; ++row) {
      double square = 0;
      float greatest = 0;
      bool has_nan = false;
      std::vector<float> weighted(of.num_columns);
      for (std::size_t i = 0; i < of.num_columns; ++i) {
        const std::size_t at = row * of.stride + i;
        T item = items[at];
        if (has_residual) {
          item = T(static_cast<float>(item) + static_cast<float>(before[at]));
          const float sum = static_cast<float>(sums[at]), expected = static_cast<float>(item);
          ASSERT_TRUE(sum == expected || (std::isnan(sum) && std::isnan(expected))) << "residual";
        }
        const float value = static_cast<float>(item);
        square += double{value} * value / static_cast<double>(of.num_columns);
        weighted[i] = is_weighted ? value * static_cast<float>(weights[i]) : value;
        greatest = std::fmax(greatest, std::fabs(weighted[i]));
        has_nan = has_nan || std::isnan(value);
      }
      if (has_nan) {
        ASSERT_TRUE(std::isnan(factor[row]));
      } else {
        const double expected = 1 / std::sqrt(square + 1e-5f);
        ASSERT_NEAR(factor[row], expected, depth * unit * expected);
      }
      const quantised_group scale = scale_of(how, greatest * factor[row], has_nan, 1);
      if constexpr (how == scheme::fp8_by_floats) {
        ASSERT_EQ(std::isnan(found[row]), scale.scale_is_nan);
        if (!has_nan) ASSERT_EQ(found[row], scale.scale) << "row " << row;
      } else {
        ASSERT_EQ(int{std::bit_cast<std::uint8_t>(found[row])}, scale.scale) << "row " << row;
      }
      for (std::size_t i = 0; i < of.out_stride; ++i)
        ASSERT_EQ(int{written[row * of.out_stride + i]},
                  i < of.num_columns ? code_of(how, weighted[i] * factor[row], scale) : 0xa5)
            << "row " << row << ", column " << i;
    }
  }
}
using RmsNormToCodes = OnAGpu;
TEST_F(RmsNormToCodes, OfBfloat16WithAResidual) { check_quantised<__nv_bfloat16, float, scheme::fp8_by_floats>(true); }
TEST_F(RmsNormToCodes, OfBfloat16) { check_quantised<__nv_bfloat16, float, scheme::fp8_by_floats>(false); }
TEST_F(RmsNormToCodes, OfFloatByPowers) { check_quantised<float, __nv_fp8_e8m0, scheme::fp8_by_powers>(false); }

// A row alone, aligned, has the bits that it has as the last of a batch at an odd address, whatever the weights' is.
TEST_F(RmsNormToCodes, BitsDependOnTheRowAlone) {
  using T = __nv_bfloat16;
  for (const std::size_t columns : {77, 1024, 2049, 3072, 4096, 5120, 8192, 16384}) {
    SCOPED_TRACE(columns);
    const std::size_t batch = 100;
    const std::vector<T> weights = random_items<T>(columns, 3, 1), many = random_items<T>(batch * columns, 4, 2),
                         row(many.end() - static_cast<std::ptrdiff_t>(columns), many.end());
    const guarded<T> alone(row), among(many, 1), weight(weights), weight_apart(weights, 3);
    const guarded<std::uint8_t> codes_alone(columns), codes_among(batch * columns, 5);
    const guarded<float> scale_alone(1), scale_among(batch);
    const auto run = [&](const guarded<T>& in, std::size_t num_rows, const guarded<T>& of_columns,
                         const guarded<std::uint8_t>& codes, const guarded<float>& scales) {
      rows::norm_options<T> options;
      options.d_weight = of_columns.data();
      return rows::rms_norm(matrix<const T>{in.data(), num_rows, columns},
                            matrix{reinterpret_cast<__nv_fp8_e4m3*>(codes.data()), num_rows, columns}, scales.data(),
                            options);
    };
    ASSERT_EQ(run(alone, 1, weight, codes_alone, scale_alone), cudaSuccess);
    ASSERT_EQ(run(among, batch, weight_apart, codes_among, scale_among), cudaSuccess);
    EXPECT_EQ(scale_alone.read()[0], scale_among.read()[batch - 1]);
    EXPECT_EQ(std::memcmp(codes_alone.read().data(), &codes_among.read()[(batch - 1) * columns], columns), 0);
  }
}

TEST_F(RmsNormToCodes, AnInfinityIsNan) {
  std::vector<__nv_bfloat16> items(100, __nv_bfloat16(1.0f));
  items[42] = __nv_bfloat16(-std::numeric_limits<float>::infinity());
  const guarded<__nv_bfloat16> in(items);
  const guarded<std::uint8_t> codes(100);
  const guarded<float> scale(1);
  ASSERT_EQ(rows::rms_norm(matrix{in.data(), 1, 100}, matrix{reinterpret_cast<__nv_fp8_e4m3*>(codes.data()), 1, 100},
                           scale.data()),
            cudaSuccess);
  EXPECT_TRUE(std::isnan(scale.read()[0]));
  for (const std::uint8_t code : codes.read()) ASSERT_EQ(code, 0x7f);
}

// --- contracts. None of these calls reaches the device.

TEST(LowPrecisionErrors, OfRowsOfCodes) {
  auto* const codes = reinterpret_cast<__nv_fp8_e4m3*>(256);
  auto* const items = reinterpret_cast<__nv_bfloat16*>(256);
  auto* const floats = reinterpret_cast<float*>(256);
  constexpr cudaError_t refused = cudaErrorInvalidValue;
  const matrix good{codes, 10, 10};
  const matrix out{items, 10, 10};

  EXPECT_EQ(rows::softmax(good, {}, matrix{items, 10, 9}), refused) << "other shapes";
  EXPECT_EQ(rows::softmax(good, {}, matrix{items, 10, 10, 9}), refused) << "rows overlap";
  EXPECT_EQ(rows::softmax(good, {}, matrix<__nv_bfloat16>{nullptr, 10, 10}), refused);
  EXPECT_EQ(rows::softmax(matrix<__nv_fp8_e4m3>{nullptr, 10, 10}, {}, out), refused);
  rows::norm_options<__nv_bfloat16> options;
  options.residual = out;
  EXPECT_EQ(rows::rms_norm(good, {}, out, options), refused) << "a residual of codes";
  EXPECT_EQ(rows::rms_norm(out, good, static_cast<float*>(nullptr)), refused);
  EXPECT_EQ(rows::rms_norm(out, matrix{codes, 10, 9}, floats), refused) << "other shapes";
  options.residual = matrix{items, 9, 10};
  EXPECT_EQ(rows::rms_norm(out, good, floats, options), refused) << "a residual of another shape";
  options.residual = {};
  options.d_bias = items;
  EXPECT_EQ(rows::rms_norm(out, good, floats, options), refused) << "a bias";
  EXPECT_EQ(rows::softmax(matrix{codes, 0, 10}, {}, matrix{items, 0, 10}), cudaSuccess);
  EXPECT_EQ(rows::rms_norm(matrix{items, 10, 0}, matrix{codes, 10, 0}, floats), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests::rows_of_codes
