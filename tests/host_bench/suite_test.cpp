// The suite over variants that run on the host: what is refused, what is timed, what is written.
#include "suite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>

#include "fake_histograms.hpp"
#include "fake_records.hpp"

namespace rungs::bench {
namespace {

using catalog::record, catalog::scalar;

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
  catalog::operation operation = catalog::operation::reduce;
};
constexpr auto inclusive = catalog::operation::inclusive_scan, exclusive = catalog::operation::exclusive_scan;
template <catalog::operation kind, fakes::flaw planted>
WrongVariant a_wrong_scan(const char* name, const char* words) {
  return {name, fakes::scan<int, kind, planted>, words, kind};
}
struct SuiteRefuses : Suite, ::testing::WithParamInterface<WrongVariant> {};

TEST_P(SuiteRefuses, ATime) {
  records = {fakes::record(GetParam().name, GetParam().call)};
  records[0].operation = GetParam().operation;
  records[0].takes_init = GetParam().operation != catalog::operation::inclusive_scan;
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

INSTANTIATE_TEST_SUITE_P(
    All, SuiteRefuses,
    ::testing::Values(WrongVariant{"drops_the_last", fakes::drops_the_last<int>, "before timing"},
                      WrongVariant{"does_nothing", fakes::does_nothing, "before timing"},
                      WrongVariant{"fails", fakes::fails, "the call failed"},
                      WrongVariant{"tires", fakes::tires, "after the last sample"},
                      WrongVariant{"remembers", fakes::remembers, "on changed input"},
                      WrongVariant{"empty_scan", fakes::does_nothing, "before timing", inclusive},
                      WrongVariant{"failing_scan", fakes::fails, "the call failed", inclusive},
                      a_wrong_scan<inclusive, fakes::flaw::last_off_by_one>("off_by_one",
                                                                            "element 999 of 1000: expected "),
                      a_wrong_scan<inclusive, fakes::flaw::other_kind>("exclusive_instead", "before timing"),
                      a_wrong_scan<exclusive, fakes::flaw::other_kind>("inclusive_instead", "before timing"),
                      a_wrong_scan<exclusive, fakes::flaw::no_init>("no_init", "on changed input"),
                      a_wrong_scan<inclusive, fakes::flaw::lost_prefix>("lost_prefix", "element 500 of 1000"),
                      a_wrong_scan<inclusive, fakes::flaw::tires>("scan_tires", "after the last sample")),
    [](const auto& one) { return std::string(one.param.name); });

TEST_F(Suite, RightScansAreTimed) {
  using catalog::operation;
  records = {
      fakes::a_scan("in", operation::inclusive_scan, fakes::scan<int, operation::inclusive_scan>),
      fakes::a_scan("ex", operation::exclusive_scan, fakes::scan<int, operation::exclusive_scan>),
      fakes::a_scan("floats", operation::inclusive_scan, fakes::scan<float, operation::inclusive_scan>, scalar::f32)};
  run();
  ASSERT_EQ(all->found.rows.size(), 3u);
  for (const row& one : all->found.rows) {
    EXPECT_TRUE(one.timed()) << one.defect;
    EXPECT_TRUE(one.repeatable);
    EXPECT_EQ(one.about.bytes(), 8'000u);
  }
  EXPECT_FALSE(all->failed());
}

TEST_F(Suite, AffineScansAreTimed) {
  using catalog::operation;
  const auto composes = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
    if (fakes::only_size(workspace, num_bytes)) return cudaSuccess;
    affine all = *static_cast<const affine*>(a.init);
    for (std::size_t i = 0; i < a.num_items; ++i) {
      static_cast<affine*>(a.d_out)[i] = all;
      all = compose{}(all, static_cast<const affine*>(a.d_in)[i]);
    }
    return cudaSuccess;
  };
  records = {fakes::a_scan("ex", operation::exclusive_scan, composes, scalar::affine)};
  records[0].op = catalog::op::compose;
  wanted.types = {"affine"};
  run();
  EXPECT_TRUE(only().timed()) << only().defect;
  EXPECT_EQ(plan.cases[0].name, "exclusive_scan/compose/affine/n=1000/library_baselines/ex/host");
}

TEST_F(Suite, AnUnrepeatableScanSaysSo) {
  using catalog::operation;
  const auto dithers = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    if (workspace == nullptr) return fakes::scan<float, operation::inclusive_scan>(workspace, num_bytes, a, stream);
    fakes::scan<float, operation::inclusive_scan>(workspace, num_bytes, a, stream);
    float& one = static_cast<float*>(a.d_out)[500];
    if (++fakes::calls % 2 == 0 && one != std::trunc(one)) one = std::nextafter(one, 100.0f);
    return cudaSuccess;
  };
  records = {fakes::a_scan("dithers", operation::inclusive_scan, dithers, scalar::f32)};
  run();
  EXPECT_TRUE(only().timed()) << only().defect;
  EXPECT_FALSE(only().repeatable);
}

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

// Twins are the same call to the last pointer, and whoever keeps something does so where nobody else writes.
TEST_F(Suite, ContendersHaveTheSameBuffersButForWhatTheyKeep) {
  const auto made = [](const char* name, contents temp_storage) {
    record one = fakes::record(name, fakes::right<int>);
    one.temp_storage = temp_storage;
    return one;
  };
  records = {made("any", contents::uninitialised), made("zeroed", contents::zeroed_once),
             made("other", contents::uninitialised), made("zeroed_too", contents::zeroed_once)};
  plan = make_plan(records, wanted, std::nullopt, "a test");
  ASSERT_EQ(plan.problems.size(), 1u);
  host_place where;
  where.fill(plan.problems[0], {scalar::i32, 1000, 1, true}, 0);
  std::vector<contender> bound(records.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    bound[i].record = &records[i];
    bound[i].arguments.num_items = 1000;
  }
  for (const cudaError_t error : where.bind(bound)) EXPECT_EQ(error, cudaSuccess);
  const auto byte = [](const contender& one, std::size_t i) { return static_cast<unsigned char*>(one.workspace)[i]; };
  for (const contender& one : bound) {
    EXPECT_EQ(one.arguments.d_in, bound[0].arguments.d_in);
    EXPECT_EQ(one.arguments.d_out, bound[0].arguments.d_out);
    ASSERT_EQ(one.workspace_bytes, 16u);
    const bool keeps = one.record->temp_storage == contents::zeroed_once;
    EXPECT_EQ(byte(one, 0) == 0, keeps) << one.record->rung;
    EXPECT_EQ(byte(one, 15) == 0, keeps) << one.record->rung;
  }
  EXPECT_EQ(bound[2].workspace, bound[0].workspace);
  const std::set<void*> apart{bound[0].workspace, bound[1].workspace, bound[3].workspace};
  EXPECT_EQ(apart.size(), 3u);
}

// What another has left in the output is no answer.
TEST_F(Suite, AVariantThatWritesNothingIsSeenBesideARightOne) {
  records = {fakes::record("right", fakes::right<int>), fakes::record("writes_nothing", fakes::writes_nothing)};
  run();
  EXPECT_TRUE(all->failed());
  ASSERT_EQ(all->found.rows.size(), 2u);
  for (const row& one : all->found.rows) EXPECT_EQ(one.timed(), one.record->rung == records[0].rung) << one.defect;
}

// Nor where it stops writing while it is timed.
TEST_F(Suite, AVariantThatStopsWritingIsSeenBesideARightOne) {
  records = {fakes::record("right", fakes::right<int>), fakes::record("stops_writing", fakes::stops_writing)};
  run();
  ASSERT_EQ(all->found.rows.size(), 2u);
  for (const row& one : all->found.rows) {
    EXPECT_EQ(one.timed(), one.record->rung == records[0].rung) << one.defect;
    if (one.record->rung != records[0].rung) {
      EXPECT_NE(one.defect.find("after the last sample"), std::string::npos) << one.defect;
    }
  }
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

TEST_F(Suite, AnAimTakesSamplesAwayButNoCases) {
  records = {fakes::record("right", fakes::right<int>)};
  wanted.sizes = {1000, 2000};
  run();
  const std::size_t patient = all->found.rows.at(0).samples.accepted.size();
  rules.aim_seconds = 0;
  run();
  EXPECT_EQ(all->found.rows.size(), 2u);
  EXPECT_TRUE(all->complete());
  for (const auto& row : all->found.rows) EXPECT_LT(row.samples.accepted.size(), patient);
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

// Of a grid: the fastest few of each kind of storage, and the front door however slow it is.
TEST_F(Suite, AGridSamplesTheFastestFewAndTheFrontDoor) {
  const auto slow = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    for (int i = 0; workspace != nullptr && i < 20; ++i) fakes::right<int>(workspace, num_bytes, a, stream);
    return fakes::right<int>(workspace, num_bytes, a, stream);
  };
  records = {fakes::record("a", fakes::right<int>),
             fakes::record("b", fakes::right<int>),
             fakes::record("zeros_a", fakes::right<int>),
             fakes::record("zeros_b", fakes::right<int>),
             fakes::record("slow", slow),
             fakes::record("front_door", slow)};
  for (auto& one : records) one.family = catalog::family::handwritten;
  records[2].temp_storage = records[3].temp_storage = contents::zeroed_once;
  records[5].ladder = "front_door_of_fakes";
  rules.fast_factor = 8;
  plan = make_plan(records, wanted, std::nullopt, "");
  plan.problems[0].every_rung = false;
  plan.problems[0].most_rungs = 1;
  plan.problems[0].num_items = 1 << 16;
  suite some(plan, records, std::nullopt, rules, [] { return false; });
  some.visit(0);
  std::multiset<std::string> sampled, why;
  for (const row& one : some.found.rows) sampled.insert(std::string(one.record->rung.substr(0, 5)));
  EXPECT_EQ(sampled.size(), 3u);
  EXPECT_EQ(sampled.count("zeros"), 1u);
  EXPECT_EQ(sampled.count("front"), 1u);
  EXPECT_EQ(sampled.count("a") + sampled.count("b"), 1u);
  for (const omission& one : some.found.omissions) why.insert(one.reason.substr(0, 9));
  EXPECT_EQ(why.count("not among"), 2u);
  EXPECT_EQ(some.found.omissions.size(), 3u);
}

using catalog::operation, fakes::miscount;

// Reads and writes where it is told to, and says so where that is not three items behind an alignment.
template <class In, class Out>
bool begins_three_behind(const catalog::arguments& a, bool writes) {
  return reinterpret_cast<std::uintptr_t>(a.d_in) % 16 == 3 * sizeof(In) % 16 &&
         (!writes || reinterpret_cast<std::uintptr_t>(a.d_out) % 16 == 3 * sizeof(Out) % 16);
}

TEST_F(Suite, ItemsBeginAtTheirOffset) {
  const auto sums = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    if (workspace != nullptr && !begins_three_behind<int, int>(a, false)) return cudaErrorMisalignedAddress;
    return fakes::right<int>(workspace, num_bytes, a, stream);
  };
  const auto scans = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    if (workspace != nullptr && !begins_three_behind<int, int>(a, true)) return cudaErrorMisalignedAddress;
    return fakes::scan<int, operation::inclusive_scan>(workspace, num_bytes, a, stream);
  };
  const auto counts = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    if (workspace != nullptr && !begins_three_behind<std::uint8_t, int>(a, false)) return cudaErrorMisalignedAddress;
    return fakes::histogram<std::uint8_t, int>(workspace, num_bytes, a, stream);
  };
  records = {fakes::record("sums", sums), fakes::a_scan("scans", operation::inclusive_scan, scans),
             fakes::a_histogram("counts", counts, scalar::u8)};
  plan = make_plan(records, wanted, std::nullopt, "");
  for (problem& one : plan.problems) one.shape.dimensions.push_back({"offset", 3});
  suite some(plan, records, std::nullopt, rules, [] { return false; });
  for (std::size_t i = 0; i < plan.problems.size(); ++i) some.visit(i);
  ASSERT_GE(some.found.rows.size(), 3u);
  for (const row& one : some.found.rows) EXPECT_TRUE(one.timed()) << one.record->rung << ": " << one.defect;
}

struct SuiteOfHistograms : Suite {
  SuiteOfHistograms() {
    wanted.sizes = {1000, 4003};
    wanted.bins = {64};
    wanted.distributions = {std::begin(all_distributions), std::end(all_distributions)};
  }
};

TEST_F(SuiteOfHistograms, RightOnesAreTimed) {
  records = {fakes::a_histogram("ints", fakes::histogram<int, int>),
             fakes::a_histogram("bytes", fakes::histogram<std::uint8_t, int>, scalar::u8),
             fakes::a_histogram("floats", fakes::histogram<float, float>, scalar::f32, scalar::f32),
             fakes::a_histogram("ranges", fakes::histogram<int, int, miscount::none, false>, scalar::i32, scalar::i32,
                                operation::histogram_range),
             fakes::a_histogram("pixels", fakes::histogram<std::uint8_t, int, miscount::none, true, 4, 3>, scalar::u8,
                                scalar::i32, operation::multi_histogram_even)};
  run();
  EXPECT_FALSE(all->failed());
  EXPECT_EQ(all->found.rows.size(), 2u * (7 + 6 + 7 + 7 + 6));  // no byte lies outside
  std::set<std::string> seen;
  for (const row& one : all->found.rows) {
    EXPECT_TRUE(one.timed()) << one.defect;
    EXPECT_TRUE(one.repeatable);
    seen.insert(case_name(one.about, *one.record, one.mode));
    const bool pixels = one.record->rung == "pixels";
    EXPECT_EQ(one.about.bytes(), one.about.num_items * catalog::size_of(one.about.input_type) + (pixels ? 768 : 256));
  }
  EXPECT_TRUE(seen.contains("histogram_even/u8/bins=64/zipf/n=1000/library_baselines/bytes/host"));
  EXPECT_TRUE(
      seen.contains("multi_histogram_even/u8/bins=64/channels=4/active=3/runs/n=4003/library_baselines/pixels/host"));
}

// What is wrong for one distribution is timed for the others, and the run fails.
struct AWrongHistogram {
  const char* name;
  catalog::record record;
  std::vector<distribution> refused;
  friend void PrintTo(const AWrongHistogram& one, std::ostream* to) { *to << one.name; }
};
struct SuiteRefusesHistogram : SuiteOfHistograms, ::testing::WithParamInterface<AWrongHistogram> {};

TEST_P(SuiteRefusesHistogram, WhereItIsWrong) {
  records = {GetParam().record};
  run();
  EXPECT_TRUE(all->failed());
  for (const row& one : all->found.rows) {
    const auto& refused = GetParam().refused;
    const bool wrong = std::count(refused.begin(), refused.end(), one.about.distribution) > 0;
    EXPECT_EQ(one.timed(), !wrong) << name(one.about.distribution) << one.defect;
    EXPECT_EQ(one.fault, "") << "on the host the library's rows are our own code";
  }
}

const std::vector<distribution> everywhere(std::begin(all_distributions), std::end(all_distributions));
INSTANTIATE_TEST_SUITE_P(
    All, SuiteRefusesHistogram,
    ::testing::Values(
        AWrongHistogram{
            "drops_the_last",
            fakes::a_histogram("w", fakes::histogram<std::uint16_t, int, miscount::drops_the_last>, scalar::u16),
            {distribution::uniform, distribution::constant, distribution::eight_hot, distribution::zipf,
             distribution::sorted, distribution::runs}},
        AWrongHistogram{"adds_up",
                        fakes::a_histogram("w", fakes::histogram<int, int, miscount::adds_to_what_was_there>),
                        everywhere},
        AWrongHistogram{
            "counts_strays",
            fakes::a_histogram("w", fakes::histogram<float, float, miscount::counts_strays>, scalar::f32, scalar::f32),
            {distribution::out_of_range}},
        AWrongHistogram{
            "upper_edge",
            fakes::a_histogram("w", fakes::histogram<float, float, miscount::upper_edge>, scalar::f32, scalar::f32),
            {distribution::out_of_range}},
        AWrongHistogram{"even_instead",
                        fakes::a_histogram("w", fakes::histogram<int, int, miscount::even_instead, false>, scalar::i32,
                                           scalar::i32, operation::histogram_range),
                        everywhere},
        AWrongHistogram{"one_channel",
                        fakes::a_histogram("w", fakes::histogram<std::uint8_t, int, miscount::one_channel, true, 4, 3>,
                                           scalar::u8, scalar::i32, operation::multi_histogram_even),
                        everywhere},
        AWrongHistogram{"does_nothing", fakes::a_histogram("w", fakes::does_nothing), everywhere},
        AWrongHistogram{"fails", fakes::a_histogram("w", fakes::fails), everywhere}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_F(SuiteOfHistograms, AHistogramThatTiresIsSeen) {
  records = {fakes::a_histogram("tires", fakes::histogram<int, int, miscount::tires>)};
  wanted.distributions = {distribution::uniform};
  wanted.sizes = {1000};
  run();
  EXPECT_NE(only().defect.find("after the last sample"), std::string::npos) << only().defect;
}

}  // namespace
}  // namespace rungs::bench
