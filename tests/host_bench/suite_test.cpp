// The suite over variants that run on the host: what is refused, what is timed, what is written.
#include "suite.hpp"

#include <gtest/gtest.h>

#include "fake_records.hpp"

namespace rungs::bench {
namespace {

using catalog::record;

struct Suite : ::testing::Test {
  std::vector<record> records;
  selection wanted{.filter = "", .modes = {}, .sizes = {1000}, .types = {}};
  suite_rules rules;
  bool interrupt = false;
  run_plan plan;
  std::unique_ptr<suite> all;

  void run() {
    fakes::calls = 0;
    plan = make_plan(records, wanted, std::nullopt, "a test");
    all = std::make_unique<suite>(plan, records, std::nullopt, rules, [this] { return interrupt; });
    for (std::size_t i = 0; i < plan.problems.size(); ++i) all->visit(i);
    compare(all->found, 0);
  }
  const row& only() const {
    EXPECT_EQ(all->found.rows.size(), 1u);
    return all->found.rows.at(0);
  }
};

TEST_F(Suite, ARightVariantIsTimed) {
  records = {fakes::record("right", fakes::right<int>)};
  run();
  EXPECT_TRUE(only().timed());
  EXPECT_TRUE(only().repeatable);
  EXPECT_GE(only().samples.accepted.size(), 30u);
  EXPECT_FALSE(all->failed());
  EXPECT_TRUE(all->complete());
  EXPECT_EQ(all->find(plan.cases[0]), &only());
}

TEST_F(Suite, FloatsAreTimedToo) {
  records = {fakes::record("right", fakes::right<float>, catalog::scalar::f32)};
  run();
  EXPECT_TRUE(only().timed());
}

struct WrongVariant {
  const char* name;
  catalog::call_t call;
  const char* words;
};
struct SuiteRefuses : Suite, ::testing::WithParamInterface<WrongVariant> {};

TEST_P(SuiteRefuses, ATime) {
  records = {fakes::record(GetParam().name, GetParam().call)};
  run();
  EXPECT_FALSE(only().verified);
  EXPECT_FALSE(only().timed());
  EXPECT_NE(only().defect.find(GetParam().words), std::string::npos) << only().defect;
  EXPECT_TRUE(all->failed());
  const auto file = to_json(all->found, {.run = "r", .gpu = "g", .commit = "c", .arguments = {}, .context = {}}, {});
  EXPECT_EQ(file["rows"][0]["verified"], "no");
  for (const char* column : {"median_us", "low_us", "high_us", "gb_per_s", "speedup_over_cub"})
    EXPECT_TRUE(file["rows"][0][column].is_null()) << column;
}

INSTANTIATE_TEST_SUITE_P(All, SuiteRefuses,
                         ::testing::Values(WrongVariant{"drops_the_last", fakes::drops_the_last<int>, "before timing"},
                                           WrongVariant{"does_nothing", fakes::does_nothing, "before timing"},
                                           WrongVariant{"fails", fakes::fails, "the call failed"},
                                           WrongVariant{"tires", fakes::tires, "after the last sample"},
                                           WrongVariant{"remembers", fakes::remembers, "on changed input"}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(Suite, ARefusalIsAnOmissionWithAReason) {
  records = {fakes::record("refuses", fakes::refuses)};
  run();
  EXPECT_TRUE(all->found.rows.empty());
  ASSERT_EQ(all->found.omissions.size(), 1u);
  EXPECT_NE(all->found.omissions[0].reason.find("refused"), std::string::npos);
  EXPECT_FALSE(all->failed());
  EXPECT_TRUE(all->complete());
}

TEST_F(Suite, CubEntersTwiceAndTheOthersAreComparedWithIt) {
  records = {fakes::record("cub_device_reduce", fakes::right<int>), fakes::record("other", fakes::right<int>)};
  run();
  ASSERT_EQ(all->found.rows.size(), 3u);
  EXPECT_EQ(all->found.twins.size(), 1u);
  EXPECT_EQ(std::count_if(all->found.rows.begin(), all->found.rows.end(), [](const row& one) { return one.twin; }), 1);
  for (const row& one : all->found.rows) EXPECT_TRUE(one.speedup.has_value());
}

TEST_F(Suite, TheSlowAreStoppedWithAReason) {
  records = {fakes::record("right", fakes::right<int>)};
  rules.stop_us = 0;
  run();
  EXPECT_TRUE(all->found.rows.empty());
  EXPECT_NE(all->why_not(plan.cases[0]).find("over the limit"), std::string::npos);
}

TEST_F(Suite, ASpentBudgetLeavesTheRunIncomplete) {
  records = {fakes::record("right", fakes::right<int>)};
  rules.budget_seconds = 0;
  run();
  EXPECT_TRUE(all->found.rows.empty());
  EXPECT_FALSE(all->complete());
  EXPECT_FALSE(all->failed());
}

TEST_F(Suite, AShortBudgetWidensIntervalsBeforeItDropsCases) {
  records = {fakes::record("right", fakes::right<int>)};
  wanted.sizes = {1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000};
  rules.budget_seconds = 0.5;
  run();
  EXPECT_EQ(all->found.rows.size(), 8u);
  EXPECT_TRUE(all->complete());
  EXPECT_LT(all->seconds(), 1);
}

TEST_F(Suite, AnInterruptedRunMeasuresNothingMore) {
  records = {fakes::record("right", fakes::right<int>)};
  interrupt = true;
  run();
  EXPECT_TRUE(all->found.rows.empty());
  EXPECT_FALSE(all->complete());
}

TEST_F(Suite, OnlyTheFastAreSampledWhereNotEveryRungIs) {
  const auto slow = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    for (int i = 0; workspace != nullptr && i < 20; ++i) fakes::right<int>(workspace, num_bytes, a, stream);
    return fakes::right<int>(workspace, num_bytes, a, stream);
  };
  records = {fakes::record("quick", fakes::right<int>), fakes::record("slow", slow)};
  records[0].family = records[1].family = catalog::family::handwritten;
  plan = make_plan(records, wanted, std::nullopt, "");
  plan.problems[0].every_rung = false;
  plan.problems[0].num_items = 1 << 16;
  suite some(plan, records, std::nullopt, rules, [] { return false; });
  some.visit(0);
  ASSERT_EQ(some.found.rows.size(), 1u);
  EXPECT_EQ(some.found.rows[0].record->rung, "quick");
  ASSERT_EQ(some.found.omissions.size(), 1u);
  EXPECT_NE(some.found.omissions[0].reason.find("slower than the fastest"), std::string::npos);
}

}  // namespace
}  // namespace rungs::bench
