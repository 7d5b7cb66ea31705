// The oracle of histograms against arithmetic by hand and edges walked one by one, and what it must refuse.
#include "histogram_oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "fake_histograms.hpp"
#include "verify.hpp"

namespace rungs::bench {
namespace {

using catalog::operation;
using catalog::scalar;

histogram_question even(scalar type, unsigned bins, double first, double last) {
  return {
      .type = type, .num_bins = bins, .first = first, .last = last, .scale = static_cast<float>(bins / (last - first))};
}

TEST(HistogramOracle, BinsOfIntegersAreExact) {
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const auto lower = static_cast<long long>(static_cast<int>(random()));
    const long long range = 1 + random() % (round % 2 == 0 ? 1'000u : 2'000'000'000u), upper = lower + range;
    if (upper > std::numeric_limits<int>::max()) continue;
    const unsigned bins = 1 + random() % (round % 3 == 0 ? 300u : 1u << 20);
    const auto of = even(scalar::i32, bins, static_cast<double>(lower), static_cast<double>(upper));
    const auto sample =
        static_cast<int>(lower + static_cast<long long>(random() % static_cast<unsigned long long>(range)));
    const unsigned bin = bin_of(of, sample);
    // Edge k lies at lower + k * range / bins.
    const __int128 offset = static_cast<__int128>(sample) - lower;
    EXPECT_LE(static_cast<__int128>(bin) * range, offset * bins);
    EXPECT_GT(static_cast<__int128>(bin + 1) * range, offset * bins);
    EXPECT_TRUE(is_inside(of, sample));
    EXPECT_FALSE(is_inside(of, static_cast<int>(lower) - 1) && lower > std::numeric_limits<int>::lowest());
    EXPECT_FALSE(is_inside(of, static_cast<int>(upper)));
  }
  // The whole type, where a difference of two ints overflows.
  const auto whole = even(scalar::i32, 1u << 20, -0x1p31, 0x1p31);
  EXPECT_EQ(bin_of(whole, std::numeric_limits<int>::lowest()), 0u);
  EXPECT_EQ(bin_of(whole, -1), (1u << 19) - 1);
  EXPECT_EQ(bin_of(whole, 0), 1u << 19);
  EXPECT_EQ(bin_of(whole, std::numeric_limits<int>::max()), (1u << 20) - 1);
  const auto naturals = even(scalar::u32, 7, 0, 0x1p32);
  EXPECT_EQ(bin_of(naturals, 4'294'967'295u), 6u);
}

TEST(HistogramOracle, BinsOfFloatsFollowTheFormula) {
  auto of = even(scalar::f32, 10, 0, 1);
  of.scale = 10.0f / 1.0f;
  EXPECT_EQ(bin_of(of, 0.0f), 0u);
  EXPECT_EQ(bin_of(of, -0.0f), 0u);
  EXPECT_EQ(bin_of(of, 0.7f), 7u);                        // 0.7f is below 7/10, but its product rounds to 7
  EXPECT_EQ(bin_of(of, std::nextafter(1.0f, 0.0f)), 9u);  // rounds to 10, and belongs to the last bin
  for (const float outside : {1.0f, std::nextafter(0.0f, -1.0f), -1.0f, std::nanf(""), INFINITY, -INFINITY})
    EXPECT_FALSE(is_inside(of, outside)) << outside;
  EXPECT_TRUE(is_inside(of, -0.0f));
  const auto halves = even(scalar::f16, 256, 0, 256);
  EXPECT_EQ(bin_of(halves, __half(255.875f)), 255u);
  EXPECT_FALSE(is_inside(halves, __half(256.0f)));
  const auto doubles = even(scalar::f64, 1000, 0, 1000);
  EXPECT_EQ(bin_of(doubles, 999.0 - 1e-9), 998u);
}

TEST(HistogramOracle, RangesAreFoundAsByWalking) {
  const double edges[] = {-3, -1, 0, 0, 0, 2, 10};
  histogram_question of{.type = scalar::f32, .num_bins = 6, .even = false, .first = -3, .last = 10, .edges = edges};
  for (float x = -3; x < 10; x += 0.25f) {
    unsigned bin = 0;
    for (unsigned k = 0; k < 6; ++k) {
      if (static_cast<double>(x) >= edges[k]) bin = k;
    }
    EXPECT_EQ(bin_of(of, x), bin) << x;
  }
  EXPECT_FALSE(is_inside(of, 10.0f));
  EXPECT_FALSE(is_inside(of, -3.25f));
}

// Every type and kind of levels, counted by walking the edges.
template <class Sample, class Level>
void expect_counts_as_by_walking(scalar type, scalar level_type, std::size_t bins, bool is_even) {
  constexpr std::size_t n = 20'011;
  for (const distribution from : all_distributions) {
    const auto source = samples_from(type, n, 9, from, edges_of(type, bins, is_even));
    catalog::record about;
    about.input_type = type;
    auto of = question_of(about, source);
    const auto edges = edges_for(of, source);
    of.edges = edges.data();
    std::vector<Sample> samples(n);
    generate(source, samples.data());
    const counted found = count_samples(of, samples.data());

    const auto levels = levels_of(source.edges, level_type);
    std::vector<unsigned> walked(bins);
    std::size_t workspace = 0;
    const catalog::arguments a{.d_in = samples.data(),
                               .d_out = walked.data(),
                               .num_items = n,
                               .num_levels = static_cast<int>(bins) + 1,
                               .levels = levels.data()};
    const auto call =
        is_even ? fakes::histogram<Sample, Level> : fakes::histogram<Sample, Level, fakes::miscount::none, false>;
    ASSERT_EQ(call(&workspace, workspace, a, nullptr), cudaSuccess);
    const auto verdict = judge_histogram(of, found, walked);
    EXPECT_TRUE(verdict.right) << name(type) << ' ' << name(from) << ' ' << bins << ' ' << is_even << ": "
                               << verdict.why;
  }
}

TEST(HistogramOracle, CountsAsByWalkingTheEdges) {
  for (const bool is_even : {true, false}) {
    for (const std::size_t bins : {std::size_t{1}, std::size_t{2}, std::size_t{256}, std::size_t{1000}}) {
      expect_counts_as_by_walking<std::uint8_t, int>(scalar::u8, scalar::i32, bins, is_even);
      expect_counts_as_by_walking<std::int8_t, int>(scalar::i8, scalar::i32, bins, is_even);
      expect_counts_as_by_walking<std::uint16_t, int>(scalar::u16, scalar::i32, bins, is_even);
      expect_counts_as_by_walking<std::int16_t, int>(scalar::i16, scalar::i32, bins, is_even);
      expect_counts_as_by_walking<int, int>(scalar::i32, scalar::i32, bins, is_even);
      expect_counts_as_by_walking<unsigned, unsigned>(scalar::u32, scalar::u32, bins, is_even);
      expect_counts_as_by_walking<float, float>(scalar::f32, scalar::f32, bins, is_even);
      expect_counts_as_by_walking<double, double>(scalar::f64, scalar::f64, bins, is_even);
    }
  }
}

TEST(HistogramOracle, ChannelsAreCountedApartAndTheLastIsNot) {
  const std::uint8_t pixels[] = {1, 2, 3, 9, 1, 5, 3, 9, 1, 2, 3, 9, 7, 7};  // the last pixel is not whole
  catalog::record about;
  about.input_type = scalar::u8;
  about.num_channels = 4;
  about.num_active_channels = 3;
  const auto source = samples_from(scalar::u8, 14, 1, distribution::uniform, edges_of(scalar::u8, 256, true));
  const auto of = question_of(about, source);
  const counted found = count_samples(of, pixels);
  ASSERT_EQ(found.counters.size(), 3u * 256);
  EXPECT_EQ(found.inside, 9u);
  EXPECT_EQ(found.counters[1], 3u);
  EXPECT_EQ(found.counters[256 + 2], 2u);
  EXPECT_EQ(found.counters[256 + 5], 1u);
  EXPECT_EQ(found.counters[512 + 3], 3u);
}

TEST(HistogramOracle, OneWrongCounterIsSeenAndNamed) {
  const auto of = even(scalar::i32, 4, 0, 4);
  const counted expected{.counters = {5, 6, 0, 7}, .inside = 18};
  std::vector<std::uint32_t> got = {5, 6, 0, 7};
  EXPECT_TRUE(judge_histogram(of, expected, got).right);
  for (std::size_t bin = 0; bin < 4; ++bin) {
    for (const int error : {1, -1}) {
      auto wrong = got;
      wrong[bin] += static_cast<unsigned>(error);
      const auto verdict = judge_histogram(of, expected, wrong);
      EXPECT_FALSE(verdict.right);
      EXPECT_NE(verdict.why.find("bin " + std::to_string(bin) + " of 4: expected "), std::string::npos) << verdict.why;
    }
  }
  got = {6, 5, 0, 7};  // the sum is right
  EXPECT_FALSE(judge_histogram(of, expected, got).right);
  got.assign(4, 0xa5a5a5a5);
  EXPECT_FALSE(judge_histogram(of, expected, got).right);
}

TEST(HistogramOracle, WideCountersHoldMoreThan32Bits) {
  const auto of = even(scalar::u8, 2, 0, 2);
  const std::uint64_t many = std::uint64_t{1} << 33;
  const counted expected{.counters = {many, 1}, .inside = many + 1};
  EXPECT_TRUE(judge_histogram(of, expected, std::vector<std::uint64_t>{many, 1}).right);
  EXPECT_FALSE(judge_histogram(of, expected, std::vector<std::uint64_t>{0, 1}).right);
  EXPECT_TRUE(judge_histogram(of, expected, std::vector<std::uint32_t>{0, 1}).right) << "these wrap";
}

// The oracle's own counters are held against how many samples it saw inside.
TEST(HistogramOracle, CountersMustSumToTheSamplesInRange) {
  const auto of = even(scalar::i32, 2, 0, 2);
  const std::uint32_t got[] = {3, 4};
  const auto verdict = judge_histogram(of, {.counters = {3, 4}, .inside = 8}, got);
  EXPECT_FALSE(verdict.right);
  EXPECT_EQ(verdict.why, "the bins sum to 7, samples in range: 8");
}

TEST(HistogramOracle, WhatItCannotJudgeItSays) {
  auto about = fakes::a_histogram("any", fakes::does_nothing, scalar::i64);
  EXPECT_FALSE(has_oracle_of_histograms(about));
  about.input_type = scalar::f16;
  EXPECT_TRUE(has_oracle_of_histograms(about));
  about.output_type = scalar::u16;
  EXPECT_FALSE(has_oracle_of_histograms(about));
}

}  // namespace
}  // namespace rungs::bench
