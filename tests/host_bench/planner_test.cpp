#include "planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "check.hpp"
#include "fake_histograms.hpp"
#include "fake_records.hpp"
#include "right_chains.hpp"
#include "right_updates.hpp"
#include "sizes.hpp"

namespace rungs::bench {
namespace {

using catalog::op, catalog::operation, catalog::record, catalog::scalar;
using fakes::does_nothing;

constexpr std::size_t Mi = std::size_t{1} << 20;
constexpr auto handwritten = catalog::family::handwritten, baselines = catalog::family::library_baselines;
constexpr auto even = operation::histogram_even, range = operation::histogram_range,
               multi = operation::multi_histogram_even;

record in_family(record one, catalog::family family, const char* ladder = "fakes") {
  one.family = family;
  one.ladder = ladder;
  return one;
}

// Who answers a question: CUB, two rungs, and of f32, f64, u8 and i32 the front door.
void answer(std::vector<record>& all, record question) {
  using std::string_view;
  for (const char* rung : {"cub_device", "rung", "other", "front_door"}) {
    record one = in_family(question, rung == string_view("cub_device") ? baselines : handwritten);
    one.rung = rung;
    if (rung == string_view("front_door")) {
      const std::set answered = {scalar::f32, scalar::f64, scalar::u8, scalar::i32};
      if (!answered.contains(one.input_type) || one.op == op::minimum || one.num_channels > 1) continue;
      one.ladder = "front_door_of_fakes";
    }
    all.push_back(one);
  }
}

std::vector<record> flat_catalog() {
  const std::pair<scalar, scalar> elements[] = {{scalar::f32, scalar::f32},  {scalar::i32, scalar::i32},
                                                {scalar::f64, scalar::f64},  {scalar::i64, scalar::i64},
                                                {scalar::u64, scalar::u64},  {scalar::u8, scalar::u32},
                                                {scalar::i8, scalar::i32},   {scalar::f16, scalar::f32},
                                                {scalar::bf16, scalar::f32}, {scalar::affine, scalar::affine}};
  std::vector<record> all;
  for (const auto kind : {operation::reduce, operation::inclusive_scan, operation::exclusive_scan}) {
    for (const auto& [input, accumulator] : elements) {
      for (const op combine : {op::plus, op::minimum, op::maximum, op::compose}) {
        if ((input == scalar::affine) != (combine == op::compose)) continue;
        record one = fakes::record("", does_nothing, accumulator, executor::device);
        one.operation = kind;
        one.op = combine;
        one.input_type = input;
        answer(all, one);
      }
    }
  }
  return all;
}

std::vector<record> histogram_catalog() {
  std::vector<record> all;
  for (const scalar type : {scalar::u8, scalar::i8, scalar::u16, scalar::i16, scalar::i32, scalar::u32, scalar::f32,
                            scalar::f64, scalar::f16}) {
    for (const auto kind : {even, range}) {
      answer(all, fakes::a_histogram("", does_nothing, type, scalar::i32, kind, executor::device));
      all.push_back(fakes::a_histogram("host_serial", does_nothing, type, scalar::i32, kind));
    }
  }
  answer(all, fakes::a_histogram("", does_nothing, scalar::u8, scalar::i32, multi, executor::device));
  return all;
}

std::vector<record> rows_catalog() {
  std::vector<record> all;
  for (const scalar type : {scalar::f32, scalar::i32, scalar::f16}) {
    record one = fakes::of_rows(fakes::record("", does_nothing, type, executor::device));
    if (type == scalar::f16) one.accumulator_type = one.output_type = scalar::f32;
    answer(all, one);
  }
  return all;
}

std::vector<record> norms_catalog() {
  return {fakes::of_norms(fakes::record("rung", does_nothing, scalar::f32, executor::device))};
}

// CUB and a rung for every type, and the host for floats; as(record) says what they do.
template <class As>
std::vector<record> catalog_of(As as, std::initializer_list<scalar> types) {
  std::vector<record> all;
  for (const scalar type : types)
    for (const char* rung : {"rung", "cub_device"})
      all.push_back(as(fakes::record(rung, does_nothing, type, executor::device)));
  all.push_back(as(fakes::record("host_serial", does_nothing, scalar::f32)));
  return all;
}
std::vector<record> dots_catalog() { return catalog_of(fakes::of_pairs, {scalar::f32, scalar::f64}); }
std::vector<record> selections_catalog() { return catalog_of(fakes::of_selections, {scalar::f32, scalar::i32}); }
std::vector<record> top_k_catalog() { return catalog_of(fakes::of_top_k, {scalar::f32, scalar::i32}); }

std::vector<record> places_catalog() {
  std::vector<record> all;
  for (const scalar type : {scalar::f32, scalar::i32})
    for (const op which : {op::minimum, op::maximum, op::both})
      for (const char* rung : {"rung", "cub_device"})
        all.push_back(fakes::of_places(fakes::record(rung, does_nothing, type, executor::device), which));
  all.push_back(fakes::of_places(fakes::record("host_serial", does_nothing, scalar::f32)));
  return all;
}

std::vector<record> atomics_catalog() {
  std::vector<record> all;
  for (const auto& [which, type] : {std::pair{op::plus, scalar::u32}, std::pair{op::plus, scalar::bf16x2},
                                    std::pair{op::maximum, scalar::f32}, std::pair{op::maximum, scalar::u64}})
    all.push_back(fakes::an_update("global", does_nothing, which, type, executor::device));
  return all;
}

std::vector<record> chain_catalog() {
  std::vector<record> all = {
      fakes::a_chain<operation::collective_reduce, op::plus, scalar::f32>("all_groups", executor::device),
      fakes::a_chain<operation::barrier>("one_block", executor::device),
      fakes::a_chain<operation::barrier>("many_blocks", executor::device)};
  all[1].takes_group = [](std::size_t blocks, std::size_t) { return blocks == 1; };
  all[2].takes_group = [](std::size_t blocks, std::size_t) { return blocks > 1; };
  all[2].max_items = 100;
  return all;
}

std::vector<record> operator+(std::vector<record> all, const std::vector<record>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Something of everything: sums and extremes on the host, and what enters no grid and a roof, which is in no plan.
std::vector<record> a_catalog() {
  auto all = flat_catalog() + histogram_catalog() + rows_catalog() + norms_catalog() + dots_catalog() +
             places_catalog() + selections_catalog() + top_k_catalog() + atomics_catalog() + chain_catalog();
  for (const op combine : {op::plus, op::minimum}) {
    all.push_back(fakes::record("host_serial", does_nothing, scalar::f32));
    all.back().op = combine;
  }
  const auto on_device = [](const char* rung) {
    return fakes::record(rung, does_nothing, scalar::f32, executor::device);
  };
  all.push_back(in_family(on_device("vector_loads_128x2"), handwritten, "launch_sweep"));
  all.push_back(in_family(on_device("host_finish"), handwritten, "reductions"));
  all.back().waits_for_host = true;
  all.push_back(on_device("stream_read"));
  all.back().operation = operation::stream_read;
  return all;
}

device_facts a_gpu() {
  device_facts gpu;
  gpu.name = "a GPU";
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  gpu.l2_bytes = 60 * Mi;
  gpu.memory_bytes = gpu.free_bytes = std::size_t{140} << 30;
  return gpu;
}

// "reduce/plus/f32", "histogram_even/u8/bins=256/uniform".
std::string cell_of(const std::string& case_name) { return case_name.substr(0, case_name.find("/n=")); }

struct Planner : ::testing::Test {
  std::vector<record> records = a_catalog();
  selection wanted;
  std::optional<device_facts> gpu = a_gpu();

  run_plan plan() const { return make_plan(records, wanted, gpu, "none here"); }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& one : plan().cases) all.insert(one.name);
    return all;
  }
  std::set<std::string> cells() const {
    std::set<std::string> all;
    for (const auto& one : plan().cases) all.insert(cell_of(one.name));
    return all;
  }
  std::map<std::string, int> reasons() const {
    std::map<std::string, int> all;
    for (const auto& one : plan().omissions) ++all[one.reason];
    return all;
  }
};

// The modes and sizes of cells in the order of visits; * where every rung is measured. Neighbours that have the same
// share a line.
std::string to_text(const run_plan& plan) {
  std::vector<std::string> cells;
  std::map<std::string, std::vector<std::pair<std::string_view, std::string>>> sizes;  // by mode
  for (const problem& one : plan.problems) {
    for (const mode how : one.modes) {
      const auto cell = cell_of(case_name(one, *one.contenders.front(), how));
      if (!sizes.contains(cell)) cells.push_back(cell);
      auto& modes = sizes[cell];
      auto of_mode = std::ranges::find(modes, name(how), [](const auto& each) { return each.first; });
      if (of_mode == modes.end()) of_mode = modes.insert(of_mode, {name(how), ""});
      of_mode->second += " " + format_size(one.num_items) + (one.every_rung ? "*" : "");
    }
  }
  std::string text, last;
  for (const auto& cell : cells) {
    std::string told;
    for (const auto& [how, of_mode] : sizes[cell]) told += (told.empty() ? "" : ", ") + std::string(how) + of_mode;
    if (told != last) text += (text.empty() ? "" : "\n") + told + ":";
    text += " " + cell;
    last = told;
  }
  return text + "\n";
}

// Four plans of this catalog stand in a file, --full and the grid of histograms in part. RUNGS_WRITE_PLANS=1 writes it
// anew: read what changed.
TEST_F(Planner, PlansAreThoseOfTheFile) {
  const std::pair<const char*, selection> plans[] = {
      {"default", {}},
      {"full",
       {.filter = "scan/(compose|maximum/u8)|histogram_even/f16/bins=(256|4096)/|histogram_range/u32/bins=1048576|"
                  "atomics/maximum/u64|barrier",
        .full = true}},
      {"held_out", {.grid = grid::held_out}},
      {"histograms", {.filter = "/(u8|i32|f16)/", .grid = grid::histograms}}};
  std::string text;
  for (const auto& [name, selected] : plans) {
    wanted = selected;
    text += "[" + std::string(name) + "]\n" + to_text(plan());
  }
  if (std::getenv("RUNGS_WRITE_PLANS") != nullptr) std::ofstream(RUNGS_PLANS) << text;
  std::ifstream file(RUNGS_PLANS);
  std::istringstream found(text);
  for (std::string expected_line, line; std::getline(file, expected_line);) {
    std::getline(found, line);
    ASSERT_EQ(line, expected_line);
  }
  EXPECT_EQ(found.peek(), std::istringstream::traits_type::eof());
}

TEST_F(Planner, NamesSayEverything) {
  const auto all = names();
  for (const char* name :
       {"reduce/plus/f32/n=16Mi/handwritten/rung/cold",
        "reduce/plus/f32/n=1Ki/library_baselines/host_serial/host",
        "exclusive_scan/plus/i32/n=64Ki/library_baselines/cub_device/cold",
        "inclusive_scan/compose/affine/n=4Ki/handwritten/rung/cold",
        "inclusive_scan/plus/u8:u32/n=256Mi/handwritten/rung/cold",
        "histogram_range/f32/bins=4096/uniform/n=1Mi/handwritten/rung/cold",
        "multi_histogram_even/u8/bins=256/channels=4/active=3/constant/n=256Mi/handwritten/rung/cold",
        "row_reduce/plus/f32/rows=65536/columns=2048/uniform/n=128Mi/handwritten/front_door/cold",
        "row_reduce/plus/f32/rows=19/columns=2048/uniform/n=38Ki/library_baselines/cub_device/graph",
        "row_reduce/plus/f16:f32/rows=16/columns=1048576/uniform/n=16Mi/handwritten/rung/cold",
        "dot/plus/f32/n=1Gi/library_baselines/cub_device/cold",
        "dot/plus/f32/n=64Ki/library_baselines/rung/graph",
        "dot/plus/f64/n=256Mi/library_baselines/rung/cold",
        "dot/plus/f32/n=16Mi/library_baselines/host_serial/host",
        "arg_extremum/minimum/f32/n=1Gi/library_baselines/cub_device/cold",
        "arg_extremum/maximum/i32/n=256Mi/library_baselines/rung/cold",
        "arg_extremum/minimum/f32/n=16Mi/library_baselines/host_serial/host",
        "select_if/f32/percent=50/uniform/n=64Mi/library_baselines/cub_device/cold",
        "select_if/f32/percent=1/uniform/n=256Mi/library_baselines/rung/cold",
        "select_if/i32/percent=50/uniform/n=16Mi/library_baselines/rung/cold",
        "top_k/f32/rows=64/columns=131072/k=1024/uniform/n=8Mi/library_baselines/cub_device/cold",
        "top_k/f32/rows=256/columns=256/k=8/uniform/n=64Ki/library_baselines/host_serial/host",
        "top_k/i32/rows=64/columns=131072/k=64/uniform/n=8Mi/library_baselines/rung/cold",
        "barrier/u32/blocks=1/threads=1024/uniform/n=16Ki/handwritten/one_block/cold",
        "barrier/u32/blocks=16/threads=256/uniform/n=16/handwritten/many_blocks/graph"})
    EXPECT_TRUE(all.contains(name)) << name;
  for (const char* name : {"barrier/u32/blocks=16/threads=256/uniform/n=16/handwritten/one_block/cold",
                           "barrier/u32/blocks=1/threads=256/uniform/n=16Ki/handwritten/many_blocks/cold"})
    EXPECT_FALSE(all.contains(name)) << name;
}

TEST_F(Planner, EachCaseOnceAndGroupedByProblem) {
  const auto planned = plan();
  EXPECT_EQ(names().size(), planned.cases.size());
  EXPECT_TRUE(std::ranges::is_sorted(planned.cases, {}, &bench_case::problem));
  for (const auto& one : planned.cases) {
    const auto& about = planned.problems[one.problem];
    EXPECT_EQ(one.name, case_name(about, *one.record, one.mode));
    EXPECT_TRUE(std::ranges::count(about.modes, one.mode));
  }
}

TEST_F(Planner, WarmAndGraphEndAtFourCaches) {
  const auto planned = plan();
  for (const auto& one : planned.cases) {
    const bool in_cache = one.mode == mode::warm || one.mode == mode::graph;
    EXPECT_TRUE(!in_cache || planned.problems[one.problem].input_bytes() <= 240 * Mi) << one.name;
  }
  wanted = {.filter = "^reduce", .modes = {mode::warm}, .sizes = {256 * Mi}, .types = {"f32"}};
  EXPECT_TRUE(plan().cases.empty());
  for (const auto& [reason, times] : reasons()) EXPECT_NE(reason.find("L2 cache"), std::string::npos) << reason;
  EXPECT_FALSE(reasons().empty());
}

TEST_F(Planner, HostBaselinesEndAtSixteenMi) {
  for (const auto& one : plan().problems) EXPECT_TRUE(!one.on_host || one.num_items <= largest_host_items);
}

TEST_F(Planner, FiltersSearchTheNameAndBringCubAlong) {
  wanted.filter = "reduce/(plus|minimum)/f32/n=16Mi/handwritten/rung/cold";
  const auto planned = plan();
  EXPECT_EQ(planned.cases.size(), 2u * 2);
  for (const auto& one : planned.cases) EXPECT_EQ(one.record->rung, one.asked_for ? "rung" : "cub_device");
}

TEST_F(Planner, RefusesWhatItCannotAnswer) {
  const selection refused[] = {{.filter = "no_such_rung"},
                               {.filter = "("},
                               {.types = {"f128"}},
                               {.sizes = {std::size_t{1} << 40}},
                               {.filter = "atomics", .bins = {256}},
                               {.types = {"u8"}, .distributions = {distribution::out_of_range}}};
  for (const selection& one : refused) {
    wanted = one;
    EXPECT_THROW(plan(), usage_error) << one.filter;
  }
}

TEST_F(Planner, WhatDoesNotFitIsLeftOutWithAReasonOrRefused) {
  gpu->free_bytes = std::size_t{2} << 30;
  for (const auto& one : plan().problems) EXPECT_LE(one.input_bytes(), std::size_t{1} << 30);
  EXPECT_TRUE(reasons().contains("1Gi items do not fit the memory of a GPU"));
  // Half of what is left of 4 GiB is 1.6 GiB: 256 Mi floats fit with their sum; 256 Mi bytes with as many sums of 4
  // bytes still do, and a roof that widens them takes no more; doubles and what is twice as many do not.
  gpu->free_bytes = std::size_t{4} << 30;
  std::map<std::string, std::size_t> largest;
  const auto planned = plan();
  for (const auto& one : planned.cases) {
    auto& most = largest[cell_of(one.name)];
    most = std::max(most, planned.problems[one.problem].num_items);
  }
  EXPECT_EQ(largest["reduce/plus/f32"], 256 * Mi);
  EXPECT_EQ(largest["inclusive_scan/plus/u8:u32"], 256 * Mi);
  EXPECT_EQ(largest["inclusive_scan/plus/f64"], 16 * Mi);
  EXPECT_EQ(largest["inclusive_scan/plus/f32"], 256 * Mi);
  wanted = {.filter = "inclusive", .sizes = {512 * Mi}, .types = {"u8"}};
  EXPECT_THROW(plan(), usage_error);
}

TEST_F(Planner, WhatARecordDoesNotTakeIsLeftOutWithAReason) {
  for (record& one : records) {
    const bool histogram = catalog::is_histogram(one.operation);
    if (one.rung == "rung" && !histogram) one.min_cc = 100;
    if (one.rung == "rung" && histogram) one.max_bins = 4096;
    if (one.rung == "other" && one.operation == operation::reduce) one.max_items = Mi;
    if (one.rung == "other" && one.operation == operation::inclusive_scan) one.waits_for_host = true;
  }
  const auto planned = plan();
  for (const auto& one : planned.cases) {
    const problem& about = planned.problems[one.problem];
    const bool rung = one.record->rung == "rung", other = one.record->rung == "other";
    EXPECT_FALSE(rung && !catalog::is_histogram(about.operation)) << one.name;
    EXPECT_FALSE(rung && about.shape["bins"] > 4096) << one.name;
    EXPECT_FALSE(other && about.operation == operation::reduce && about.num_items > Mi) << one.name;
    EXPECT_FALSE(other && about.operation == operation::inclusive_scan && one.mode == mode::graph) << one.name;
  }
  for (const omission& one : planned.omissions) {
    if (one.reason == "takes at most 4096 bins") {
      EXPECT_GT(one.shape["bins"], 4096u);
    }
  }
  auto why = reasons();
  EXPECT_GT(why["takes at most 4096 bins"], 20);
  for (const char* reason : {"needs compute capability 100; this GPU has 90", "takes at most 1048576 items",
                             "waits for the host, so it cannot be captured in a graph"})
    EXPECT_TRUE(why.contains(reason)) << reason;
}

TEST_F(Planner, AtomicsOnTooManyAddressesOrTooFewAreLeftOutWithAReason) {
  records = atomics_catalog();
  records[0].max_addresses = 4096;
  records.push_back(records[0]);
  records[4].max_addresses = ~0u;
  records[4].max_operations_per_address = 1024;
  wanted.sizes = {1 << 20};
  EXPECT_EQ(reasons(),
            (std::map<std::string, int>{{"takes at most 4096 addresses", 8},
                                        {"more than 1024 operations an address would take seconds or minutes", 10}}));
}

TEST_F(Planner, TopKOfTooManyOrOfTooLongRowsIsLeftOutWithAReason) {
  records = top_k_catalog();
  records[0].max_k = 64;
  records[0].max_columns = 1 << 22;
  const auto why = reasons();
  EXPECT_EQ(why, (std::map<std::string, int>{{"takes k to 64", 5}, {"takes at most 4194304 columns", 1}}));
}

TEST_F(Planner, WithoutAGpuTheHostBaselinesRemainAndTheRestIsNamed) {
  gpu.reset();
  const auto planned = plan();
  EXPECT_FALSE(planned.cases.empty());
  for (const auto& one : planned.problems) EXPECT_TRUE(one.on_host);
  std::set<const record*> named;
  for (const auto& one : planned.omissions) {
    if (one.reason.find("none here") != std::string::npos) named.insert(one.record);
  }
  gpu = a_gpu();
  std::set<const record*> on_device;
  const auto with_gpu = plan();
  for (const auto& one : with_gpu.cases)
    if (one.mode != mode::host) on_device.insert(one.record);
  EXPECT_EQ(named, on_device);
}

TEST_F(Planner, ShardsPartitionTheRun) {
  records = flat_catalog();
  wanted.full = true;
  const auto whole = names();
  std::set<std::string> joined;
  std::size_t total = 0;
  for (int shard = 1; shard <= 3; ++shard) {
    wanted.shard = shard;
    wanted.num_shards = 3;
    const auto part = names();
    total += part.size();
    joined.insert(part.begin(), part.end());
  }
  EXPECT_EQ(joined, whole);
  EXPECT_EQ(total, whole.size());
}

TEST_F(Planner, DirtyIsAddedOnRequest) {
  const std::string line = "reduce/plus/f32/n=16Mi/handwritten/rung/";
  EXPECT_FALSE(names().contains(line + "dirty"));
  wanted.dirty_flush = true;
  EXPECT_TRUE(names().contains(line + "dirty"));
  EXPECT_TRUE(names().contains(line + "cold"));
}

TEST_F(Planner, GivenSizesMeasureEveryRung) {
  wanted.sizes = {1000};
  for (const auto& one : plan().problems) EXPECT_TRUE(one.every_rung && one.num_items == 1000);
  wanted = {.types = {"affine"}};
  for (const auto& one : plan().problems) EXPECT_EQ(one.input_type, scalar::affine);
}

TEST_F(Planner, BinsAndDistributionsCanBeAskedFor) {
  const std::string line = "histogram_even/i32/bins=100/";
  wanted = {.filter = "histogram_even.*/cold", .types = {"i32"}, .bins = {100}};
  EXPECT_EQ(cells(), (std::set{line + "uniform", line + "constant", line + "eight_hot", line + "zipf"}));
  wanted.distributions = {distribution::runs};
  EXPECT_EQ(to_text(plan()), "cold 1Mi 16Mi 256Mi: " + line + "runs\n");
  wanted.sizes = {5000};
  EXPECT_EQ(to_text(plan()), "cold 5000*: " + line + "runs\n");
  wanted = {.types = {"i32"}, .distributions = {distribution::zipf}};
  for (const auto& one : plan().problems) EXPECT_EQ(one.distribution, distribution::zipf);
  EXPECT_TRUE(cells().contains("histogram_even/i32/bins=4096/zipf"));
}

TEST_F(Planner, WhatHasNoBinsIsLeftOutWhereBinsAreAskedFor) {
  const auto only_histograms = [&] {
    return std::ranges::all_of(plan().problems,
                               [](const problem& one) { return catalog::is_histogram(one.operation); });
  };
  wanted = {.bins = {256}};
  EXPECT_TRUE(only_histograms());
  wanted = {.distributions = {distribution::zipf}};
  EXPECT_TRUE(only_histograms());
  wanted = {.distributions = {distribution::uniform}};
  EXPECT_FALSE(only_histograms());
}

// Of a thousand items: what is read and written, what ceilings go by, what the two buffers hold for the calls and the
// roofs, and which roofs bound it.
struct measures {
  problem about;
  std::array<std::size_t, 4> bytes;
  std::vector<operation> roofs;
};
problem a_problem(operation kind, scalar input, scalar output, shape of = {}) {
  return {.operation = kind, .input_type = input, .output_type = output, .num_items = 1000, .shape = std::move(of)};
}
constexpr auto scan = operation::inclusive_scan;
const shape of_rows{{{"rows", 20}, {"columns", 50}}};
const shape of_top_k{{{"rows", 20}, {"columns", 50}, {"k", 4}}};
const shape half{{{"percent", 50}}};
const shape pixels{{{"bins", 256}, {"channels", 4}, {"active", 3}}}, offset{{{"offset", 3}}};
const measures all_measures[] = {
    {a_problem(scan, scalar::f32, scalar::f32), {8000, 8000, 4000, 4000}, {operation::copy}},
    // Widening takes what the scan takes.
    {a_problem(scan, scalar::u8, scalar::u32), {5000, 5000, 1000, 4000}, {operation::widen_bytes}},
    {a_problem(scan, scalar::bf16, scalar::f32), {6000, 6000, 2000, 4000}, {operation::widen_halves}},
    // Copying 10000 bytes reads more than the 2000 of the input.
    {a_problem(scan, scalar::bf16, scalar::f64), {10000, 10000, 5000, 10000}, {operation::copy, operation::fill}},
    {a_problem(operation::reduce, scalar::u8, scalar::u32), {1004, 1000, 1000, 1000}, {operation::stream_read}},
    // A value a row is written.
    {a_problem(operation::row_reduce, scalar::f16, scalar::f32, of_rows),
     {2080, 2000, 2000, 80},
     {operation::stream_read}},
    // Of norms a row of weights is read, and as much written as read. Memory holds as many second items as first ones.
    {a_problem(operation::row_norm, scalar::f32, scalar::f32, of_rows), {8200, 8200, 8256, 4100}, {operation::copy}},
    // Of pairs both items are read. Buffers hold a gap between the first and the second ones.
    {a_problem(operation::dot, scalar::i8, scalar::i32), {2004, 2000, 2256, 4}, {operation::stream_read}},
    // A place is two words.
    {a_problem(operation::arg_extremum, scalar::f32, scalar::i64), {4016, 4000, 4000, 16}, {operation::stream_read}},
    // Columns and items of k results a row.
    {a_problem(operation::top_k, scalar::f32, scalar::u32, of_top_k),
     {4640, 4000, 4000, 640},
     {operation::stream_read}},
    // Half of the items are written. Buffers have room for all of them, and for the count.
    {a_problem(operation::select_if, scalar::f32, scalar::f32, half),
     {6000, 6000, 6000, 4016},
     {operation::copy, operation::stream_read}},
    // The counters of all channels are written; the roof reads the samples.
    {a_problem(multi, scalar::u8, scalar::u32, pixels), {4072, 1000, 1000, 3072}, {operation::stream_read}},
    // Buffers hold what is left out in front; what widens writes as much as its roof does.
    {a_problem(scan, scalar::u8, scalar::u32, offset), {5000, 5000, 1003, 4012}, {operation::widen_bytes}},
    {a_problem(scan, scalar::u8, scalar::u8, offset), {2000, 2000, 1003, 1003}, {operation::copy}}};

struct Problem : ::testing::TestWithParam<measures> {};

TEST_P(Problem, BuffersHoldCallsAndRoofs) {
  const auto& [about, bytes, roofs] = GetParam();
  const std::array found = {about.bytes(), about.footprint(), about.input_buffer_bytes(), about.output_buffer_bytes()};
  EXPECT_EQ(found, bytes);
  EXPECT_EQ(bounding_roofs(about), roofs);
  if (about.operation != operation::reduce) {
    EXPECT_EQ(measured_roofs(about), roofs);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Problem, ::testing::ValuesIn(all_measures));

TEST_F(Planner, ChainsReadNothingAndAreBoundByNothing) {
  records = chain_catalog();
  const auto planned = plan();
  std::set<std::size_t> blocks;
  for (const problem& one : planned.problems) {
    const bool barrier = one.operation == operation::barrier;
    EXPECT_EQ(one.input_bytes(), 0u);
    EXPECT_TRUE(bounding_roofs(one).empty());
    EXPECT_EQ(one.output_bytes(), barrier ? 4 * one.shape["blocks"] * one.shape["threads"] : 4u);
    if (barrier) blocks.insert(one.shape["blocks"]);
  }
  EXPECT_EQ(blocks, (std::set<std::size_t>{1, 2, 4, 8, 16, 132, 264, 1056}));
  for (const auto& [reason, times] : reasons()) EXPECT_EQ(reason, "takes at most 100 items");
}

struct Grids : Planner {
  using numbers = std::set<std::size_t>;
  // Sizes by operation, or another number of the shape.
  std::map<operation, numbers> numbers_of(const char* axis = nullptr) const {
    std::map<operation, numbers> all;
    for (const auto& one : plan().problems)
      if (!one.on_host) all[one.operation].insert(axis != nullptr ? one.shape[axis] : one.num_items);
    return all;
  }
};

// But for rows, where it goes by no table.
TEST_F(Grids, HeldOutIsWhatTheFrontDoorAnswers) {
  using asked = std::tuple<operation, op, scalar>;
  std::set<asked> answered, planned;
  for (const auto& one : records) {
    if (is_front_door(one) && one.operation != operation::row_reduce)
      answered.insert({one.operation, one.op, one.input_type});
  }
  wanted.grid = grid::held_out;
  for (const auto& one : plan().problems) {
    planned.insert({one.operation, one.op, one.input_type});
    EXPECT_EQ(one.modes, std::vector{mode::cold});
    EXPECT_FALSE(one.every_rung);
    EXPECT_EQ(one.most_rungs, 3u);
    EXPECT_TRUE(std::ranges::any_of(one.contenders, [](auto* of) { return is_front_door(*of); }));
    for (const auto* of : one.contenders) {
      EXPECT_TRUE(is_cub(*of) || of->family == handwritten) << of->rung;
      EXPECT_FALSE(of->ladder == "launch_sweep" || of->waits_for_host) << of->rung;
    }
  }
  EXPECT_EQ(planned, answered);
}

TEST_F(Grids, HeldOutSizesAndBinsAreInNoOtherPlan) {
  wanted.grid = grid::held_out;
  auto held_out = numbers_of(), held_out_bins = numbers_of("bins");
  EXPECT_EQ(held_out.size(), 5u);
  for (const selection& other : {selection{}, selection{.full = true}, selection{.grid = grid::histograms}}) {
    wanted = other;
    auto others = numbers_of(), other_bins = numbers_of("bins");
    for (const auto& [kind, sizes] : held_out) {
      EXPECT_GE(sizes.size(), 3u);
      for (const std::size_t size : sizes) EXPECT_FALSE(others[kind].contains(size)) << name(kind) << ' ' << size;
      if (!catalog::is_histogram(kind)) continue;
      for (const std::size_t bins : held_out_bins[kind]) EXPECT_FALSE(other_bins[kind].contains(bins)) << bins;
    }
  }
}

TEST_F(Grids, HeldOutItemsBeginOffAnAlignmentToo) {
  wanted.grid = grid::held_out;
  EXPECT_TRUE(names().contains("reduce/plus/f64/offset=3/uniform/n=768Ki/handwritten/front_door/cold"));
  EXPECT_TRUE(names().contains("histogram_even/u8/bins=200/offset=1/zipf/n=12582917/handwritten/front_door/cold"));
  auto offsets = numbers_of("offset");
  for (const auto kind : {operation::reduce, operation::inclusive_scan, even})
    EXPECT_EQ(offsets[kind], (numbers{0, 1, 3})) << name(kind);
}

TEST_F(Grids, TheGridOfHistogramsIsWholeOrOfSomeDistributions) {
  wanted.grid = grid::histograms;
  EXPECT_EQ(plan().problems.size(), 1036u);
  wanted = {.distributions = {distribution::zipf}, .grid = grid::histograms};
  for (const auto& one : plan().problems) EXPECT_EQ(one.distribution, distribution::zipf);
}

}  // namespace
}  // namespace rungs::bench
