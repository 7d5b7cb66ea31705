// The suite over variants that run on the host: what is refused, what is timed, what is written.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
#include <thread>

#include "fake_histograms.hpp"
#include "right_chains.hpp"
#include "right_updates.hpp"
#include "suite_fixture.hpp"

namespace rungs::bench {
namespace {

using catalog::op, catalog::operation, catalog::record, catalog::scalar;
using fakes::a_chain, fakes::a_histogram, fakes::a_scan, fakes::an_update, fakes::chain_slip, fakes::choice_slip,
    fakes::flaw, fakes::miscount, fakes::norm_slip, fakes::of_both_places, fakes::of_norms, fakes::of_pairs,
    fakes::of_places, fakes::of_rows, fakes::of_selections, fakes::of_top_k, fakes::pair_slip, fakes::place_slip,
    fakes::row_slip, fakes::top_k_slip, fakes::slip;
constexpr auto inclusive = operation::inclusive_scan, exclusive = operation::exclusive_scan;
const std::vector<distribution> everywhere(std::begin(all_distributions), std::end(all_distributions));

struct Suite : SuiteFixture {
  const row& only() const {
    EXPECT_EQ(all->found.rows.size(), 1u);
    return all->found.rows.at(0);
  }
};

const selection a_thousand{.sizes = {1000}};
const selection of_64_bins{.sizes = {1000, 4003}, .bins = {64}, .distributions = everywhere};

template <class T, operation kind, flaw planted = flaw::none>
record scanning(scalar type = scalar::i32) {
  return a_scan("a", kind, fakes::scan<T, kind, planted>, type);
}
template <class Sample, class Level, miscount planted = miscount::none, bool even = true>
record counting(scalar type, scalar levels) {
  return a_histogram("a", fakes::histogram<Sample, Level, planted, even>, type, levels,
                     even ? operation::histogram_even : operation::histogram_range);
}
template <miscount planted = miscount::none>
record counting_pixels() {
  return a_histogram("a", fakes::histogram<std::uint8_t, int, planted, true, 4, 3>, scalar::u8, scalar::i32,
                     operation::multi_histogram_even);
}
record composing() {
  record one = scanning<affine, exclusive>(scalar::affine);
  one.op = op::compose;
  return one;
}

// --- right ones
struct RightVariant {
  const char* name;
  catalog::record record;
  selection wanted;
  std::size_t rows;
  std::string first_case;  // without its contender
  std::size_t (*bytes)(const problem&);
  friend void PrintTo(const RightVariant& one, std::ostream* to) { *to << one.name; }
};
struct SuiteTimes : Suite, ::testing::WithParamInterface<RightVariant> {};

TEST_P(SuiteTimes, ARightVariant) {
  rules.stop_us = 1e6;  // without optimisation, on a machine that does other work, too
  records = {GetParam().record};
  wanted = GetParam().wanted;
  run();
  EXPECT_FALSE(all->failed());
  EXPECT_TRUE(all->complete());
  ASSERT_EQ(all->found.rows.size(), GetParam().rows);
  EXPECT_EQ(all->find(plan.cases[0]), &all->found.rows[0]);
  EXPECT_EQ(plan.cases[0].name, GetParam().first_case + '/' + std::string(name(records[0].family)) + "/a/host");
  for (const row& one : all->found.rows) {
    EXPECT_TRUE(one.timed()) << one.defect;
    EXPECT_TRUE(one.repeatable);
    EXPECT_GE(one.samples.accepted.size(), 30u);
    EXPECT_EQ(one.about.bytes(), GetParam().bytes(one.about));
    EXPECT_EQ(one.percent_of_ceiling, std::nullopt);
  }
}

std::size_t sum_bytes(const problem&) { return 4'004; }
std::size_t row_bytes(const problem& about) { return 4 * (about.shape["columns"] + 1) * about.shape["rows"]; }
std::size_t norm_bytes(const problem& about) { return 4 * about.shape["columns"] * (2 * about.shape["rows"] + 1); }
std::size_t pair_bytes(const problem&) { return 8'004; }
std::size_t place_bytes(const problem&) { return 4'016; }
std::size_t both_places_bytes(const problem&) { return 4'032; }
std::size_t top_k_bytes(const problem& about) {
  return 4 * about.shape["rows"] * (about.shape["columns"] + 2 * about.shape["k"]);
}
std::size_t chosen_bytes(const problem& about) { return 4 * (1'000 + 10 * about.shape["percent"]); }
std::size_t scan_bytes(const problem& about) { return about.num_items * 2 * catalog::size_of(about.input_type); }
std::size_t counter_bytes(const problem& about) {
  const std::size_t channels = about.operation == operation::multi_histogram_even ? 3 : 1;
  return about.num_items * catalog::size_of(about.input_type) + channels * 256;
}
std::size_t address_bytes(const problem& about) { return 4 * about.shape["addresses"]; }
std::size_t word_bytes(const problem&) { return 4; }
std::size_t thread_bytes(const problem& about) {
  return 4 * std::max<std::size_t>(1, about.shape["blocks"]) * about.shape["threads"];
}

const selection two_addresses{.filter = "/addresses=(1|1024)/", .sizes = {1000}};
const selection a_hundred{.sizes = {100}};
const selection of_experts{.filter = "columns=256/k=8/"};
const selection few_rows{.filter = "rows=(1|19)/columns=2048/"}, few_norms{.filter = "rows=19/columns=2048/"};
const RightVariant right_variants[] = {
    {"ints", fakes::record("a", fakes::right<int>), a_thousand, 1, "reduce/plus/i32/n=1000", sum_bytes},
    {"floats", fakes::record("a", fakes::right<float>, scalar::f32), a_thousand, 1, "reduce/plus/f32/n=1000",
     sum_bytes},
    {"inclusive", scanning<int, inclusive>(), a_thousand, 1, "inclusive_scan/plus/i32/n=1000", scan_bytes},
    {"exclusive", scanning<int, exclusive>(), a_thousand, 1, "exclusive_scan/plus/i32/n=1000", scan_bytes},
    {"float_scan", scanning<float, inclusive>(scalar::f32), a_thousand, 1, "inclusive_scan/plus/f32/n=1000",
     scan_bytes},
    {"affine_scan", composing(), a_thousand, 1, "exclusive_scan/compose/affine/n=1000", scan_bytes},
    {"row_sums", of_rows(fakes::record("a", fakes::row_sums<float>, scalar::f32)), few_rows, 2,
     "row_reduce/plus/f32/rows=19/columns=2048/uniform/n=38Ki", row_bytes},
    {"norms", of_norms(fakes::record("a", fakes::norms<>, scalar::f32)), few_norms, 1,
     "row_norm/f32/rows=19/columns=2048/uniform/n=38Ki", norm_bytes},
    {"top_k", of_top_k(fakes::record("a", fakes::greatest<float>, scalar::f32)), of_experts, 1,
     "top_k/f32/rows=256/columns=256/k=8/uniform/n=64Ki", top_k_bytes},
    {"int_top_k", of_top_k(fakes::record("a", fakes::greatest<int>)), of_experts, 1,
     "top_k/i32/rows=256/columns=256/k=8/uniform/n=64Ki", top_k_bytes},
    {"dot", of_pairs(fakes::record("a", fakes::dot<float>, scalar::f32)), a_thousand, 1, "dot/plus/f32/n=1000",
     pair_bytes},
    {"place", of_places(fakes::record("a", fakes::place_of_the_least<float>, scalar::f32)), a_thousand, 1,
     "arg_extremum/minimum/f32/n=1000", place_bytes},
    {"both_places", of_both_places(fakes::record("a", fakes::both_places<float>, scalar::f32)), a_thousand, 1,
     "arg_extremum/both/f32/n=1000", both_places_bytes},
    {"selection", of_selections(fakes::record("a", fakes::chosen<float>, scalar::f32)), a_thousand, 1,
     "select_if/f32/percent=50/uniform/n=1000", chosen_bytes},
    {"int_selection", of_selections(fakes::record("a", fakes::chosen<int>)), a_thousand, 1,
     "select_if/i32/percent=50/uniform/n=1000", chosen_bytes},
    {"int_histogram", counting<int, int>(scalar::i32, scalar::i32), of_64_bins, 2 * 7,
     "histogram_even/i32/bins=64/uniform/n=4003", counter_bytes},
    {"byte_histogram", counting<std::uint8_t, int>(scalar::u8, scalar::i32), of_64_bins,
     2 * 6,  // no byte lies outside
     "histogram_even/u8/bins=64/uniform/n=4003", counter_bytes},
    {"float_histogram", counting<float, float>(scalar::f32, scalar::f32), of_64_bins, 2 * 7,
     "histogram_even/f32/bins=64/uniform/n=4003", counter_bytes},
    {"ranges", counting<int, int, miscount::none, false>(scalar::i32, scalar::i32), of_64_bins, 2 * 7,
     "histogram_range/i32/bins=64/uniform/n=4003", counter_bytes},
    {"pixels", counting_pixels(), of_64_bins, 2 * 6,
     "multi_histogram_even/u8/bins=64/channels=4/active=3/uniform/n=4003", counter_bytes},
    {"updates", an_update("a", fakes::update<plus, unsigned>), two_addresses, 2,
     "atomics/plus/u32/addresses=1/uniform/n=1000", address_bytes},
    {"pairs", an_update("a", fakes::update<plus, __half2>, op::plus, scalar::f16x2), two_addresses, 2,
     "atomics/plus/f16x2/addresses=1/uniform/n=1000", address_bytes},
    {"collective", a_chain<operation::collective_reduce, op::plus, scalar::f32>("a"), a_hundred, 3,
     "collective_reduce/plus/f32/threads=16/uniform/n=100", word_bytes},
    {"collective_scan", a_chain<operation::collective_scan, op::maximum, scalar::i32>("a"), a_hundred, 3,
     "collective_scan/maximum/i32/threads=16/uniform/n=100", thread_bytes},
    {"barrier", a_chain<operation::barrier>("a"), a_hundred, 6, "barrier/u32/blocks=1/threads=32/uniform/n=100",
     thread_bytes}};
INSTANTIATE_TEST_SUITE_P(All, SuiteTimes, ::testing::ValuesIn(right_variants),
                         [](const auto& one) { return std::string(one.param.name); });

// --- wrong ones: no time, where they are wrong, and the run fails
struct WrongVariant {
  const char* name;
  catalog::record record;
  std::string words;  // of the defect
  selection wanted = a_thousand;
  std::vector<distribution> refused = everywhere;
  friend void PrintTo(const WrongVariant& one, std::ostream* to) { *to << one.name; }
};
struct SuiteRefuses : Suite, ::testing::WithParamInterface<WrongVariant> {};

TEST_P(SuiteRefuses, ATimeWhereItIsWrong) {
  rules.stop_us = 1e6;  // without optimisation, on a machine that does other work, too
  records = {GetParam().record};
  wanted = GetParam().wanted;
  run();
  EXPECT_TRUE(all->failed());
  int num_wrong = 0;
  const auto file = to_json(all->found, {.run = "r", .gpu = "g", .commit = "c"}, {});
  for (std::size_t i = 0; i < all->found.rows.size(); ++i) {
    const row& one = all->found.rows[i];
    const bool wrong = std::ranges::count(GetParam().refused, one.about.distribution) > 0;
    num_wrong += wrong;
    EXPECT_EQ(one.timed(), !wrong) << name(one.about.distribution) << one.defect;
    EXPECT_EQ(one.verified, !wrong);
    EXPECT_EQ(one.fault, "") << "on the host the library's rows are our own code";
    if (!wrong) continue;
    EXPECT_NE(one.defect.find(GetParam().words), std::string::npos) << one.defect;
    EXPECT_EQ(file["rows"][i]["verified"], "no");
    for (const char* column : {"median_us", "low_us", "high_us", "gb_per_s", "speedup_over_cub"})
      EXPECT_TRUE(file["rows"][i][column].is_null()) << column;
  }
  EXPECT_GT(num_wrong, 0);
}

const selection on_64_addresses{.filter = "/addresses=64/", .sizes = {1000}};
const selection of_a_warp{.filter = "threads=32/", .sizes = {100}};
const selection of_19_rows{.filter = "rows=19/columns=2048/"};
const selection uniform_only{.sizes = {1000}, .bins = {64}, .distributions = {distribution::uniform}};
const std::vector<distribution> outside = {distribution::out_of_range},
                                inside(everywhere.begin(), everywhere.end() - 1);
template <row_slip planted>
record summing_rows() {
  return of_rows(fakes::record("a", fakes::row_sums<float, planted>, scalar::f32));
}
template <pair_slip planted>
record multiplying() {
  return of_pairs(fakes::record("a", fakes::dot<int, planted>, scalar::i32));
}
// Of 13 bits, so that most of 100000 items have equals.
template <norm_slip planted>
record norming() {
  return of_norms(fakes::record("a", fakes::norms<planted>, scalar::f32));
}
template <place_slip planted>
record placing() {
  return of_places(fakes::record("a", fakes::place_of_the_least<int, planted>, scalar::i32));
}
template <place_slip planted>
record placing_both() {
  return of_both_places(fakes::record("a", fakes::both_places<int, planted>, scalar::i32));
}
template <top_k_slip planted>
record choosing_greatest() {
  return of_top_k(fakes::record("a", fakes::greatest<int, planted>));
}
template <choice_slip planted>
record choosing() {
  return of_selections(fakes::record("a", fakes::chosen<int, planted>));
}
template <slip planted>
record slipping() {
  return an_update("a", fakes::update<plus, unsigned, planted>);
}
const WrongVariant wrong_variants[] = {
    {"drops_the_last", fakes::record("a", fakes::drops_the_last<int>), "before timing"},
    {"does_nothing", fakes::record("a", fakes::does_nothing), "before timing"},
    {"fails", fakes::record("a", fakes::fails), "the call failed"},
    {"tires", fakes::record("a", fakes::tires), "after the last sample"},
    {"remembers", fakes::record("a", fakes::remembers), "on changed input"},

    {"empty_scan", a_scan("a", inclusive, fakes::does_nothing), "before timing"},
    {"failing_scan", a_scan("a", inclusive, fakes::fails), "the call failed"},
    {"off_by_one", scanning<int, inclusive, flaw::last_off_by_one>(), "element 999 of 1000: expected "},
    {"exclusive_instead", scanning<int, inclusive, flaw::other_kind>(), "before timing"},
    {"inclusive_instead", scanning<int, exclusive, flaw::other_kind>(), "before timing"},
    {"no_init", scanning<int, exclusive, flaw::no_init>(), "on changed input"},
    {"lost_prefix", scanning<int, inclusive, flaw::lost_prefix>(), "element 500 of 1000"},
    {"scan_tires", scanning<int, inclusive, flaw::tires>(), "after the last sample"},

    {"empty_rows", of_rows(fakes::record("a", fakes::does_nothing, scalar::f32)), "before timing", of_19_rows},
    {"last_column", summing_rows<row_slip::last_column>(), "element 0 of 19: expected ", of_19_rows},
    {"init_once", summing_rows<row_slip::init_once>(), "on changed input", of_19_rows},
    {"next_row", summing_rows<row_slip::next_row>(), "wrong elements: 19", of_19_rows},
    {"last_row", summing_rows<row_slip::last_row_unwritten>(), "element 18 of 19", of_19_rows},
    {"rows_tire", summing_rows<row_slip::tires>(), "after the last sample", of_19_rows},

    {"no_norms", of_norms(fakes::record("a", fakes::does_nothing, scalar::f32)), "before timing", of_19_rows},
    {"last_column_of_norms", norming<norm_slip::last_column>(), "element ", of_19_rows},
    {"no_weights", norming<norm_slip::no_weights>(), "element ", of_19_rows},
    {"last_norm", norming<norm_slip::last_row_unwritten>(), "of 38912", of_19_rows},
    {"norms_tire", norming<norm_slip::tires>(), "after the last sample", of_19_rows},

    {"last_pair", multiplying<pair_slip::last_pair>(), "before timing"},
    {"first_twice", multiplying<pair_slip::first_twice>(), "expected "},
    {"next_second", multiplying<pair_slip::next_second>(), "expected "},
    {"dot_tires", multiplying<pair_slip::tires>(), "after the last sample"},

    {"last_of_equals", placing<place_slip::last_of_equals>(), "index: expected ", {.sizes = {100'000}}},
    {"index_in_a_tile", placing<place_slip::index_in_a_tile>(), "index: expected "},
    {"place_tires", placing<place_slip::tires>(), "after the last sample"},
    {"last_greatest", placing_both<place_slip::last_of_equals>(), "index: expected ", {.sizes = {100'000}}},
    {"index_of_both_in_a_tile", placing_both<place_slip::index_in_a_tile>(), "index: expected "},
    {"greatest_tires", placing_both<place_slip::tires>(), "after the last sample"},
    {"last_choice_dropped", choosing<choice_slip::last_item>(), "chosen items, got "},
    {"order_of_choice", choosing<choice_slip::order>(), "in their order"},
    {"count_of_32_bits", choosing<choice_slip::count_of_32_bits>(), "chosen items, got "},
    {"choice_tires", choosing<choice_slip::tires>(), "after the last sample"},

    {"last_of_equal_keys", choosing_greatest<top_k_slip::last_of_equals>(), "the column in place ", of_experts},
    {"last_column_of_top_k", choosing_greatest<top_k_slip::last_column>(), "row ", of_experts},
    {"top_k_tires", choosing_greatest<top_k_slip::tires>(), "after the last sample", of_experts},

    {"last_sample", counting<std::uint16_t, int, miscount::drops_the_last>(scalar::u16, scalar::i32), "wrong",
     of_64_bins, inside},
    {"adds_up", counting<int, int, miscount::adds_to_what_was_there>(scalar::i32, scalar::i32), "wrong", of_64_bins},
    {"counts_strays", counting<float, float, miscount::counts_strays>(scalar::f32, scalar::f32), "wrong", of_64_bins,
     outside},
    {"upper_edge", counting<float, float, miscount::upper_edge>(scalar::f32, scalar::f32), "wrong", of_64_bins,
     outside},
    {"even_instead", counting<int, int, miscount::even_instead, false>(scalar::i32, scalar::i32), "wrong", of_64_bins},
    {"one_channel", counting_pixels<miscount::one_channel>(), "wrong", of_64_bins},
    {"empty_histogram", a_histogram("a", fakes::does_nothing), "wrong", of_64_bins},
    {"failing_histogram", a_histogram("a", fakes::fails), "the call failed", of_64_bins},
    {"histogram_tires", counting<int, int, miscount::tires>(scalar::i32, scalar::i32), "after the last sample",
     uniform_only},

    {"last_update", slipping<slip::last_dropped>(), "wrong before timing: address", on_64_addresses},
    {"one_lost", slipping<slip::one_lost>(), "wrong before timing: address", on_64_addresses},
    {"start_kept", slipping<slip::start_kept>(), "wrong before timing: address", on_64_addresses},
    {"next_address", slipping<slip::next_address>(), "wrong addresses: 2", on_64_addresses},
    {"one_bit", slipping<slip::one_bit>(), "address 0 of 64", on_64_addresses},
    {"seed_ignored", slipping<slip::seed_ignored>(), "wrong", on_64_addresses},

    {"last_link", a_chain<operation::collective_reduce, op::plus, scalar::i32, chain_slip::last_link_dropped>("a"),
     "wrong before timing: word 0 of 1", of_a_warp},
    {"a_lane", a_chain<operation::collective_scan, op::plus, scalar::i32, chain_slip::lane_left_out>("a"),
     "wrong before timing: word", of_a_warp},
    {"never_waits", a_chain<operation::barrier, op::none, scalar::u32, chain_slip::one_never_waits>("a"),
     "wrong words: 1", of_a_warp},
    {"chain_seed", a_chain<operation::barrier, op::none, scalar::u32, chain_slip::seed_ignored>("a"), "wrong",
     of_a_warp}};
INSTANTIATE_TEST_SUITE_P(All, SuiteRefuses, ::testing::ValuesIn(wrong_variants),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(Suite, AnUnrepeatableScanSaysSo) {
  const auto dithers = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    const cudaError_t error = fakes::scan<float, inclusive>(workspace, num_bytes, a, stream);
    if (workspace == nullptr) return error;
    float& one = static_cast<float*>(a.d_out)[500];
    if (++fakes::calls % 2 == 0 && one != std::trunc(one)) one = std::nextafter(one, 100.0f);
    return error;
  };
  records = {a_scan("dithers", inclusive, dithers, scalar::f32)};
  run();
  EXPECT_TRUE(only().timed()) << only().defect;
  EXPECT_FALSE(only().repeatable);
}

TEST_F(Suite, ARefusalIsAnOmissionWithAReason) {
  records = {fakes::record("refuses", fakes::refuses)};
  run();
  EXPECT_TRUE(all->found.rows.empty());
  ASSERT_EQ(all->found.omissions.size(), 1u);
  EXPECT_TRUE(left_out("refused"));
  EXPECT_FALSE(all->failed());
  EXPECT_TRUE(all->complete());
}

TEST_F(Suite, CubEntersTwiceAndTheOthersAreComparedWithIt) {
  records = {fakes::record("cub_device_reduce", fakes::right<int>), fakes::record("other", fakes::right<int>)};
  run();
  ASSERT_EQ(all->found.rows.size(), 3u);
  EXPECT_EQ(all->found.twins.size(), 1u);
  EXPECT_EQ(std::ranges::count(all->found.rows, true, &row::twin), 1);
  for (const row& one : all->found.rows) EXPECT_TRUE(one.speedup.has_value());
}

// Twins are the same call to the last pointer, and whoever keeps something does so where nobody else writes.
TEST_F(Suite, ContendersHaveTheSameBuffersButForWhatTheyKeep) {
  for (const char* name : {"any", "zeroed", "other", "zeroed_too"}) {
    records.push_back(fakes::record(name, fakes::right<int>));
    if (std::string_view(name).starts_with("zeroed")) records.back().temp_storage = contents::zeroed_once;
  }
  make();
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

// What another has left in the output is no answer; nor where it stops writing while it is timed.
TEST_F(Suite, AVariantThatDoesNotWriteIsSeenBesideARightOne) {
  const std::pair<catalog::call_t, const char*> wrong_calls[] = {{fakes::does_nothing, "before timing"},
                                                                 {fakes::stops_writing, "after the last sample"}};
  for (const auto& [call, when] : wrong_calls) {
    records = {fakes::record("right", fakes::right<int>), fakes::record("wrong", call)};
    run();
    EXPECT_TRUE(all->failed());
    ASSERT_EQ(all->found.rows.size(), 2u);
    EXPECT_TRUE(rows_of("right")[0]->timed());
    EXPECT_FALSE(rows_of("wrong")[0]->timed());
    EXPECT_NE(rows_of("wrong")[0]->defect.find(when), std::string::npos) << rows_of("wrong")[0]->defect;
  }
}

struct SuiteOfSums : Suite {
  SuiteOfSums() { records = {fakes::record("right", fakes::right<int>)}; }
};

TEST_F(SuiteOfSums, TheSlowAreStoppedWithAReason) {
  rules.stop_us = 0;
  run();
  EXPECT_TRUE(all->found.rows.empty());
  EXPECT_NE(all->why_not(plan.cases[0]).find("over the limit"), std::string::npos);
}

TEST_F(SuiteOfSums, ASpentBudgetOrAnInterruptLeavesTheRunIncomplete) {
  for (const bool by_signal : {false, true}) {
    rules.budget_seconds = by_signal ? std::nullopt : std::optional(0.0);
    interrupt = by_signal;
    run();
    EXPECT_TRUE(all->found.rows.empty());
    EXPECT_FALSE(all->complete());
    EXPECT_FALSE(all->failed());
  }
}

TEST_F(SuiteOfSums, AShortBudgetWidensIntervalsBeforeItDropsCases) {
  wanted.sizes = {1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000};
  rules.budget_seconds = 0.5;
  run();
  EXPECT_EQ(all->found.rows.size(), 8u);
  EXPECT_TRUE(all->complete());
  EXPECT_LT(all->seconds(), 1);
}

TEST_F(SuiteOfSums, AnAimTakesSamplesAwayButNoCases) {
  wanted.sizes = {1000, 2000};
  run();
  const std::size_t patient = all->found.rows.at(0).samples.accepted.size();
  rules.aim_seconds = 0;
  run();
  EXPECT_EQ(all->found.rows.size(), 2u);
  EXPECT_TRUE(all->complete());
  for (const auto& row : all->found.rows) EXPECT_LT(row.samples.accepted.size(), patient);
}

cudaError_t slow(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  for (int i = 0; workspace != nullptr && i < 20; ++i) fakes::right<int>(workspace, num_bytes, a, stream);
  return fakes::right<int>(workspace, num_bytes, a, stream);
}

struct SuiteOfFew : Suite {
  void run_few(std::size_t most_rungs) {
    for (auto& one : records) one.family = catalog::family::handwritten;
    make();
    plan.problems[0].every_rung = false;
    plan.problems[0].most_rungs = most_rungs;
    plan.problems[0].num_items = 1 << 16;
    measure();
  }
};

TEST_F(SuiteOfFew, OnlyTheFastAreSampledWhereNotEveryRungIs) {
  records = {fakes::record("quick", fakes::right<int>), fakes::record("slow", slow)};
  run_few(0);
  EXPECT_EQ(only().record->rung, "quick");
  ASSERT_EQ(all->found.omissions.size(), 1u);
  EXPECT_TRUE(left_out("slower than the fastest"));
}

// Of a grid: the fastest few of each kind of storage, and the front door however slow it is.
TEST_F(SuiteOfFew, AGridSamplesTheFastestFewAndTheFrontDoor) {
  for (const char* name : {"a", "b", "zeros_a", "zeros_b", "slow", "front_door"}) {
    const bool is_slow = std::string_view(name).find("o") != std::string_view::npos && *name != 'z';
    records.push_back(fakes::record(name, is_slow ? slow : fakes::right<int>));
    if (*name == 'z') records.back().temp_storage = contents::zeroed_once;
  }
  records.back().ladder = "front_door_of_fakes";
  rules.fast_factor = 8;
  run_few(1);
  std::multiset<std::string> sampled, why;
  for (const row& one : all->found.rows) sampled.insert(std::string(one.record->rung.substr(0, 5)));
  EXPECT_EQ(sampled.size(), 3u);
  EXPECT_EQ(sampled.count("zeros"), 1u);
  EXPECT_EQ(sampled.count("front"), 1u);
  EXPECT_EQ(sampled.count("a") + sampled.count("b"), 1u);
  for (const omission& one : all->found.omissions) why.insert(one.reason.substr(0, 9));
  EXPECT_EQ(why.count("not among"), 2u);
  EXPECT_EQ(all->found.omissions.size(), 3u);
}

// Refuses to read or write anywhere but three items behind an alignment.
template <class T, bool scans, catalog::call_t call>
cudaError_t three_behind(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  const auto is_off = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 != 3 * sizeof(T) % 16; };
  if (workspace != nullptr && (is_off(a.d_in) || (scans && is_off(a.d_out)))) return cudaErrorMisalignedAddress;
  return call(workspace, num_bytes, a, stream);
}

TEST_F(Suite, ItemsBeginAtTheirOffset) {
  records = {fakes::record("sums", three_behind<int, false, fakes::right<int>>),
             a_scan("scans", inclusive, three_behind<int, true, fakes::scan<int, inclusive>>),
             a_histogram("counts", three_behind<std::uint8_t, false, fakes::histogram<std::uint8_t, int>>, scalar::u8)};
  make();
  for (problem& one : plan.problems) one.shape.dimensions.push_back({"offset", 3});
  measure();
  ASSERT_GE(all->found.rows.size(), 3u);
  for (const row& one : all->found.rows) EXPECT_TRUE(one.timed()) << one.record->rung << ": " << one.defect;
}

// --- what does not end
std::atomic<bool> held = false;

// As right(), but waits at 2000 items while it is held.
cudaError_t hangs(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  if (workspace != nullptr && a.num_items == 2000) held.wait(true);
  return fakes::right<int>(workspace, num_bytes, a, stream);
}

TEST_F(Suite, AStepThatDoesNotEndIsNamedAndWhatStandsIsKept) {
  records = {fakes::record("fine", fakes::right<int>), fakes::record("stuck", hangs)};
  wanted.sizes = {1000, 2000};
  make();
  all = std::make_unique<suite>(plan, records, gpu, rules, [] { return false; });
  held = true;
  std::vector<std::string> told;
  findings left;
  watchdog guard(0.25, [&](const std::string& step) {
    told.push_back(step);
    all->give_up("did not end in 0.25 s");
    left = all->found;
    held = false;
    held.notify_all();
  });
  all->guard = &guard;
  for (std::size_t i = 0; i < plan.problems.size(); ++i) all->visit(i);
  guard.rests();
  EXPECT_EQ(told, std::vector<std::string>{"reduce/plus/i32/n=2000/library_baselines/stuck/host, its first calls"});
  EXPECT_FALSE(all->complete());
  for (const row& one : left.rows) {
    EXPECT_EQ(one.about.num_items, 1000u) << "nothing of what was not verified to the end";
    EXPECT_TRUE(one.timed());
  }
  EXPECT_EQ(left.rows.size(), 2 * static_cast<std::size_t>(plan.problems[0].num_items == 1000));
  ASSERT_EQ(left.omissions.size(), 1u);
  EXPECT_EQ(left.omissions[0].record->rung, "stuck");
  EXPECT_EQ(left.omissions[0].num_items, 2000u);
  EXPECT_EQ(left.omissions[0].mode, mode::host);
}

TEST(Watchdog, SleepsWhileNothingIsUnderWayAndWhileStepsGoOn) {
  std::atomic<int> told = 0;
  const auto pass = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  {
    watchdog guard(0.2, [&](const std::string&) { ++told; });
    pass(300);
    guard.begins("a step");
    for (int i = 0; i < 6; ++i, pass(60)) guard.goes_on();
    guard.rests();
    pass(300);
    EXPECT_EQ(told, 0);
    guard.begins("another");
    pass(600);
    EXPECT_EQ(told, 1) << "once";
  }
  watchdog nobody(0, [&](const std::string&) { ++told; });
  nobody.begins("a step");
  pass(50);
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace rungs::bench
