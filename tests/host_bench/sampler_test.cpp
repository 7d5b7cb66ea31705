#include "sampler.hpp"

#include <gtest/gtest.h>

#include <random>

#include "statistics.hpp"

namespace rungs::bench {
namespace {

// Contender i takes 10 * (i + 1) us give or take; the clock is what the test says.
class fake_instrument : public instrument {
 public:
  std::vector<reading> run(std::span<const int> order) override {
    std::vector<reading> readings;
    for (const int which : order) {
      orders.push_back(which);
      seconds += 0.01;
      readings.push_back({10.0 * (which + 1) * (1 + noise * spread(random)), clock_mhz(calls)});
    }
    ++calls;
    return readings;
  }

  double noise = 0, seconds = 0;
  std::function<double(int)> clock_mhz = [](int) { return 1980.0; };
  std::vector<int> orders;
  int calls = 0;
  std::mt19937 random{1};
  std::uniform_real_distribution<double> spread{-1, 1};
};

struct Sampler : ::testing::Test {
  fake_instrument fake;
  clock_guard clocks;
  stop_rule rule;
  std::vector<series> take(int contenders) {
    return sample(
        fake, contenders, rule, clocks, [&] { return fake.seconds; }, [] { return false; });
  }
};

TEST_F(Sampler, EachRoundTakesEveryoneOnceInANewOrder) {
  take(5);
  std::set<std::vector<int>> rounds;
  for (auto round = fake.orders.begin(); round != fake.orders.end(); round += 5) {
    const std::vector order(round, round + 5);
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), 5u);
    rounds.insert(order);
  }
  EXPECT_GT(rounds.size(), fake.orders.size() / 5 / 2);  // 32 draws of 120 orders: few come twice
}

TEST_F(Sampler, TakesAsManyAsItsLimitsSay) {
  fake.noise = 0.05;
  const stop_rule plain = rule;
  const auto count = [&](const sample_limits& limits) {
    rule = limits.applied_to(plain);
    return take(2)[0].accepted.size();
  };
  EXPECT_EQ(count({.most = 10}), 10u);
  EXPECT_EQ(count({.fewest = 400}), 400u);
  EXPECT_EQ(count({.fewest = 40, .most = 40}), 40u);
  EXPECT_EQ(count({.most = 100, .noise = 1e-9}), 100u) << "a noise that is never reached";
  EXPECT_EQ(count({.noise = 1e-9}), static_cast<std::size_t>(sample_limits::most_for_noise));
  EXPECT_EQ(sample_limits{}.applied_to(plain).most, plain.most);

  // The rule's own patience of half a second ends earlier, with wider intervals.
  const auto spread_of = [&](const sample_limits& limits) {
    rule = limits.applied_to(plain);
    const auto about = summarise(take(2)[0].accepted);
    return 0.5 * (about.high - about.low) / about.median;
  };
  EXPECT_LE(spread_of({.noise = 0.004}), 0.004);
  EXPECT_GT(spread_of({}), 0.004);
}

TEST_F(Sampler, StopsAtEnoughWhenPrecise) {
  const auto all = take(2);
  ASSERT_EQ(all.size(), 2u);
  for (const auto& one : all) EXPECT_EQ(one.accepted.size(), 30u);
  EXPECT_EQ(all[1].accepted[0], 20);
}

TEST_F(Sampler, TheFirstPairIsNotASample) {
  take(1);
  EXPECT_EQ(fake.calls, 1 + 15);
}

TEST_F(Sampler, GoesOnWhileNoisyAndStopsAtMost) {
  fake.noise = 0.5;
  rule.patience = 1e9;
  EXPECT_EQ(take(1)[0].accepted.size(), 100u);
}

TEST_F(Sampler, PatienceEndsItOnceThereIsEnough) {
  fake.noise = 0.5;
  rule.patience = 0.05;
  EXPECT_EQ(take(1)[0].accepted.size(), 30u);
}

TEST_F(Sampler, TheBudgetsShareEndsItAtTheFewest) {
  rule.share = 0;
  EXPECT_EQ(take(2)[0].accepted.size(), 6u);
}

TEST_F(Sampler, SamplesOfASlowClockAreSetAsideAndKept) {
  fake.clock_mhz = [](int call) { return call % 2 == 0 ? 1980.0 : 1700.0; };
  const auto all = take(1);
  EXPECT_FALSE(all[0].set_aside.empty());
  EXPECT_EQ(all[0].accepted.size(), 30u);
  EXPECT_EQ(all[0].accepted.size() + all[0].set_aside.size(), 2u * static_cast<unsigned>(fake.calls - 1));
}

TEST_F(Sampler, AClockThatNeverRecoversLeavesNothing) {
  clocks.accepts(1980);
  fake.clock_mhz = [](int) { return 1800.0; };
  const auto all = take(1);
  EXPECT_TRUE(all[0].accepted.empty());
  EXPECT_EQ(all[0].set_aside.size(), 300u);
}

TEST_F(Sampler, UnknownClocksAreAccepted) {
  fake.clock_mhz = [](int) { return 0.0; };
  EXPECT_TRUE(take(1)[0].set_aside.empty());
}

TEST_F(Sampler, StopsWhenTold) {
  const auto all = sample(
      fake, 1, rule, clocks, [&] { return fake.seconds; }, [&] { return fake.calls >= 3; });
  EXPECT_EQ(all[0].accepted.size(), 4u);
}

TEST_F(Sampler, NoContendersIsNoWork) {
  EXPECT_TRUE(take(0).empty());
  EXPECT_EQ(fake.calls, 0);
}

TEST(ClockGuard, RemembersTheFastest) {
  clock_guard clocks;
  EXPECT_TRUE(clocks.accepts(1000));
  EXPECT_TRUE(clocks.accepts(1980));
  EXPECT_TRUE(clocks.accepts(0.96 * 1980 + 1));
  EXPECT_FALSE(clocks.accepts(0.96 * 1980 - 1));
  EXPECT_EQ(clocks.fastest_mhz(), 1980);
}

}  // namespace
}  // namespace rungs::bench
