// rungs::rows::sample against sorted rows on the host: cut sets and draws exactly, and draws by chi-square.
#include <cmath>
#include <tuple>

#include <rungs/rows/sampling.cuh>
#include <rungs/sampling/01_cut_by_bins.cuh>

#include "sampling/draws.hpp"
#include "sampling/support.hpp"

namespace rungs::tests {
namespace {

using rows::matrix;
using rows::sampling;
using rows::sampling_draw;

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

sampling_rules rules_of(const sampling& how) {
  return {how.temperature, how.top_k, how.top_p, how.min_p, how.from_probabilities};
}

// From 0 to just below 1, and both ends.
std::vector<float> make_uniforms(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> uniforms(n);
  for (std::size_t i = 0; i < n; ++i) uniforms[i] = static_cast<float>(engine() >> 8) * 0x1p-24f;
  if (n > 2) uniforms[0] = 0, uniforms[n - 1] = 1;
  return uniforms;
}

template <class T>
struct Sampling : OnAGpu {
  // Every row by uniform numbers, by a seed, and by Gumbel's noise.
  static void expect_right(const std::vector<T>& items, std::size_t num_rows, std::size_t num_columns,
                           std::size_t stride, const sampling& cuts, std::size_t offset = 0) {
    SCOPED_TRACE(std::to_string(num_rows) + " x " + std::to_string(num_columns) + ", top_k " +
                 std::to_string(cuts.top_k) + ", top_p " + std::to_string(cuts.top_p) + ", min_p " +
                 std::to_string(cuts.min_p) + ", temperature " + std::to_string(cuts.temperature) +
                 (cuts.from_probabilities ? ", probabilities" : ""));
    const guarded<T> in(items, offset);
    const std::vector<float> uniforms = make_uniforms(num_rows, 11);
    const guarded<float> d_uniforms(uniforms);
    std::vector<host_row> expected;
    for (std::size_t row = 0; row < num_rows; ++row)
      expected.emplace_back(row_as_floats(items, row * stride, num_columns), rules_of(cuts));
    enum { by_uniforms, by_seed, by_gumbel };
    for (const int way : {by_uniforms, by_seed, by_gumbel}) {
      SCOPED_TRACE(way);
      sampling how = cuts;
      how.seed = 0x123456789abcdef;
      how.offset = 0x1000000007;
      if (way == by_uniforms) how.d_uniforms = d_uniforms.data();
      if (way == by_gumbel) how.draw = sampling_draw::gumbel;
      const guarded<int> tokens(num_rows), last(num_rows), tokens_alone(num_rows);
      const guarded<float> probabilities(num_rows);
      const matrix logits{in.data(), num_rows, num_columns, stride};
      ASSERT_EQ(rows::sample(logits, tokens.data(), how, nullptr, {last.data(), probabilities.data()}), cudaSuccess);
      ASSERT_EQ(rows::sample(logits, tokens_alone.data(), how), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const auto found = tokens.read(), found_last = last.read();
      const auto found_probabilities = probabilities.read();
      EXPECT_EQ(found, tokens_alone.read());
      std::size_t wrong = 0, wrong_last = 0, wrong_probabilities = 0;
      for (std::size_t row = 0; row < num_rows; ++row) {
        const host_row& right = expected[row];
        const auto index = static_cast<unsigned>(row);
        const int token = way == by_gumbel ? gumbel_draw(right, index, how.seed, how.offset)
                          : way == by_seed ? right.draw(random_fraction(index, how.seed, how.offset))
                                           : right.draw(host_row::fraction_of(uniforms[row]));
        wrong += found[row] != token;
        wrong_last += found_last[row] != right.last_kept();
        wrong_probabilities += found_probabilities[row] != right.probability(token);
      }
      EXPECT_EQ(wrong, 0u);
      EXPECT_EQ(wrong_last, 0u);
      EXPECT_EQ(wrong_probabilities, 0u);
    }
  }

  // In each of these ways, from so many items behind an alignment, random rows of these shapes.
  struct shape {
    std::size_t num_rows, num_columns;
  };
  struct way {
    sampling how;
    std::size_t offset;
  };
  static void expect_right_of_random(unsigned seed, std::initializer_list<way> ways,
                                     std::initializer_list<shape> shapes) {
    for (const auto& [num_rows, num_columns] : shapes) {
      const auto items = make_keys<T>(keys_are::random, num_rows * num_columns, seed);
      for (const way& each : ways) expect_right(items, num_rows, num_columns, num_columns, each.how, each.offset);
    }
  }

  // Items whose values are those of value_of(i), by each of these cuts.
  template <class ValueOf>
  static void expect_right_of(std::size_t num_rows, std::size_t num_columns, ValueOf value_of, sampling how,
                              std::initializer_list<int> top_ks, std::initializer_list<float> top_ps) {
    std::vector<T> items(num_rows * num_columns);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = T(static_cast<float>(value_of(i)));
    for (const int top_k : top_ks)
      for (const float top_p : top_ps) {
        how.top_k = top_k;
        how.top_p = top_p;
        expect_right(items, num_rows, num_columns, num_columns, how, 1);
      }
  }
};

// By temperature, top_k, top_p and min_p.
const sampling ways_to_cut[] = {{},
                                {1, 0, 0.9f},
                                {1, 0, 0},
                                {0, 0, 1},
                                {0.7f, 1},
                                {1, 50},
                                {2, 3000, 0.95f},
                                {1, 0, 1, 0.05f},
                                {1.5f, 40, 0.5f, 0.01f},
                                {100, 0, 0.999999f},
                                {1e-4f, 1 << 30, 1e-12f, 1}};
constexpr keys_are kinds_of_keys[] = {keys_are::random,    keys_are::equal,   keys_are::few,
                                      keys_are::ascending, keys_are::special, keys_are::bits};

using logit_types = testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(Sampling, logit_types);

TYPED_TEST(Sampling, CutsAndDrawsOfRowsOfEveryKind) {
  for (const std::size_t num_columns : {1, 5, 333, 2049, 9001, 20011})
    for (const keys_are kind : kinds_of_keys) {
      SCOPED_TRACE(name_of(kind));
      const std::size_t num_rows = 5, stride = num_columns + num_columns % 4;
      const auto items = make_keys<TypeParam>(kind, num_rows * stride, 3);
      for (const sampling& how : ways_to_cut) this->expect_right(items, num_rows, num_columns, stride, how);
    }
}

// One row by a cluster of 16, few by smaller ones, many by a block each; those of halves may stay in shared memory. Of
// more rows than multiprocessors, long ones have a longer list.
TYPED_TEST(Sampling, RowsOfAVocabularyInEveryNumber) {
  this->expect_right_of_random(
      5, {{{}, 1}, {{.top_p = 0.9f}, 3}, {{.temperature = 3, .top_k = 2000, .top_p = 0.9f}, 0}},
      {{1, 128512}, {7, 50257}, {19, 128512}, {40, 32000}, {70, 40000}, {300, 6001}, {200, 50257}, {134, 200003}});
}

// Four blocks and one have a row, with 132 multiprocessors; the latter for floats alone.
TYPED_TEST(Sampling, GumbelDrawsByLists) {
  for (const auto& [num_rows, num_columns] : {std::pair<std::size_t, std::size_t>{16, 49153}, {67, 8193}})
    for (const keys_are kind : kinds_of_keys) {
      SCOPED_TRACE(name_of(kind));
      const std::size_t stride = num_columns + 2;
      const auto items = make_keys<TypeParam>(kind, num_rows * stride, 39);
      this->expect_right(items, num_rows, num_columns, stride, sampling(), 1);
    }
}

// Rising logits, so that each token may win when it is read, logits whose scores are beyond what is compared, and one
// infinity at a row's beginning, its middle or its end. Lists of tokens overflow, or do not prove a draw.
TYPED_TEST(Sampling, GumbelDrawsThatListsDoNotTell) {
  constexpr std::size_t num_rows = 16, num_columns = 49153;
  std::vector<TypeParam> rising(num_rows * num_columns), great(num_rows * num_columns);
  for (std::size_t i = 0; i < rising.size(); ++i) {
    rising[i] = static_cast<TypeParam>(static_cast<float>(i % num_columns) * 0x1p-11f);
    great[i] = static_cast<TypeParam>(30000 + 16 * static_cast<float>(i % 7));
  }
  auto infinite = rising;
  for (std::size_t row = 0; row < num_rows; ++row)
    infinite[row * num_columns + row % 3 * (num_columns / 2)] = static_cast<TypeParam>(inf);
  for (const float temperature : {1.0f, 0.01f, 1e-3f, 1e-36f}) {
    sampling how;
    how.temperature = temperature;
    this->expect_right(rising, num_rows, num_columns, num_columns, how);
    this->expect_right(great, num_rows, num_columns, num_columns, how, 1);
    this->expect_right(infinite, num_rows, num_columns, num_columns, how);
  }
}

// Clusters of 16, 8, 4 and 2 blocks, single blocks, and what is too short or too much for them, with 132
// multiprocessors.
TYPED_TEST(Sampling, RowsAtBothSidesOfEachSizeOfClusters) {
  this->expect_right_of_random(33, {{{.top_p = 0.9f}, 1}, {{.top_k = 50}, 0}},
                               {{5, 57344},
                                {5, 16384},
                                {6, 16384},
                                {1, 16383},
                                {14, 8192},
                                {15, 8192},
                                {1, 8191},
                                {30, 4096},
                                {31, 4096},
                                {66, 2048},
                                {67, 2048},
                                {132, 2048},
                                {133, 2048},
                                {3, 2047}});
}

// Patterns by clusters of 16, 8 and 4 blocks and by single blocks. Gumbel draws by lists of 4, 2 and single blocks, and
// by other ways. All with 132 multiprocessors.
TYPED_TEST(Sampling, RowsAtBothSidesOfClustersOfPatternsAndOfLists) {
  this->expect_right_of_random(
      37, {{{}, 1}, {{.top_p = 0.9f}, 1}},
      {{24, 32768}, {25, 32768}, {30, 32768}, {31, 32768}, {25, 32767},  {24, 16384}, {24, 16383}, {4, 65536},
       {4, 65535},  {14, 49152}, {15, 65536}, {15, 65535}, {15, 131072}, {31, 57344}, {31, 57343}, {31, 16384},
       {31, 16383}, {66, 24576}, {66, 24575}, {67, 24576}, {67, 24575},  {67, 8192},  {67, 8191}});
}

// Cuts and draws lie among more tokens than a list has room for. Blocks look through their shares then.
TYPED_TEST(Sampling, RowsOfEqualTokensByLevels) {
  for (const auto& [num_rows, num_columns] :
       {std::pair<std::size_t, std::size_t>{1, 128512}, {9, 70001}, {20, 33000}, {34, 16500}, {70, 8200}}) {
    const auto normal = make_keys<float>(keys_are::random, num_rows * num_columns, 35);
    const auto expect = [&](auto value_of) {
      this->expect_right_of(num_rows, num_columns, value_of, {}, {0, 12345}, {1.0f, 0.7f});
    };
    expect([](std::size_t) { return 1.5f; });
    expect([&](std::size_t i) { return normal[i] > 0 ? 1.5f : -inf; });
    expect([&](std::size_t i) { return normal[i] > 1 ? 0.5f : normal[i] < -1 ? nan : -0.0f; });
    expect([&](std::size_t i) { return i % 11 == 3 ? 4 + normal[i] / 8 : i % 11 == 4 ? -inf : 2; });
    expect([&](std::size_t i) { return i % 5 == 0 ? inf : normal[i]; });
  }
}

// Among listed tokens, some are equal to that of a cut: a few, as many as a warp compares at once, or more.
TYPED_TEST(Sampling, ListsWithEqualTokens) {
  for (const auto& [num_rows, num_columns] :
       {std::pair<std::size_t, std::size_t>{1, 128512}, {9, 33000}, {20, 16500}, {50, 8200}, {70, 8200}}) {
    const auto normal = make_keys<float>(keys_are::random, num_rows * num_columns, 47);
    for (const float num_equal : {3.0f, 20.0f, 150.0f}) {
      const float distance = 2.5f * num_equal / static_cast<float>(num_columns);  // of values, next to 0
      this->expect_right_of(num_rows, num_columns,
                            [&](std::size_t i) { return std::round(normal[i] / distance) * distance; }, {},
                            {0, static_cast<int>(num_columns / 3)}, {1.0f, 0.8f});
    }
  }
}

// A sample does not see the few greatest tokens, or most tokens are out, or all are alike.
TYPED_TEST(Sampling, RowsThatASampleKnowsLittleOf) {
  for (const auto& [num_rows, num_columns] : {std::pair<std::size_t, std::size_t>{2, 128512}, {140, 9001}}) {
    const auto normal = make_keys<float>(keys_are::random, num_rows * num_columns, 23);
    const auto expect = [&](auto value_of, bool from_probabilities) {
      const sampling how{.from_probabilities = from_probabilities};
      this->expect_right_of(num_rows, num_columns, value_of, how, {0}, {1.0f, 0.7f});
    };
    for (const std::size_t one_of : {9001, 1009, 401}) {
      SCOPED_TRACE(one_of);
      expect([&](std::size_t i) { return i % one_of == 400 ? 30 + normal[i] : normal[i] / 4; }, false);
    }
    expect([&](std::size_t i) { return i % 7 == 0 ? normal[i] / 4 : -inf; }, false);
    expect([&](std::size_t i) { return i % 7 == 0 ? normal[i] / 4 : nan; }, false);
    expect([&](std::size_t i) { return std::exp(normal[i] / 40) / 100000; }, true);
    expect([&](std::size_t i) { return i % 5 == 0 ? 0 : std::exp(normal[i]) / 1000; }, true);
  }
}

// What bins of patterns do not tell apart: tiny and great logits, zeros of both signs, and what is no number.
TYPED_TEST(Sampling, RowsAtTheEndsOfTheBinsOfPatterns) {
  const std::size_t num_rows = 3, num_columns = 20011;
  const auto normal = make_keys<float>(keys_are::random, num_rows * num_columns, 31);
  const auto expect = [&](auto value_of) {
    this->expect_right_of(num_rows, num_columns, value_of, {}, {0}, {1.0f, 0.6f});
  };
  expect([&](std::size_t i) { return normal[i] * 0x1p-24f; });
  expect([&](std::size_t i) { return i % 3 == 0 ? normal[i] : i % 3 == 1 ? 0.0f : -0.0f; });
  expect([&](std::size_t i) { return i == 777 ? 127.5f : normal[i]; });
  expect([&](std::size_t i) { return i == 777 ? 127.0f : 120 + normal[i] / 4; });
  expect([&](std::size_t i) { return -127 - std::fabs(normal[i]); });
  expect([&](std::size_t i) { return i == 777 ? nan : normal[i]; });
  expect([&](std::size_t i) { return i % 2 == 0 ? -std::fabs(normal[i]) : -inf; });
}

// Most tokens have one of a few values, so that no list has room for those of a cut. Values next to the frequent ones,
// in the same bins, are fewer, or there are as many of them.
TYPED_TEST(Sampling, RowsOfFrequentValues) {
  for (const auto& [num_rows, num_columns] : {std::pair<std::size_t, std::size_t>{1, 128512},
                                              {9, 70001},
                                              {20, 33000},
                                              {31, 50001},
                                              {70, 9001},
                                              {135, 8200}}) {
    SCOPED_TRACE(num_rows);
    const auto normal = make_keys<float>(keys_are::random, num_rows * num_columns, 41);
    const auto expect = [&](bool from_probabilities, auto value_of) {
      const sampling how{.from_probabilities = from_probabilities};
      this->expect_right_of(num_rows, num_columns, value_of, how, {0, 5000}, {1.0f, 0.8f});
    };
    expect(false, [&](std::size_t i) { return std::rint(2 * normal[i]) / 2; });
    expect(false, [&](std::size_t i) { return i % 3 == 0 ? normal[i] : i % 3 == 1 ? 0.0f : -0.0f; });
    expect(false, [&](std::size_t i) { return i % 2 == 0 ? 3 : i % 8 == 1 ? 1e-5f * normal[i] : 0; });
    expect(false, [&](std::size_t i) { return i % 5 < 4 ? static_cast<float>(i % 5) * 0x1p-9f : normal[i] * 0x1p-8f; });
    expect(true, [&](std::size_t i) { return i % 2 == 0 ? 0.25f : i % 4 == 1 ? 0.125f : std::fabs(normal[i]); });
  }
}

// Outer bins of patterns. A cut may lie in them if they have one value, as zeros of both signs. The same value may have
// neighbours there that are greater or less, which are told apart by the order alone, or by their weights.
TYPED_TEST(Sampling, RowsInTheOuterBinsOfPatterns) {
  for (const auto& [num_rows, num_columns] : {std::pair<std::size_t, std::size_t>{2, 65537}, {40, 8195}}) {
    SCOPED_TRACE(num_rows);
    const auto normal = make_keys<float>(keys_are::random, num_rows * num_columns, 43);
    const auto expect = [&](float temperature, auto value_of) {
      const sampling how{.temperature = temperature};
      this->expect_right_of(num_rows, num_columns, value_of, how, {0, 1500}, {1.0f, 0.6f});
    };
    for (const float temperature : {1.0f, 0.01f, 1e-4f, 1e-30f}) {
      expect(temperature, [](std::size_t i) { return i % 2 == 0 ? 0.0f : -0.0f; });
      expect(temperature, [&](std::size_t i) { return i % 2 == 0 ? 0.0f : -std::fabs(normal[i]); });
      for (const float tiny : {0x1p-26f, -0x1p-26f, 0x1p-24f})  // some are 0 in halves
        expect(temperature, [&](std::size_t i) { return i % 4 == 1 ? tiny : i % 4 == 2 ? -0.0f : 0.0f; });
      expect(temperature, [&](std::size_t i) { return i % 9 == 1 ? 0x1p-30f : i % 9 == 2 ? 1.0f : 0.0f; });
      expect(temperature, [&](std::size_t i) { return i % 9 == 1 ? 0x1p-30f * normal[i] : -1; });
    }
    expect(1, [&](std::size_t i) { return i % num_columns == 5000 ? 1000 : normal[i]; });
    expect(1, [&](std::size_t i) { return i % 100 == 99 ? 1000 : normal[i]; });
    expect(1, [&](std::size_t i) { return i % 100 == 99 ? 200 : i % 3 == 0 ? 199 : normal[i]; });
    expect(1, [&](std::size_t i) { return i % 100 == 99 ? inf : i % 3 == 0 ? 60000.0f : normal[i]; });
    expect(1, [&](std::size_t i) { return i % 100 == 99 ? inf : i % 3 == 0 ? nan : normal[i]; });
    expect(1, [&](std::size_t i) { return i % 3 == 0 ? 127.5f : i % 3 == 1 ? 127.0f : 126.0f; });
    expect(20, [&](std::size_t i) { return i % 2 == 0 ? normal[i] : -inf; });
    expect(20, [&](std::size_t i) { return i % 2 == 0 ? normal[i] : i % 4 == 1 ? -130.0f : -129.0f; });
  }
}

// Parts of a row of patterns may have 2^16 equal tokens, which is no token in 16 bits.
TYPED_TEST(Sampling, RowsOfPartsOfEqualTokens) {
  const std::size_t num_columns = 327672;
  std::vector<TypeParam> items(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) items[i] = TypeParam(i / 65536 % 2 == 0 ? -0.0f : 1.0f);
  const guarded<TypeParam> in(items);
  for (const std::size_t num_draws : {3, 24, 64})
    for (const float top_p : {1.0f, 0.9f, 0.5f}) {
      sampling how;
      how.top_p = top_p;
      const auto uniforms = make_uniforms(num_draws, 45);
      const guarded<float> d_uniforms(uniforms);
      how.d_uniforms = d_uniforms.data();
      const host_row right(row_as_floats(items, 0, num_columns), rules_of(how));
      const guarded<int> tokens(num_draws), last(num_draws);
      const matrix<const TypeParam> logits{in.data(), num_draws, num_columns, 0};
      ASSERT_EQ(rows::sample(logits, tokens.data(), how, nullptr, {last.data(), nullptr}), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      std::vector<int> expected;
      for (const float uniform : uniforms) expected.push_back(right.draw(host_row::fraction_of(uniform)));
      EXPECT_EQ(tokens.read(), expected);
      EXPECT_EQ(last.read(), std::vector<int>(num_draws, right.last_kept()));
    }
}

TYPED_TEST(Sampling, LongRows) {
  const std::size_t num_columns = 512 * 1024 + 5;
  for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::few})
    for (const std::size_t num_rows : {1, 9}) {
      sampling how;
      how.top_p = 0.8f;
      this->expect_right(make_keys<TypeParam>(kind, num_rows * num_columns, 7), num_rows, num_columns, num_columns,
                         how);
    }
}

TYPED_TEST(Sampling, Probabilities) {
  for (const std::size_t num_columns : {1, 100, 4099, 40000})
    for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::special}) {
      auto items = make_keys<TypeParam>(kind, 3 * num_columns, 9);
      if (kind != keys_are::special)
        for (auto& item : items) item = TypeParam(std::exp(static_cast<float>(item)) / 100);
      for (sampling how : ways_to_cut) {
        how.from_probabilities = true;
        how.temperature = 1;
        this->expect_right(items, 3, num_columns, num_columns, how);
      }
    }
}

struct SamplingCalls : OnAGpu {
  // Draws of one row, all of them with one call.
  static std::vector<int> draw(const std::vector<float>& row, const sampling& how, std::size_t num_draws) {
    const guarded<float> in(row);
    const guarded<int> tokens(num_draws);
    EXPECT_EQ(rows::sample(matrix<const float>{in.data(), num_draws, row.size(), 0}, tokens.data(), how), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return tokens.read();
  }
};

TEST_F(SamplingCalls, AMillionDrawsFollowTheProbabilities) {
  std::mt19937 engine(21);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(700);
  for (float& each : logits) each = normal(engine);
  for (const sampling_draw way : {sampling_draw::inverse, sampling_draw::gumbel})
    for (const bool cut : {false, true}) {
      SCOPED_TRACE(cut);
      SCOPED_TRACE(static_cast<int>(way));
      sampling how;
      how.draw = way;
      how.temperature = 1.25f;
      how.seed = 77;
      if (cut) how.top_p = 0.8f, how.top_k = 300, how.min_p = 0.001f;
      // Shares by double precision, of the tokens that the host keeps.
      const host_row kept(logits, rules_of(how));
      std::vector<double> share(logits.size());
      double sum = 0;
      for (std::size_t i = 0; i < kept.num_kept; ++i) {
        const auto token = static_cast<std::size_t>(kept.order[i]);
        sum += share[token] = std::exp(logits[token] / double(how.temperature));
      }
      const chi_square found(draw(logits, how, 1000000), logits.size(), [&](std::size_t i) { return share[i] / sum; });
      EXPECT_TRUE(found.is_likely()) << found.statistic << " with " << found.freedom << " degrees of freedom";
    }
}

// Tokens of 1 and of 1.44 times a power of two: a logarithm that is linear between powers of two is wrong by most
// there.
TEST_F(SamplingCalls, AMillionDrawsFollowRowsOfProbabilities) {
  std::vector<float> probabilities(600);
  double sum = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i)
    sum += probabilities[i] = std::ldexp(i % 2 == 0 ? 1.0f : 1.44f, -6 - static_cast<int>(i / 60));
  for (const sampling_draw way : {sampling_draw::inverse, sampling_draw::gumbel}) {
    SCOPED_TRACE(static_cast<int>(way));
    sampling how;
    how.draw = way;
    how.from_probabilities = true;
    how.seed = 79;
    const chi_square found(draw(probabilities, how, 1000000), probabilities.size(),
                           [&](std::size_t i) { return probabilities[i] / sum; });
    EXPECT_TRUE(found.is_likely()) << found.statistic << " with " << found.freedom << " degrees of freedom";
  }
}

TEST_F(SamplingCalls, OffsetsAndSeedsDrawAnew) {
  const std::vector<float> row(1000, 1.0f);
  sampling how;
  for (const sampling_draw way : {sampling_draw::inverse, sampling_draw::gumbel}) {
    how = {};
    how.draw = way;
    const auto first = draw(row, how, 1000);
    EXPECT_EQ(first, draw(row, how, 1000));
    how.offset = 1;
    const auto second = draw(row, how, 1000);
    how.seed = 1;
    const auto third = draw(row, how, 1000);
    std::size_t same = 0;
    for (std::size_t i = 0; i < first.size(); ++i) same += (first[i] == second[i]) + (first[i] == third[i]);
    EXPECT_LT(same, 20u);
  }
}

TEST_F(SamplingCalls, ARowIsTheSameInAnyBatch) {
  const std::size_t num_rows = 290, num_columns = 33333;
  const auto items = make_keys<float>(keys_are::random, num_rows * num_columns, 13);
  const auto uniforms = make_uniforms(num_rows, 17);
  const guarded<float> in(items), d_uniforms(uniforms);
  sampling how;
  how.top_p = 0.9f;
  how.d_uniforms = d_uniforms.data();
  const auto call = [&](std::size_t first, std::size_t count) {
    const guarded<int> tokens(count);
    sampling own = how;
    own.d_uniforms += first;
    EXPECT_EQ(rows::sample(matrix{in.data() + first * num_columns, count, num_columns}, tokens.data(), own),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return tokens.read();
  };
  const auto all = call(0, num_rows);
  for (const std::size_t count : {1, 2, 9, 28, 29, 66, 67, 132, 133, 200})
    EXPECT_EQ(call(50, count),
              std::vector<int>(all.begin() + 50, all.begin() + 50 + static_cast<std::ptrdiff_t>(count)));
}

// One row by a cluster of sixteen, and the first of a hundred.
TEST_F(SamplingCalls, ARowAloneIsTheSameAmongAHundred) {
  const std::size_t num_rows = 100, num_columns = 128512;
  for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::special}) {
    SCOPED_TRACE(name_of(kind));
    const guarded<float> in(make_keys<float>(kind, num_rows * num_columns, 37));
    for (const sampling_draw way : {sampling_draw::inverse, sampling_draw::gumbel})
      for (const float top_p : {1.0f, 0.9f}) {
        sampling how;
        how.draw = way;
        how.top_p = top_p;
        how.seed = 39;
        const auto call = [&](std::size_t count) {
          const guarded<int> tokens(count), last(count), tokens_alone(count);
          const guarded<float> probabilities(count);
          const matrix logits{in.data(), count, num_columns};
          EXPECT_EQ(rows::sample(logits, tokens.data(), how, nullptr, {last.data(), probabilities.data()}),
                    cudaSuccess);
          EXPECT_EQ(rows::sample(logits, tokens_alone.data(), how), cudaSuccess);
          EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
          EXPECT_EQ(tokens.read(), tokens_alone.read());
          return std::tuple(tokens.read(), last.read(), probabilities.read());
        };
        const auto [tokens, last, probabilities] = call(num_rows);
        for (const std::size_t count : {1, 5, 6, 12, 13, 28, 29, 44, 45, 66, 67}) {
          const auto [few_tokens, few_last, few_probabilities] = call(count);
          const auto n = static_cast<std::ptrdiff_t>(count);
          EXPECT_EQ(few_tokens, std::vector<int>(tokens.begin(), tokens.begin() + n));
          EXPECT_EQ(few_last, std::vector<int>(last.begin(), last.begin() + n));
          EXPECT_EQ(few_probabilities, std::vector<float>(probabilities.begin(), probabilities.begin() + n));
        }
      }
  }
}

TEST_F(SamplingCalls, RowsWithoutATokenAndInfinities) {
  const std::vector<float> logits = {-inf, -inf, -inf, -inf, nan,   nan, nan,  nan, nan,    -inf, 2,      -inf,
                                     5,    inf,  1,    inf,  -0.0f, 0,   -inf, nan, -1e30f, nan,  -1e38f, -1e38f};
  const guarded<float> in(logits), probabilities(6);
  const guarded<int> tokens(6), last(6);
  sampling how;
  const std::vector<float> uniforms(6, 0.75f);
  const guarded<float> d_uniforms(uniforms);
  how.d_uniforms = d_uniforms.data();
  ASSERT_EQ(rows::sample(matrix{in.data(), 6, 4}, tokens.data(), how, nullptr, {last.data(), probabilities.data()}),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(tokens.read(), (std::vector<int>{-1, -1, 2, 3, 1, 0}));
  EXPECT_EQ(last.read(), (std::vector<int>{-1, -1, 2, 3, 1, 0}));
  EXPECT_EQ(probabilities.read(), (std::vector<float>{0, 0, 1, 0.5f, 0.5f, 1}));
}

TEST_F(SamplingCalls, AGraphDrawsAnewFromItsOffset) {
  const std::size_t num_rows = 20, num_columns = 5000;
  const guarded<float> in(make_keys<float>(keys_are::random, num_rows * num_columns, 15));
  const guarded<int> tokens(num_rows), again(num_rows);
  const guarded<unsigned long long> d_offset(1);
  sampling how;
  how.seed = 3;
  how.offset = 10;
  how.d_offset = d_offset.data();
  how.top_p = 0.95f;
  const own_stream stream;
  const captured graph(stream, [&] {
    return rows::sample(matrix{in.data(), num_rows, num_columns}, tokens.data(), how, stream);
  });
  for (const unsigned long long step : {0ull, 1ull, 5ull}) {
    d_offset.write({step});
    ASSERT_EQ(graph.replay(), cudaSuccess);
    sampling plain = how;
    plain.d_offset = nullptr;
    plain.offset = 10 + step;
    ASSERT_EQ(rows::sample(matrix{in.data(), num_rows, num_columns}, again.data(), plain), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(tokens.read(), again.read());
  }
}

TEST_F(SamplingCalls, WhatIsRefused) {
  const guarded<float> in(std::vector<float>(100, 1.0f));
  const guarded<int> tokens(2);
  const auto call = [&](const sampling& how) { return rows::sample(matrix{in.data(), 2, 50}, tokens.data(), how); };
  EXPECT_EQ(call({}), cudaSuccess);
  for (const float temperature : {-1.0f, nan, inf}) {
    sampling how;
    how.temperature = temperature;
    EXPECT_EQ(call(how), cudaErrorInvalidValue);
  }
  for (const float share : {-0.1f, 1.1f, nan}) {
    sampling how;
    how.top_p = share;
    EXPECT_EQ(call(how), cudaErrorInvalidValue);
    how.top_p = 1;
    how.min_p = share;
    EXPECT_EQ(call(how), cudaErrorInvalidValue);
  }
  sampling how;
  how.top_k = -1;
  EXPECT_EQ(call(how), cudaErrorInvalidValue);
  how.top_k = 0;
  how.from_probabilities = true;
  EXPECT_EQ(call(how), cudaSuccess);
  how.temperature = 2;
  EXPECT_EQ(call(how), cudaErrorInvalidValue);
  how = {};
  how.draw = sampling_draw::gumbel;
  how.d_uniforms = in.data();
  EXPECT_EQ(call(how), cudaErrorInvalidValue);
  EXPECT_EQ(rows::sample(matrix<const float>{nullptr, 2, 50}, tokens.data()), cudaErrorInvalidValue);
  EXPECT_EQ(rows::sample(matrix{in.data(), 2, 0}, tokens.data()), cudaErrorInvalidValue);
  EXPECT_EQ(rows::sample(matrix{in.data(), 2, 50}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(rows::sample(matrix<const float>{nullptr, 0, 50}, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

template <class Rung>
struct SamplingRungs : OnAGpu {
  template <class T>
  static cudaError_t call(const guarded<T>& in, const guarded<float>& uniforms, const guarded<int>& tokens,
                          std::size_t num_rows, std::size_t num_columns, float top_p) {
    return in_two_phases([&](void* d_temp_storage, std::size_t& bytes) {
      return Rung::sample(d_temp_storage, bytes, in.data(), uniforms.data(), tokens.data(), num_rows, num_columns,
                          top_p);
    });
  }
  template <class T>
  static void expect_right(const std::vector<T>& items, std::size_t num_rows, std::size_t num_columns, float top_p) {
    SCOPED_TRACE(std::to_string(num_rows) + " x " + std::to_string(num_columns) + ", " + std::to_string(top_p));
    const std::vector<float> uniforms = make_uniforms(num_rows, 23);
    const guarded<int> tokens(num_rows);
    ASSERT_EQ(call(guarded<T>(items, 1), guarded<float>(uniforms), tokens, num_rows, num_columns, top_p), cudaSuccess);
    sampling_rules rules;
    rules.top_p = top_p;
    std::vector<int> expected;
    for (std::size_t row = 0; row < num_rows; ++row)
      expected.push_back(host_row(row_as_floats(items, row * num_columns, num_columns), rules)
                             .draw(host_row::fraction_of(uniforms[row])));
    EXPECT_EQ(tokens.read(), expected);
  }
};
using sampling_rungs = testing::Types<::rungs::sampling::scan_then_cut, ::rungs::sampling::cut_by_bins>;
TYPED_TEST_SUITE(SamplingRungs, sampling_rungs);

TYPED_TEST(SamplingRungs, CutsAndDrawsOfRowsOfEveryKind) {
  for (const std::size_t num_columns : {1, 5, 511, 513, 9001})
    for (const keys_are kind : kinds_of_keys) {
      SCOPED_TRACE(name_of(kind));
      for (const float top_p : {0.0f, 1e-12f, 0.5f, 0.9f, 0.999999f, 1.0f})
        this->expect_right(make_keys<float>(kind, 6 * num_columns, 25), 6, num_columns, top_p);
      this->expect_right(make_keys<__half>(kind, 6 * num_columns, 25), 6, num_columns, 0.9f);
      this->expect_right(make_keys<__nv_bfloat16>(kind, 6 * num_columns, 25), 6, num_columns, 0.9f);
    }
}
TYPED_TEST(SamplingRungs, RowsOfAVocabulary) {
  for (const keys_are kind : {keys_are::random, keys_are::equal})
    this->expect_right(make_keys<float>(kind, 9 * 128512, 27), 9, 128512, 0.9f);
  this->expect_right(make_keys<__nv_bfloat16>(keys_are::random, 200 * 32000, 29), 200, 32000, 0.8f);
}
TYPED_TEST(SamplingRungs, RowsWithoutATokenAndInfinities) {
  const guarded<float> in(std::vector<float>{-inf, -inf, nan, nan, nan, -inf, -inf, 2, inf, inf, -0.0f, 0});
  const guarded<float> uniforms(std::vector<float>(6, 0.75f));
  const guarded<int> tokens(6);
  ASSERT_EQ(this->call(in, uniforms, tokens, 6, 2, 1), cudaSuccess);
  EXPECT_EQ(tokens.read(), (std::vector<int>{-1, -1, -1, 1, 1, 1}));
}
TYPED_TEST(SamplingRungs, WhatIsRefused) {
  const guarded<float> in(2), uniforms(2);
  const guarded<int> tokens(2);
  for (const float top_p : {-0.1f, 1.1f, nan})
    EXPECT_EQ(this->call(in, uniforms, tokens, 2, 1, top_p), cudaErrorInvalidValue);
  EXPECT_EQ(this->call(in, uniforms, tokens, 2, 0, 1), cudaErrorInvalidValue);
  EXPECT_EQ(this->call(in, uniforms, tokens, 1, TypeParam::max_columns + 1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(this->call(in, uniforms, tokens, 0, 2, 1), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests
