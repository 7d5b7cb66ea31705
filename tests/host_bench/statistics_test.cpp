#include "statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace rungs::bench {
namespace {

using samples = std::vector<double>;

TEST(Statistics, OfNothingAreNaN) {
  const auto about = summarise(samples{});
  EXPECT_EQ(about.count, 0u);
  for (const double value : {about.median, about.low, about.high, about.iqr, about.min, about.p95, median(samples{}),
                             quantile(samples{}, 0.5)})
    EXPECT_TRUE(std::isnan(value));
}

TEST(Statistics, OfOneAndTwo) {
  const auto one = summarise(samples{3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.low, 3);
  EXPECT_EQ(one.high, 3);
  EXPECT_EQ(one.iqr, 0);
  const auto two = summarise(samples{4, 2});
  EXPECT_EQ(two.median, 3);
  EXPECT_EQ(two.low, 2);
  EXPECT_EQ(two.high, 4);
  EXPECT_EQ(two.min, 2);
}

TEST(Statistics, QuantilesInterpolate) {
  const samples ten{10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
  EXPECT_DOUBLE_EQ(median(ten), 5.5);
  EXPECT_DOUBLE_EQ(quantile(ten, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(ten, 1), 10);
  EXPECT_DOUBLE_EQ(quantile(ten, 0.25), 3.25);
  EXPECT_DOUBLE_EQ(quantile(ten, 0.95), 9.55);
}

// Ranks from tables of the binomial distribution.
TEST(Statistics, MedianIntervalsAreTheBinomialRanks) {
  const auto ranks = [](std::size_t n) {
    samples one_to_n(n);
    for (std::size_t i = 0; i < n; ++i) one_to_n[i] = static_cast<double>(i + 1);
    const auto [low, high] = median_interval(one_to_n, 0.95);
    return std::pair(low, high);
  };
  EXPECT_EQ(ranks(5), std::pair(1.0, 5.0));
  EXPECT_EQ(ranks(6), std::pair(1.0, 6.0));
  EXPECT_EQ(ranks(9), std::pair(2.0, 8.0));
  EXPECT_EQ(ranks(15), std::pair(4.0, 12.0));
  EXPECT_EQ(ranks(20), std::pair(6.0, 15.0));
  EXPECT_EQ(ranks(30), std::pair(10.0, 21.0));
  EXPECT_EQ(ranks(100), std::pair(40.0, 61.0));
}

TEST(Statistics, ScaleDoesNotMatter) {
  for (const double scale : {1e-12, 1.0, 1e3, 1e9}) {
    samples some;
    for (int i = 1; i <= 31; ++i) some.push_back(scale * (100 + i));
    EXPECT_NEAR(summarise(some).median / scale, 116, 1e-9);
    samples slower = some;
    for (double& sample : slower) sample *= 1.5;
    EXPECT_NEAR(ratio_of_medians(slower, some, ratio_confidence).value, 1.5, 1e-9);
  }
}

TEST(Statistics, RefuseWhatIsNotANumber) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(summarise(samples{1, bad, 2}), std::invalid_argument);
    EXPECT_THROW(ratio_of_medians(samples{1, bad}, samples{1}, ratio_confidence), std::invalid_argument);
  }
  EXPECT_THROW(ratio_of_medians(samples{0, 1}, samples{1}, ratio_confidence), std::invalid_argument);
  EXPECT_THROW(ratio_of_medians(samples{1}, samples{-1}, ratio_confidence), std::invalid_argument);
}

TEST(Ratio, HasNoIntervalFromTooFewSamples) {
  const auto few = ratio_of_medians(samples{2, 2, 2, 2, 2}, samples{1, 1, 1, 1, 1}, ratio_confidence);
  EXPECT_EQ(few.value, 2);
  EXPECT_TRUE(std::isnan(few.low));
  EXPECT_EQ(verdict(few, 0.01), "AMBIGUOUS");
}

TEST(Ratio, OneTickOfACoarseClockIsNoDifference) {
  samples a(30, 4.416), b(30, 4.448);
  a[0] = b[0];  // the step shows
  const auto tick = ratio_of_medians(a, b, ratio_confidence);
  EXPECT_LT(tick.low, 1);
  EXPECT_GT(tick.high, 1);
  samples three_ticks(30, 4.416 + 3 * 0.032);
  EXPECT_LT(ratio_of_medians(a, three_ticks, ratio_confidence).high, 1);
}

TEST(Ratio, TiesGiveAnIntervalOfWidthZero) {
  const samples same(30, 5.0);
  const auto equal = ratio_of_medians(same, same, ratio_confidence);
  EXPECT_EQ(equal.low, 1);
  EXPECT_EQ(equal.high, 1);
  EXPECT_EQ(verdict(equal, 0), "SAME");
}

// Times as they come: a floor, a skewed spread, now and then an outlier.
samples noisy(std::mt19937_64& random, std::size_t count, double scale) {
  std::lognormal_distribution<double> spread(-4.6, 0.8);
  std::bernoulli_distribution outlier(0.03);
  samples all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(scale * (1 + spread(random) + (outlier(random) ? 0.3 : 0)));
  return all;
}

TEST(Ratio, OfTheSameCodeIsRarelyDifferent) {
  std::mt19937_64 random(20261121);
  for (const std::size_t count : {15, 30, 100}) {
    int different = 0;
    constexpr int pairs = 2000;
    for (int i = 0; i < pairs; ++i) {
      const auto a = noisy(random, count, 20), b = noisy(random, count, 20);
      const auto twin = ratio_of_medians(a, b, ratio_confidence);
      different += twin.low > 1 || twin.high < 1;
    }
    EXPECT_LE(different, pairs / 50) << count;  // 1 % by design
  }
}

TEST(Ratio, FindsAPlantedSlowdownOfThreePercent) {
  std::mt19937_64 random(7);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const auto cub = noisy(random, 30, 20), slower = noisy(random, 30, 20.6);
    found += verdict(ratio_of_medians(cub, slower, ratio_confidence), 0.006) == "SLOWER";
  }
  EXPECT_GE(found, 195);
}

TEST(Verdict, NeedsBothTheIntervalAndTheFloor) {
  EXPECT_EQ(verdict({1.05, 1.04, 1.06}, 0.01), "FASTER");
  EXPECT_EQ(verdict({0.95, 0.94, 0.96}, 0.01), "SLOWER");
  EXPECT_EQ(verdict({1.05, 0.99, 1.08}, 0.01), "SAME");     // the interval contains 1
  EXPECT_EQ(verdict({1.005, 1.004, 1.006}, 0.01), "SAME");  // below the floor
  EXPECT_EQ(verdict({1.05, 0.95, 1.15}, 0.01), "AMBIGUOUS");
  EXPECT_EQ(verdict({1, 1, 1}, 0), "SAME");
}

TEST(NoiseFloor, IsTheLargestOfFewAndTheNinetyNinthPercentileOfMany) {
  EXPECT_EQ(noise_floor(samples{}), 0);
  EXPECT_NEAR(noise_floor(samples{1.0, 1.01, 1 / 1.02}), 0.02, 1e-12);
  samples many(199, 1.0);
  many.push_back(1.5);
  EXPECT_EQ(noise_floor(many), 0);
}

}  // namespace
}  // namespace rungs::bench
