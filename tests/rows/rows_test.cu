// Operations on the rows of a matrix against sums in double precision: shapes on both sides of every change of mapping,
// aligned or not, in place, apart, masked, infinite; and that the bits of a row depend on the row alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <rungs/rows/cross_entropy.cuh>
#include <rungs/rows/log_sum_exp.cuh>
#include <rungs/rows/merge_attention.cuh>
#include <rungs/rows/norms.cuh>
#include <rungs/rows/softmax.cuh>
#include <string>
#include <vector>

#include "gpu_test.hpp"

namespace rungs::tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
float value_of(T item) {
  return static_cast<float>(item);
}
template <class T>
T item_of(float value) {
  return T(value);
}
// Half the distance of neighbours, relative.
template <class T>
constexpr double rounding = std::is_same_v<T, float>    ? 0x1p-24
                            : std::is_same_v<T, __half> ? 0x1p-11
                                                        : 0x1p-8;

template <class T>
std::vector<T> random_items(std::size_t n, unsigned seed, float scale = 4) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<T> items(n);
  for (T& item : items) item = item_of<T>(normal(engine));
  return items;
}

template <class T>
bool same_bits(const T* a, const T* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(T)) == 0;
}

struct exact_row {
  double greatest = -infinity, sum = 0, mean = 0, variance = 0, square = 0;
  std::size_t arg_max = 0;

  template <class T>
  exact_row(const T* row, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const double value = value_of(row[i]);
      if (value > greatest) greatest = value, arg_max = i;
      mean += value / n;
      square += value * value / n;
    }
    const double base = std::isinf(greatest) ? 0 : greatest;
    for (std::size_t i = 0; i < n; ++i) {
      const double value = value_of(row[i]);
      sum += std::exp(value - base);
      variance += (value - mean) * (value - mean) / n;
    }
  }
  double log_sum_exp() const { return (std::isinf(greatest) ? 0 : greatest) + std::log(sum); }
};

template <class T>
struct Rows : OnAGpu {
  struct shape {
    std::size_t num_rows, num_columns, stride, offset;  // offset of the first item, from a multiple of 256 bytes
  };
  // Both sides of every change of mapping, which lie at 16 bytes times a power of two.
  static std::vector<shape> shapes() {
    std::vector<shape> all;
    const std::size_t piece = 16 / sizeof(T);
    for (std::size_t pieces = 1; pieces <= 2048; pieces *= 2)
      for (const std::size_t columns : {pieces * piece - 1, pieces * piece, pieces * piece + 1}) {
        const std::size_t rows = columns < 300 ? 131 : 7;
        all.push_back({rows, columns, columns, 0});
        all.push_back({rows, columns, columns + 3, 1});
        all.push_back({rows, columns, (columns / piece + 2) * piece, 0});
      }
    all.push_back({1, 1, 1, 0});
    for (const std::size_t columns :
         {2049 * piece, 3072 * piece, 4096 * piece, 4097 * piece, 8191 * piece, 8192 * piece + 1, 16384 * piece,
          16385 * piece + 3, 32768 * piece, 32768 * piece + 5, 70001 * piece, 114688 * piece, 114688 * piece + 1})
      for (const std::size_t offset : {0, 1}) all.push_back({2, columns, columns + 2 * offset, offset});
    return all;
  }
  static std::string name(const shape& of) {
    return std::to_string(of.num_rows) + " x " + std::to_string(of.num_columns) + ", stride " +
           std::to_string(of.stride) + ", offset " + std::to_string(of.offset);
  }

  // call(in, out, num_rows) of every shape, apart and in place; expected(row of the input, index, column) and how far
  // from it a result may be.
  template <class Call, class Judge>
  static void for_all_shapes(Call call, Judge judge) {
    for (const shape& of : shapes()) {
      SCOPED_TRACE(name(of));
      const std::vector<T> items = random_items<T>(of.num_rows * of.stride, 7);
      const guarded<T> in(items, of.offset), out(items.size(), of.offset);
      const rows::matrix source{in.data(), of.num_rows, of.num_columns, of.stride};
      const rows::matrix target{out.data(), of.num_rows, of.num_columns, of.stride};
      ASSERT_EQ(call(source, target), cudaSuccess);
      const std::vector<T> results = out.read();
      for (std::size_t row = 0; row < of.num_rows; ++row)
        judge(&items[row * of.stride], &results[row * of.stride], of.num_columns);
      ASSERT_EQ(call(source, source), cudaSuccess);
      const std::vector<T> in_place = in.read();
      for (std::size_t row = 0; row < of.num_rows; ++row) {
        ASSERT_TRUE(same_bits(&in_place[row * of.stride], &results[row * of.stride], of.num_columns))
            << "in place, row " << row;
        for (std::size_t i = of.num_columns; i < of.stride; ++i)
          ASSERT_TRUE(same_bits(&in_place[row * of.stride + i], &items[row * of.stride + i], 1)) << "between rows";
      }
      if (testing::Test::HasFailure()) return;
    }
  }
};
using Items = testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(Rows, Items);

constexpr double depth = 64;  // more additions than any item of these shapes passes through

TYPED_TEST(Rows, Softmax) {
  using T = TypeParam;
  TestFixture::for_all_shapes(
      [](const auto& in, const auto& out) { return rows::softmax(in, out); },
      [](const T* in, const T* out, std::size_t n) {
        const exact_row exact(in, n);
        for (std::size_t i = 0; i < n; ++i) {
          const double expected = std::exp(value_of(in[i]) - exact.greatest) / exact.sum;
          // Exponents are differences of floats; halves are subnormal below 2^-14, and their exponential is the
          // hardware's.
          const double relative = 2 * depth * 0x1p-24 + 1.01 * rounding<T> + (sizeof(T) == 2 ? 0x1p-16 : 0);
          ASSERT_NEAR(value_of(out[i]), expected, relative * expected + (std::is_same_v<T, __half> ? 0x1p-25 : 1e-38))
              << "column " << i;
        }
      });
}

TYPED_TEST(Rows, LogSoftmax) {
  using T = TypeParam;
  TestFixture::for_all_shapes(
      [](const auto& in, const auto& out) { return rows::log_softmax(in, out); },
      [](const T* in, const T* out, std::size_t n) {
        const double logarithm = exact_row(in, n).log_sum_exp();
        for (std::size_t i = 0; i < n; ++i) {
          const double expected = value_of(in[i]) - logarithm;
          ASSERT_NEAR(value_of(out[i]), expected, 2e-6 + (4 * 0x1p-24 + 1.01 * rounding<T>)*std::fabs(expected))
              << "column " << i;
        }
      });
}

TYPED_TEST(Rows, LayerNorm) {
  using T = TypeParam;
  const std::size_t most = 70001 * 16;
  const std::vector<T> weights = random_items<T>(most, 8, 1), biases = random_items<T>(most, 9, 1);
  const guarded<T> weight(weights, 1), bias(biases, 3), aligned_weight(weights), aligned_bias(biases);
  for (const bool aligned : {true, false})
    TestFixture::for_all_shapes(
        [&](const auto& in, const auto& out) {
          rows::norm_options<T> options;
          options.d_weight = aligned ? aligned_weight.data() : weight.data();
          options.d_bias = aligned ? aligned_bias.data() : bias.data();
          return rows::layer_norm(in, out, options);
        },
        [&](const T* in, const T* out, std::size_t n) {
          const exact_row exact(in, n);
          const double scale = 1 / std::sqrt(exact.variance + 1e-5);
          for (std::size_t i = 0; i < n; ++i) {
            const double scaled = (value_of(in[i]) - exact.mean) * scale * value_of(weights[i]);
            const double expected = scaled + value_of(biases[i]);
            const double magnitude = std::fabs(scaled) + std::fabs(value_of(biases[i])) +
                                     std::fabs(exact.mean * scale * value_of(weights[i]));
            ASSERT_NEAR(value_of(out[i]), expected,
                        depth * 0x1p-24 * magnitude + 1.01 * rounding<T> * std::fabs(expected) + 1e-7)
                << "column " << i;
          }
        });
}

TYPED_TEST(Rows, RmsNorm) {
  using T = TypeParam;
  TestFixture::for_all_shapes(
      [](const auto& in, const auto& out) { return rows::rms_norm(in, out); },
      [](const T* in, const T* out, std::size_t n) {
        const double scale = 1 / std::sqrt(exact_row(in, n).square + 1e-5);
        for (std::size_t i = 0; i < n; ++i) {
          const double expected = value_of(in[i]) * scale;
          ASSERT_NEAR(value_of(out[i]), expected, (depth * 0x1p-24 + 1.01 * rounding<T>)*std::fabs(expected) + 1e-7)
              << "column " << i;
        }
      });
}

// The mean is 10,000 times the deviation: E[x²] - mean² would be noise.
TEST(RowsOfFloats, VarianceBesideALargeMean) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  for (const std::size_t columns : {7, 2048, 100000}) {
    std::vector<float> items = random_items<float>(columns, 3, 1);
    for (float& item : items) item += 10000;
    const exact_row exact(items.data(), columns);
    const guarded<float> in(items), out(columns), means(1), scales(1);
    rows::norm_options<float> options;
    options.d_means = means.data();
    options.d_scales = scales.data();
    ASSERT_EQ(rows::layer_norm(rows::matrix{in.data(), 1, columns}, rows::matrix{out.data(), 1, columns}, options),
              cudaSuccess);
    EXPECT_NEAR(means.read()[0], exact.mean, 0.01);
    EXPECT_NEAR(scales.read()[0], 1 / std::sqrt(exact.variance + 1e-5), 2e-4);
  }
}

TYPED_TEST(Rows, ResidualIsUpdatedAndScaled) {
  using T = TypeParam;
  for (const std::size_t columns : {5, 300, 4096, 40000, 300000}) {
    SCOPED_TRACE(columns);
    const std::vector<T> added = random_items<T>(3 * columns, 4), before = random_items<T>(3 * columns, 5);
    std::vector<T> sums(added.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = item_of<T>(value_of(added[i]) + value_of(before[i]));
    const guarded<T> in(added), residual(before), expected_in(sums), out(sums.size()), expected(sums.size());
    rows::norm_options<T> options;
    options.residual = rows::matrix{residual.data(), 3, columns};
    ASSERT_EQ(rows::rms_norm(rows::matrix{in.data(), 3, columns}, rows::matrix{out.data(), 3, columns}, options),
              cudaSuccess);
    ASSERT_EQ(rows::rms_norm(rows::matrix{expected_in.data(), 3, columns}, rows::matrix{expected.data(), 3, columns}),
              cudaSuccess);
    EXPECT_TRUE(same_bits(residual.read().data(), sums.data(), sums.size()));
    EXPECT_TRUE(same_bits(out.read().data(), expected.read().data(), sums.size()));
  }
}

TYPED_TEST(Rows, LogSumExpAndCrossEntropy) {
  using T = TypeParam;
  for (const auto& of : TestFixture::shapes()) {
    SCOPED_TRACE(TestFixture::name(of));
    const std::vector<T> items = random_items<T>(of.num_rows * of.stride, 11);
    std::vector<int> targets(of.num_rows);
    for (std::size_t row = 0; row < of.num_rows; ++row) targets[row] = static_cast<int>(row * 7919 % of.num_columns);
    const guarded<T> in(items, of.offset);
    const guarded<int> target(targets), arg_max(of.num_rows);
    const guarded<float> alone(of.num_rows), losses(of.num_rows), together(of.num_rows), plain(of.num_rows);
    const rows::matrix logits{in.data(), of.num_rows, of.num_columns, of.stride};
    rows::cross_entropy_results<int> also;
    also.d_arg_max = arg_max.data();
    also.d_log_sum_exp = together.data();
    ASSERT_EQ(rows::log_sum_exp(logits, alone.data()), cudaSuccess);
    ASSERT_EQ(rows::cross_entropy(logits, target.data(), losses.data(), also), cudaSuccess);
    ASSERT_EQ(rows::cross_entropy(logits, target.data(), plain.data()), cudaSuccess);
    const auto sums = alone.read(), sums_too = together.read(), loss = losses.read();
    const auto places = arg_max.read();
    EXPECT_TRUE(same_bits(sums.data(), sums_too.data(), sums.size()));
    EXPECT_TRUE(same_bits(loss.data(), plain.read().data(), loss.size()));
    for (std::size_t row = 0; row < of.num_rows; ++row) {
      const T* const logit = &items[row * of.stride];
      const exact_row exact(logit, of.num_columns);
      const double bound = 2e-6 + 4 * 0x1p-24 * std::fabs(exact.log_sum_exp()) + (sizeof(T) == 2 ? 0x1p-16 : 0);
      ASSERT_NEAR(sums[row], exact.log_sum_exp(), bound);
      ASSERT_NEAR(loss[row], exact.log_sum_exp() - value_of(logit[targets[row]]), 2 * bound);
      ASSERT_EQ(places[row], static_cast<int>(exact.arg_max));
    }
  }
}

TYPED_TEST(Rows, TargetsThatAreNoColumns) {
  using T = TypeParam;
  const guarded<T> in(random_items<T>(4 * 10, 1));
  const std::vector<long long> targets = {-100, 10, -1, 9};
  const guarded<long long> target(targets);
  const guarded<float> losses(4);
  ASSERT_EQ(rows::cross_entropy(rows::matrix{in.data(), 4, 10}, target.data(), losses.data()), cudaSuccess);
  const auto loss = losses.read();
  EXPECT_EQ(loss[0], 0);
  EXPECT_TRUE(std::isnan(loss[1]));
  EXPECT_TRUE(std::isnan(loss[2]));
  EXPECT_GT(loss[3], 0);
}

// Every row of the batch holds one mask or special value at another place.
TYPED_TEST(Rows, InfinitiesAndNan) {
  using T = TypeParam;
  for (const std::size_t columns : {1, 3, 64, 1000, 20000, 40000, 600000}) {
    SCOPED_TRACE(columns);
    enum { masked, one_masked, one_infinite, one_nan, huge, num_rows };
    std::vector<T> items = random_items<T>(num_rows * columns, 2);
    const std::size_t at = columns * 2 / 3;
    for (std::size_t i = 0; i < columns; ++i) items[masked * columns + i] = item_of<T>(-infinity);
    items[one_masked * columns + at] = item_of<T>(-infinity);
    items[one_infinite * columns + at] = item_of<T>(infinity);
    items[one_nan * columns + at] = item_of<T>(NAN);
    for (std::size_t i = 0; i < columns; ++i) items[huge * columns + i] = item_of<T>(60000);
    const guarded<T> in(items), out(items.size());
    const guarded<float> sums(num_rows), losses(num_rows);
    const guarded<int> target(std::vector<int>(num_rows, 0)), arg_max(num_rows);
    rows::cross_entropy_results<int> also;
    also.d_arg_max = arg_max.data();
    const rows::matrix source{in.data(), std::size_t{num_rows}, columns};
    ASSERT_EQ(rows::softmax(source, rows::matrix{out.data(), std::size_t{num_rows}, columns}), cudaSuccess);
    ASSERT_EQ(rows::log_sum_exp(source, sums.data()), cudaSuccess);
    ASSERT_EQ(rows::cross_entropy(source, target.data(), losses.data(), also), cudaSuccess);
    const auto results = out.read();
    const auto sum = sums.read();
    const auto places = arg_max.read();
    for (std::size_t i = 0; i < columns; ++i) {
      ASSERT_TRUE(std::isnan(value_of(results[masked * columns + i])));
      ASSERT_TRUE(std::isnan(value_of(results[one_infinite * columns + i])));
      ASSERT_TRUE(std::isnan(value_of(results[one_nan * columns + i])));
      ASSERT_NEAR(value_of(results[huge * columns + i]) * columns, 1,
                  rounding<T> * 1.1 + 0x1p-20 + (std::is_same_v<T, __half> ? 0x1p-25 * columns : 0));
    }
    if (columns > 1) EXPECT_EQ(value_of(results[one_masked * columns + at]), 0);
    EXPECT_EQ(sum[masked], -infinity);
    EXPECT_EQ(sum[one_infinite], infinity);
    EXPECT_TRUE(std::isnan(sum[one_nan]));
    EXPECT_EQ(places[masked], 0);
    EXPECT_EQ(places[one_infinite], static_cast<int>(at));
    EXPECT_EQ(places[one_nan], static_cast<int>(at));
    EXPECT_EQ(places[huge], 0);
  }
}

// A row alone, aligned, has the bits that it has as the last of a batch at an odd address.
TYPED_TEST(Rows, BitsDependOnTheRowAlone) {
  using T = TypeParam;
  for (const std::size_t columns : {3, 77, 256, 2049, 16384, 50257, 128256, 300001, 524288}) {
    SCOPED_TRACE(columns);
    const std::size_t batch = columns < 10000 ? 1000 : 33;
    const std::vector<T> row = random_items<T>(columns, 6);
    std::vector<T> many = random_items<T>(batch * columns, 5);
    std::memcpy(&many[(batch - 1) * columns], row.data(), columns * sizeof(T));
    const guarded<T> alone(row), among(many, 1), out_alone(columns), out_among(many.size(), 3);
    const guarded<float> sum_alone(1), sum_among(batch);
    const rows::matrix one{alone.data(), 1, columns}, all{among.data(), batch, columns};
    const rows::matrix out_one{out_alone.data(), 1, columns}, out_all{out_among.data(), batch, columns};
    const auto expect_same = [&](cudaError_t first, cudaError_t second) {
      ASSERT_EQ(first, cudaSuccess);
      ASSERT_EQ(second, cudaSuccess);
      EXPECT_TRUE(same_bits(out_alone.read().data(), &out_among.read()[(batch - 1) * columns], columns));
    };
    expect_same(rows::softmax(one, out_one), rows::softmax(all, out_all));
    expect_same(rows::layer_norm(one, out_one), rows::layer_norm(all, out_all));
    expect_same(rows::rms_norm(one, out_one), rows::rms_norm(all, out_all));
    ASSERT_EQ(rows::log_sum_exp(one, sum_alone.data()), cudaSuccess);
    ASSERT_EQ(rows::log_sum_exp(all, sum_among.data()), cudaSuccess);
    EXPECT_TRUE(same_bits(sum_alone.read().data(), &sum_among.read()[batch - 1], 1));
  }
}

// The same of norms with all that they take and tell. Few rows have other launches than many, and whole pieces than
// others. Lengths are on both sides of every change of shape.
TYPED_TEST(Rows, BitsOfNormsDependOnTheRowAlone) {
  using T = TypeParam;
  struct launch {
    std::size_t num_rows, odd;
  };
  int multiprocessors = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  const std::size_t piece = 16 / sizeof(T), many = 4 * std::size_t(multiprocessors) + 3;
  for (std::size_t pieces = 12; pieces <= 6144; pieces *= 2)
    for (const std::size_t columns : {pieces * piece, pieces * 4 / 3 * piece, pieces * piece - 1})
      for (const bool centred : {true, false}) {
        const std::vector<T> row = random_items<T>(columns, 21), before = random_items<T>(columns, 22);
        const std::vector<T> weights = random_items<T>(columns, 23, 1), biases = random_items<T>(columns, 24, 1);
        const guarded<T> weight(weights), odd_weight(weights, 1), bias(biases), odd_bias(biases, 3);
        const guarded<T> in(many * (columns + piece)), residual(in.size()), out(in.size());
        const guarded<float> means(many), scales(many);
        std::vector<T> alone(columns), sums_alone(columns), items(columns);
        float mean_alone = 0, scale_alone = 0;
        for (const launch of : std::vector<launch>{{1, 0}, {3, 0}, {many, 0}, {1, 1}, {many, 1}}) {
          SCOPED_TRACE(testing::Message()
                       << of.num_rows << " x " << columns << (centred ? ", layer norm" : ", RMS norm")
                       << (of.odd ? ", odd addresses" : ""));
          const std::size_t stride = (columns + piece - 1) / piece * piece + of.odd;
          const std::size_t last = of.odd + (of.num_rows - 1) * stride, bytes = columns * sizeof(T);
          const auto rows_of = [&](const guarded<T>& memory) {
            return rows::matrix{memory.data() + of.odd, of.num_rows, columns, stride};
          };
          in.fill(0);
          residual.fill(0);
          ASSERT_EQ(cudaMemcpy(in.data() + last, row.data(), bytes, cudaMemcpyDefault), cudaSuccess);
          ASSERT_EQ(cudaMemcpy(residual.data() + last, before.data(), bytes, cudaMemcpyDefault), cudaSuccess);
          rows::norm_options<T> options;
          options.d_weight = of.odd ? odd_weight.data() : weight.data();
          options.d_bias = of.odd ? odd_bias.data() : bias.data();
          options.residual = rows_of(residual);
          options.d_means = means.data();
          options.d_scales = scales.data();
          ASSERT_EQ(centred ? rows::layer_norm(rows_of(in), rows_of(out), options)
                            : rows::rms_norm(rows_of(in), rows_of(out), options),
                    cudaSuccess);

          const auto expect_same = [&](const guarded<T>& memory, std::vector<T>& expected) {
            ASSERT_EQ(cudaMemcpy(items.data(), memory.data() + last, bytes, cudaMemcpyDefault), cudaSuccess);
            if (of.num_rows == 1 && !of.odd) expected = items;
            EXPECT_TRUE(same_bits(items.data(), expected.data(), columns));
          };
          const auto expect_same_float = [&](const guarded<float>& memory, float& expected) {
            const float found = memory.read()[of.num_rows - 1];
            if (of.num_rows == 1 && !of.odd) expected = found;
            EXPECT_TRUE(same_bits(&found, &expected, 1));
          };
          expect_same(out, alone);
          expect_same(residual, sums_alone);
          expect_same_float(scales, scale_alone);
          if (centred) expect_same_float(means, mean_alone);
        }
      }
}

TYPED_TEST(Rows, MergedAttention) {
  using T = TypeParam;
  for (const std::size_t columns : {64, 128, 7})
    for (const unsigned parts : {1u, 2u, 5u}) {
      SCOPED_TRACE(testing::Message() << parts << " parts of " << columns);
      const std::size_t rows = 50;
      std::vector<T> outputs = random_items<T>(parts * rows * columns, 12, 1);
      std::vector<float> scores = random_items<float>(parts * rows, 13, 20);
      for (unsigned part = 0; part < parts; ++part) scores[part * rows + 3] = -infinity;  // masked everywhere
      scores[4] = -infinity;                                                              // in the first part
      for (std::size_t i = 0; i < columns; ++i) outputs[4 * columns + i] = item_of<T>(NAN);
      const guarded<T> from(outputs), out(rows * columns);
      const guarded<float> score(scores), merged(rows);
      ASSERT_EQ(rows::merge_attention(from.data(), score.data(), parts, rows, columns, out.data(), merged.data()),
                cudaSuccess);
      const auto results = out.read();
      const auto sums = merged.read();
      for (std::size_t row = 0; row < rows; ++row) {
        double greatest = -infinity, sum = 0;
        for (unsigned part = 0; part < parts; ++part) greatest = std::fmax(greatest, scores[part * rows + row]);
        std::vector<double> expected(columns), magnitude(columns);
        for (unsigned part = 0; part < parts && greatest != -infinity; ++part) {
          const double weight = std::exp(scores[part * rows + row] - greatest);
          sum += weight;
          for (std::size_t i = 0; i < columns && weight > 0; ++i) {
            const double product = weight * value_of(outputs[(part * rows + row) * columns + i]);
            expected[i] += product;
            magnitude[i] += std::fabs(product);
          }
        }
        if (sum == 0) {
          EXPECT_EQ(sums[row], -infinity);
        } else {
          EXPECT_NEAR(sums[row], greatest + std::log(sum), 4e-6 + 0x1p-22 * std::fabs(greatest));
        }
        for (std::size_t i = 0; i < columns; ++i)
          ASSERT_NEAR(value_of(results[row * columns + i]), sum == 0 ? 0 : expected[i] / sum,
                      1.01 * rounding<T> * std::fabs(expected[i] / (sum == 0 ? 1 : sum)) + 1e-5 * magnitude[i] + 1e-7);
      }
    }
}

TYPED_TEST(Rows, BadArgumentsAreRefused) {
  using T = TypeParam;
  const guarded<T> memory(100);
  const guarded<float> sums(10);
  const rows::matrix good{memory.data(), 10, 10};
  EXPECT_EQ(rows::softmax(good, rows::matrix{memory.data(), 10, 9}), cudaErrorInvalidValue);
  EXPECT_EQ(rows::softmax(good, rows::matrix{memory.data(), 10, 10, 9}), cudaErrorInvalidValue);
  EXPECT_EQ(rows::softmax(good, rows::matrix<T>{nullptr, 10, 10}), cudaErrorInvalidValue);
  EXPECT_EQ(rows::log_sum_exp(good, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(rows::cross_entropy(good, static_cast<int*>(nullptr), sums.data()), cudaErrorInvalidValue);
  EXPECT_EQ(rows::softmax(rows::matrix{memory.data(), 1, std::size_t{1} << 31},
                          rows::matrix{memory.data(), 1, std::size_t{1} << 31}),
            cudaErrorInvalidValue);
  // Nothing to do.
  EXPECT_EQ(rows::softmax(rows::matrix<T>{nullptr, 0, 10}, rows::matrix<T>{nullptr, 0, 10}), cudaSuccess);
  EXPECT_EQ(rows::softmax(rows::matrix<T>{nullptr, 10, 0}, rows::matrix<T>{nullptr, 10, 0}), cudaSuccess);
  ASSERT_EQ(rows::log_sum_exp(rows::matrix<T>{nullptr, 10, 0}, sums.data()), cudaSuccess);
  for (const float sum : sums.read()) EXPECT_EQ(sum, -infinity);
}

TEST(RowsOfFloats, ReplayedInAGraph) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  const std::size_t columns = 40000;
  const guarded<float> in(2 * columns), out(2 * columns);
  const own_stream stream;
  const captured graph(stream, [&] { return rows::softmax(in.data(), out.data(), 2, columns, stream); });
  for (const unsigned seed : {1, 2, 3}) {
    const auto items = random_items<float>(2 * columns, seed);
    ASSERT_EQ(arrived(cudaMemcpy(in.data(), items.data(), items.size() * 4, cudaMemcpyHostToDevice)), cudaSuccess);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    const auto results = out.read();
    const exact_row exact(&items[columns], columns);
    EXPECT_NEAR(results[columns + 5], std::exp(items[columns + 5] - exact.greatest) / exact.sum, 1e-7);
  }
}

}  // namespace
}  // namespace rungs::tests
