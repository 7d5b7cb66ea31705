#include "samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "histogram_oracle.hpp"

namespace rungs::bench {
namespace {

using catalog::scalar;

constexpr scalar sample_types[] = {scalar::u8,  scalar::i8,  scalar::u16, scalar::i16, scalar::i32,
                                   scalar::u32, scalar::f32, scalar::f64, scalar::f16};

template <class T>
std::vector<T> samples(scalar type, std::size_t count, distribution from, std::size_t bins, bool even = true,
                       std::uint64_t seed = 5) {
  std::vector<T> all(count);
  generate(samples_from(type, count, seed, from, edges_of(type, bins, even)), all.data());
  return all;
}

// Counted by the oracle, which histogram_oracle_test.cpp tests.
counted counts(scalar type, std::size_t count, distribution from, std::size_t bins, bool even = true,
               std::uint64_t seed = 5) {
  const auto source = samples_from(type, count, seed, from, edges_of(type, bins, even));
  catalog::record about;
  about.input_type = type;
  auto of = question_of(about, source);
  const auto edges = edges_for(of, source);
  of.edges = edges.data();
  std::vector<std::uint64_t> storage(count * catalog::size_of(type) / 8 + 1);
  generate(source, storage.data());
  return count_samples(of, storage.data());
}

TEST(Levels, OfNarrowIntegersSpanTheTypeAndOfTheRestTheBins) {
  struct {
    scalar type;
    double lower, upper;
  } const expected[] = {{scalar::u8, 0, 256},         {scalar::i8, -128, 128}, {scalar::u16, 0, 65536},
                        {scalar::i16, -32768, 32768}, {scalar::i32, 0, 1000},  {scalar::u32, 0, 1000},
                        {scalar::f16, 0, 1000},       {scalar::f32, 0, 1000},  {scalar::f64, 0, 1000}};
  for (const auto& [type, lower, upper] : expected) {
    const auto edges = edges_of(type, 1000, true);
    EXPECT_EQ(edges.level(0), lower) << name(type);
    EXPECT_EQ(edges.level(1000), upper) << name(type);
  }
  const auto floats = levels_of(edges_of(scalar::f32, 256, true), scalar::f32);
  const auto ints = levels_of(edges_of(scalar::i8, 256, true), scalar::i32);
  float upper;
  std::memcpy(&upper, reinterpret_cast<const char*>(floats.data()) + 4, 4);
  EXPECT_EQ(upper, 256);
  int lower;
  std::memcpy(&lower, ints.data(), 4);
  EXPECT_EQ(lower, -128);
}

TEST(Levels, OfRangesAscendAndAreNotEven) {
  for (const scalar type : sample_types) {
    for (const std::size_t bins : {std::size_t{2}, std::size_t{64}, std::size_t{256}, std::size_t{4096}}) {
      const auto edges = edges_of(type, bins, false);
      const bool room = edges.span >= bins;
      std::set<double> widths;
      for (std::size_t i = 0; i < bins; ++i) {
        const double width = edges.level(i + 1) - edges.level(i);
        EXPECT_TRUE(room ? width > 0 : width >= 0) << name(type) << ' ' << bins << ' ' << i;
        widths.insert(width);
      }
      EXPECT_TRUE(edges.span == bins || widths.size() > 1) << name(type) << ' ' << bins;
    }
  }
}

TEST(Samples, DependOnIndexAndSeed) {
  for (const distribution from : all_distributions) {
    EXPECT_NE(samples<float>(scalar::f32, 10'000, from, 4096), samples<float>(scalar::f32, 10'000, from, 4096, true, 6))
        << name(from);
    // What comes before does not matter.
    if (from == distribution::sorted) continue;
    const auto few = samples<int>(scalar::i32, 1'000, from, 4096), many = samples<int>(scalar::i32, 2'000, from, 4096);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << name(from);
  }
}

// The counts of the changed input differ, so that a histogram which remembers its answer is seen.
TEST(Samples, AnotherSeedHasOtherCounts) {
  for (const distribution from : all_distributions) {
    for (const std::size_t bins : {std::size_t{64}, std::size_t{4096}})
      EXPECT_NE(counts(scalar::i32, 100'000, from, bins).counters,
                counts(scalar::i32, 100'000, from, bins, true, ~std::uint64_t{5}).counters)
          << name(from) << ' ' << bins;
  }
}

TEST(Samples, AllLieInsideButForThoseThatShallNot) {
  constexpr std::size_t n = 100'000;
  for (const scalar type : sample_types) {
    for (const distribution from : all_distributions) {
      for (const bool even : {true, false}) {
        const auto inside = static_cast<double>(counts(type, n, from, 256, even).inside);
        const bool half = from == distribution::out_of_range && has_outside(type);
        EXPECT_NEAR(inside, half ? n / 2 : n, half ? 1'000 : 0) << name(type) << ' ' << name(from);
      }
    }
  }
}

TEST(Samples, UniformFillsEveryBinAlike) {
  for (const scalar type : sample_types) {
    for (const bool even : {true, false}) {
      for (const std::uint64_t count : counts(type, 256'000, distribution::uniform, 256, even).counters)
        EXPECT_NEAR(static_cast<double>(count), 1'000, 200) << name(type) << ' ' << even;
    }
  }
}

TEST(Samples, ConstantIsOneBinAndEightHotAreEight) {
  for (const scalar type : sample_types) {
    for (const bool even : {true, false}) {
      const auto one = counts(type, 10'000, distribution::constant, 256, even).counters;
      EXPECT_EQ(std::count(one.begin(), one.end(), 0u), 255) << name(type) << ' ' << even;
      const auto eight = counts(type, 10'000, distribution::eight_hot, 256, even).counters;
      for (std::size_t bin = 0; bin < eight.size(); ++bin)
        EXPECT_NEAR(static_cast<double>(eight[bin]), bin < 8 ? 1'250 : 0, bin < 8 ? 250 : 0.5) << name(type) << bin;
    }
  }
  EXPECT_EQ(counts(scalar::i32, 1'000, distribution::eight_hot, 2).inside, 1'000u);
}

// The bin that the seed picks has its share of the rest, too.
TEST(Samples, ContentionMovesItsPercentageToOneBin) {
  constexpr std::size_t n = 256'000;
  for (const std::size_t percent : {std::size_t{0}, std::size_t{10}, std::size_t{40}, std::size_t{90}}) {
    auto source = samples_from(scalar::u8, n, 5, distribution::uniform, edges_of(scalar::u8, 256, true));
    source.contention = percent;
    std::vector<std::uint8_t> all(n);
    generate(source, all.data());
    const auto bin = samples<std::uint8_t>(scalar::u8, 1, distribution::constant, 256)[0];
    const double moved = static_cast<double>(n * percent) / 100, rest = (static_cast<double>(n) - moved) / 256;
    EXPECT_NEAR(static_cast<double>(std::ranges::count(all, bin)), moved + rest, 1'000) << percent;
    EXPECT_NEAR(static_cast<double>(std::ranges::count(all, static_cast<std::uint8_t>(bin + 1))), rest, 200) << percent;
  }
}

TEST(Samples, ZipfIsLogUniform) {
  for (const std::size_t bins : {std::size_t{2}, std::size_t{256}, std::size_t{65536}}) {
    constexpr double n = 1'000'000;
    const auto found = counts(scalar::i32, static_cast<std::size_t>(n), distribution::zipf, bins).counters;
    // P(bin >= k) = 1 - log(k + 1) / log(bins + 1)
    double above = n;
    for (std::size_t k = 0; k < std::min<std::size_t>(bins, 1'000); ++k) {
      const double expected = n * (1 - std::log(static_cast<double>(k) + 1) / std::log(static_cast<double>(bins) + 1));
      EXPECT_NEAR(above, expected, 0.006 * n) << bins << ' ' << k;
      above -= static_cast<double>(found[k]);
    }
  }
  const auto large = counts(scalar::i32, 1'000'000, distribution::zipf, std::size_t{1} << 20);
  EXPECT_EQ(large.inside, 1'000'000u);
  EXPECT_GT(std::accumulate(large.counters.end() - (1 << 19), large.counters.end(), std::uint64_t{0}), 40'000u);
}

TEST(Samples, SortedAscendOverAllBins) {
  for (const scalar type : sample_types) {
    with_type(type, [&]<class T>(T) {
      if constexpr (is_sample<T>) {
        for (const std::size_t bins : {std::size_t{256}, std::size_t{1000}}) {
          const auto all = samples<T>(type, 100'003, distribution::sorted, bins);
          std::vector<double> values;
          for (const T sample : all) values.push_back(value_of(sample));
          EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << name(type);
          EXPECT_LT(values.back(), edges_of(type, bins, true).level(bins)) << name(type);
        }
      }
    });
    const auto found = counts(type, 100'003, distribution::sorted, 256).counters;
    EXPECT_EQ(std::count(found.begin(), found.end(), 0u), 0) << name(type);
  }
}

TEST(Samples, RunsAreSixtyFourLongOnAverage) {
  for (const scalar type : {scalar::i32, scalar::f32}) {
    with_type(type, [&]<class T>(T) {
      if constexpr (is_sample<T>) {
        const auto all = samples<T>(type, 1 << 20, distribution::runs, 4096);
        std::vector<std::size_t> lengths = {1};
        for (std::size_t i = 1; i < all.size(); ++i) {
          if (all[i] == all[i - 1])
            ++lengths.back();
          else
            lengths.push_back(1);
        }
        EXPECT_NEAR(static_cast<double>(all.size()) / static_cast<double>(lengths.size()), 64, 4);
        const auto is_short = [](std::size_t length) { return length <= 16; };
        const auto is_long = [](std::size_t length) { return length >= 128; };
        EXPECT_GT(std::count_if(lengths.begin(), lengths.end(), is_short), 1'000);
        EXPECT_GT(std::count_if(lengths.begin(), lengths.end(), is_long), 1'000);
      }
    });
  }
}

TEST(Samples, FloatsLieAnywhereInTheirBinAndSometimesOnItsEdge) {
  const auto all = samples<float>(scalar::f32, 100'000, distribution::uniform, 256);
  const auto on_edge = std::count_if(all.begin(), all.end(), [](float x) { return x == std::floor(x); });
  EXPECT_NEAR(static_cast<double>(on_edge), 100'000 / 16, 500);
  EXPECT_GT(std::count_if(all.begin(), all.end(), [](float x) { return x - std::floor(x) > 0.9f; }), 8'000);
}

TEST(Samples, NarrowIntegersLieAnywhereInTheirBin) {
  const auto all = samples<std::uint8_t>(scalar::u8, 100'000, distribution::uniform, 64);
  EXPECT_EQ(std::set<std::uint8_t>(all.begin(), all.end()).size(), 256u);
}

TEST(Samples, OutOfRangeIsOnBothSidesNearAndFar) {
  const auto floats = samples<float>(scalar::f32, 100'000, distribution::out_of_range, 256);
  const auto count = [](const auto& all, auto which) { return std::count_if(all.begin(), all.end(), which); };
  EXPECT_GT(count(floats, [](float x) { return std::isnan(x); }), 4'000);
  EXPECT_GT(count(floats, [](float x) { return std::isinf(x) && x > 0; }), 4'000);
  EXPECT_GT(count(floats, [](float x) { return std::isinf(x) && x < 0; }), 4'000);
  EXPECT_GT(count(floats, [](float x) { return x == 256; }), 4'000);
  EXPECT_GT(count(floats, [](float x) { return x < 0 && x > -1; }), 4'000);
  const auto ints = samples<int>(scalar::i32, 100'000, distribution::out_of_range, 256);
  EXPECT_GT(count(ints, [](int x) { return x < 0 && x >= -1'000; }), 8'000);
  EXPECT_GT(count(ints, [](int x) { return x >= 256 && x < 2'000; }), 8'000);
  EXPECT_GT(count(ints, [](int x) { return x < -2'000'000'000; }), 8'000);
  EXPECT_GT(count(ints, [](int x) { return x > 2'000'000'000; }), 8'000);
  const auto naturals = samples<unsigned>(scalar::u32, 100'000, distribution::out_of_range, 4096);
  EXPECT_GT(count(naturals, [](unsigned x) { return x >= 4096; }), 49'000);
}

TEST(Samples, MoreBinsThanValuesAreFilledWhereTheyCan) {
  for (const bool even : {true, false}) {
    const auto found = counts(scalar::u8, 100'000, distribution::uniform, 4096, even);
    EXPECT_EQ(found.inside, 100'000u);
    EXPECT_LE(4096 - std::count(found.counters.begin(), found.counters.end(), 0u), 256);
  }
}

}  // namespace
}  // namespace rungs::bench
