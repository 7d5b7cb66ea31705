#include "planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

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

record in_family(record one, catalog::family family) {
  one.family = family;
  return one;
}

struct element {
  scalar input, accumulator;
};

// A variant of reductions and scans: f32 and i32, and where it is wide every type.
void enrol(std::vector<record>& all, const char* rung, catalog::family family, bool wide) {
  std::vector<element> elements = {{scalar::f32, scalar::f32}, {scalar::i32, scalar::i32}};
  const std::vector<element> others = {{scalar::f64, scalar::f64},  {scalar::i64, scalar::i64},
                                       {scalar::u64, scalar::u64},  {scalar::u8, scalar::u32},
                                       {scalar::i8, scalar::i32},   {scalar::f16, scalar::f32},
                                       {scalar::bf16, scalar::f32}, {scalar::affine, scalar::affine}};
  if (wide) elements.insert(elements.end(), others.begin(), others.end());
  for (const auto kind : {operation::reduce, operation::inclusive_scan, operation::exclusive_scan}) {
    const bool scan = catalog::is_scan(kind);
    for (const element of : elements) {
      for (const op combine : {op::plus, op::minimum, op::maximum, op::compose}) {
        if ((of.input == scalar::affine) != (combine == op::compose) || (combine == op::compose && !scan)) continue;
        if (scan && (combine == op::minimum || (combine == op::maximum && !wide))) continue;
        record one = in_family(fakes::record(rung, does_nothing, of.accumulator, executor::device), family);
        one.operation = kind;
        one.op = combine;
        one.input_type = of.input;
        all.push_back(one);
      }
    }
  }
}

std::vector<record> flat_catalog(int rungs, int wide_rungs, int num_baselines, int wide_baselines) {
  static const char* const names[] = {
      "cub_device_a", "cub_device_b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
  std::vector<record> all;
  for (int i = 0; i < num_baselines; ++i) enrol(all, names[i], baselines, i < wide_baselines);
  for (int i = 0; i < rungs; ++i) enrol(all, names[2 + i], handwritten, i < wide_rungs);
  return all;
}

// Fast rungs for every type, the classic ones for three.
std::vector<record> histogram_catalog() {
  const std::vector<scalar> classic = {scalar::u8, scalar::i32, scalar::f32};
  const std::vector<scalar> every = {scalar::u8,  scalar::i8,  scalar::u16, scalar::i16, scalar::i32,
                                     scalar::u32, scalar::f32, scalar::f64, scalar::f16};
  std::vector<record> all;
  const auto add = [&](const char* rung, const std::vector<scalar>& types, const std::vector<operation>& kinds,
                       catalog::family family, executor where = executor::device) {
    for (const scalar type : types)
      for (const operation kind : kinds)
        all.push_back(in_family(fakes::a_histogram(rung, does_nothing, type, scalar::i32, kind, where), family));
  };
  add("cub_device_histogram", every, {even, range}, baselines);
  add("cub_device_histogram_expert", every, {even}, baselines);
  add("cub_device_multi_histogram", {scalar::u8}, {multi}, baselines);
  add("thrust_histogram", {scalar::u8, scalar::i32}, {even, range}, baselines);
  add("host_serial_histogram", every, {even, range}, baselines, executor::host);
  for (const char* rung : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) add(rung, classic, {even}, handwritten);
  for (const char* rung : {"10", "11", "12", "13"}) add(rung, every, {even, range}, handwritten);
  add("10", {scalar::u8}, {multi}, handwritten);
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

// Something of everything: sums and extremes on the host, and a roof, which is in no plan.
std::vector<record> a_catalog() {
  auto all = flat_catalog(4, 2, 3, 2) + histogram_catalog() + atomics_catalog() + chain_catalog();
  for (const op combine : {op::plus, op::minimum}) {
    all.push_back(fakes::record("host_serial", does_nothing, scalar::f32));
    all.back().op = combine;
  }
  all.push_back(fakes::record("stream_read", does_nothing, scalar::f32, executor::device));
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
  // "1Mi 16Mi" by cell.
  std::map<std::string, std::string> sizes(mode how = mode::cold) const {
    std::map<std::string, std::set<std::size_t>> numbers;
    const auto planned = plan();
    for (const auto& one : planned.cases)
      if (one.mode == how) numbers[cell_of(one.name)].insert(planned.problems[one.problem].num_items);
    std::map<std::string, std::string> all;
    for (const auto& [cell, of] : numbers)
      for (const std::size_t size : of) all[cell] += (all[cell].empty() ? "" : " ") + format_size(size);
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

std::string powers(int step) {
  std::string all;
  for (int exponent = 10; exponent <= 30; exponent += step)
    all += (all.empty() ? "" : " ") + format_size(std::size_t{1} << exponent);
  return all;
}
const std::string swept =
                      "1000 1Ki 2Ki 4Ki 8Ki 16Ki 32Ki 64Ki 100000 128Ki 256Ki 512Ki 1Mi 2Mi 4Mi 8Mi 10000019 16Mi "
                      "16777217 32Mi 64Mi 128Mi 256Mi 512Mi 1Gi",
                  every_second = powers(2), several = "4Ki 16Ki 64Ki 1Mi 16Mi 256Mi", two = "1Mi 16Mi",
                  spotted = "64Ki 1Mi 16Mi", three = "1Mi 16Mi 256Mi", four = "64Ki 1Mi 16Mi 256Mi",
                  eight = "1Ki 4Ki 64Ki 256Ki 1Mi 4Mi 16Mi 256Mi", nothing = "";

// "a/{b,c}" is a/b and a/c.
std::vector<std::string> expanded(const std::string& cells) {
  const auto open = cells.find('{'), close = cells.find('}');
  if (open == cells.npos) return {cells};
  std::vector<std::string> all;
  for (auto from = open + 1; from <= close;) {
    const auto to = std::min(cells.find(',', from), close);
    const auto one = expanded(cells.substr(0, open) + cells.substr(from, to - from) + cells.substr(close + 1));
    all.insert(all.end(), one.begin(), one.end());
    from = to + 1;
  }
  return all;
}

TEST_F(Planner, NamesSayEverything) {
  const auto all = names();
  for (const char* name :
       {"reduce/plus/f32/n={16Mi,16777217}/{handwritten/c,library_baselines/cub_device_a}/cold",
        "reduce/plus/f32/n=1Ki/library_baselines/host_serial/host",
        "exclusive_scan/plus/i32/n=64Ki/library_baselines/cub_device_a/cold",
        "inclusive_scan/{compose/affine/n=4Ki,plus/f32/n=16Mi,plus/u8:u32/n=256Mi}/handwritten/c/cold",
        "histogram_even/u8/bins=256/uniform/n={16Mi/handwritten/3/cold,1Mi/library_baselines/host_serial_histogram/"
        "host}",
        "histogram_even/i32/bins=65536/zipf/n=64Ki/library_baselines/cub_device_histogram/cold",
        "histogram_range/f32/bins=4096/uniform/n=1Mi/handwritten/10/cold",
        "multi_histogram_even/u8/bins=256/channels=4/active=3/constant/n=256Mi/handwritten/10/cold",
        "barrier/u32/blocks=1/threads=1024/uniform/n=16Ki/handwritten/one_block/cold",
        "barrier/u32/blocks=16/threads=256/uniform/n=16/handwritten/many_blocks/graph"})
    for (const auto& one : expanded(name)) EXPECT_TRUE(all.contains(one)) << one;
  for (const char* name : {"barrier/u32/blocks=16/threads=256/uniform/n=16/handwritten/one_block/cold",
                           "barrier/u32/blocks=1/threads=256/uniform/n=16Ki/handwritten/many_blocks/cold"})
    EXPECT_FALSE(all.contains(name)) << name;
}

// At which sizes the default suite has these cells.
struct measured {
  const char* cells;
  std::string sizes;
  bool cold = true;  // else in the modes warm and graph
};
const measured the_default_suite[] = {
    // Sums of floats are swept, the others spotted.
    {"{reduce,inclusive_scan}/plus/f32", swept},
    {"{reduce,inclusive_scan}/plus/i32", every_second},
    {"reduce/plus/{f64,u8:u32,bf16:f32}", eight},
    {"reduce/minimum/f32", spotted},
    {"reduce/minimum/f64", two},
    {"exclusive_scan/plus/{f32,i32}", four},
    {"inclusive_scan/{compose/affine,plus/f64,plus/i64,plus/u64,plus/u8:u32,plus/i8:i32,plus/f16:f32,plus/bf16:f32}",
     several},
    {"inclusive_scan/maximum/{f32,f64,i64,u64,u8:u32,i8:i32,f16:f32,bf16:f32}", two},
    {"exclusive_scan/plus/{f64,i64,u64,u8:u32,i8:i32,f16:f32,bf16:f32}", nothing},
    // 4 bytes read and 4 written pass four caches of 60 MiB beyond 16 Mi items; 4 bytes read beyond 60 Mi.
    {"{reduce,inclusive_scan}/plus/f32", "1Ki 16Ki 64Ki 1Mi 4Mi 16Mi", false},
    {"reduce/plus/i32", two, false},
    {"{inclusive_scan/plus/i32,exclusive_scan/plus/f32,inclusive_scan/plus/f64}", nothing, false},

    // Histograms: the headlines at four sizes with four distributions, the rest spotted.
    {"histogram_even/{u8,i32,f32}/bins=256/{uniform,constant,eight_hot,zipf}", four},
    {"histogram_even/i32/bins={4096,16384,65536}/{uniform,constant,eight_hot,zipf}", four},
    {"histogram_even/{u8,i32,f32}/bins=256/{sorted,runs}", "16Mi"},
    {"histogram_even/i32/bins={4096,16384,65536}/{sorted,runs,out_of_range}", "16Mi"},
    {"histogram_even/{i32,f32}/bins=256/out_of_range", "16Mi"},
    {"histogram_even/u8/bins=256/out_of_range", nothing},  // no byte lies outside of [0, 256)
    {"histogram_even/{i8/bins=256,f16/bins=256,u16/bins=65536,f64/bins=4096}/uniform", spotted},
    {"histogram_even/{i8/bins=256,f16/bins=256,u16/bins=65536,f64/bins=4096}/eight_hot", two},
    {"histogram_even/{i8/bins=256,f16/bins=256,u16/bins=65536,f64/bins=4096}/zipf", nothing},
    {"histogram_even/i32/bins={2,64,1000,1048576}/constant", three},
    {"histogram_even/f32/bins={2,64,1000,1048576}/constant", nothing},
    {"multi_histogram_even/u8/bins=256/channels=4/active=3/constant", three},
    {"histogram_range/{i32/bins=256,f32/bins=4096,u8/bins=4096,f64/bins=65536}/uniform", spotted},
    {"histogram_range/{u16,i32,f32,f64}/bins=55296/uniform", "64Ki"},
    {"histogram_range/u8/bins={55296,65536}/uniform", nothing},
    {"histogram_even/i32/bins=55296/uniform", nothing},
    {"histogram_{range/i32/bins=524288/uniform,even/i32/bins=524288/zipf}", two},
    {"histogram_even/f32/bins=524288/zipf", nothing},
    {"histogram_even/{i8,f16}/bins=4096/uniform", nothing},  // they cannot tell so many bins apart

    // Chains: two lengths of every group; of many blocks, which may be launches, short ones.
    {"collective_reduce/plus/f32/threads={16,32,256}/uniform", "1Ki 16Ki"},
    {"barrier/u32/blocks=1/threads={32,256,1024}/uniform", "1Ki 16Ki"},
    {"barrier/u32/blocks={2,4,8,16,132,264,1056}/threads=256/uniform", "4 16"},

    // Atomics: additions to words are the backbone, other types are spotted.
    {"atomics/plus/u32/addresses={1,2,4,8,16,32,128,512,2048,8192,32768,131072,524288}/uniform", "1Mi"},
    {"atomics/plus/u32/addresses={64,256,1024,4096,16384,65536,262144,1048576}/uniform", two},
    {"atomics/plus/bf16x2/addresses={1,1024,65536,1048576}/uniform", "1Mi"},
    {"atomics/plus/bf16x2/addresses={2,32,64,16384,32768,131072,524288}/uniform", nothing},
    {"atomics/maximum/f32/addresses={1,1024,1048576}/uniform", "1Mi"},
    {"atomics/maximum/f32/addresses={2,32,64,65536,131072,524288}/uniform", nothing},
    {"atomics/maximum/u64/addresses={1,1024,65536,1048576}/uniform", nothing},
};

TEST_F(Planner, TheDefaultSuiteHasItsSizes) {
  auto cold = sizes(), warm = sizes(mode::warm), graph = sizes(mode::graph);
  for (const measured& row : the_default_suite) {
    for (const auto& cell : expanded(row.cells)) {
      EXPECT_EQ((row.cold ? cold : warm)[cell], row.sizes) << cell;
      EXPECT_EQ((row.cold ? cold : graph)[cell], row.sizes) << cell;
    }
  }
}

TEST_F(Planner, FullIsEverything) {
  records = flat_catalog(1, 1, 1, 1) + histogram_catalog() + atomics_catalog();
  wanted.full = true;
  auto cold = sizes(), graph = sizes(mode::graph);
  EXPECT_EQ(cold["exclusive_scan/maximum/u8:u32"], swept);
  const auto up_to_240_MiB = graph["exclusive_scan/compose/affine"];
  EXPECT_EQ(std::count(up_to_240_MiB.begin(), up_to_240_MiB.end(), ' ') + 1, 17);
  for (const char* cell : {"histogram_even/f16/bins=1000/runs", "histogram_range/u32/bins=1048576/zipf",
                           "histogram_even/i16/bins=65536/sorted", "histogram_range/f64/bins=2/out_of_range"})
    EXPECT_TRUE(cold.contains(cell)) << cell;
  for (const char* cell : {"histogram_even/i8/bins=1000/uniform", "histogram_even/u16/bins=256/out_of_range"})
    EXPECT_FALSE(cold.contains(cell)) << cell;
  EXPECT_EQ(cold["atomics/maximum/u64/addresses=32/uniform"], "1Mi");
  for (int exponent = 6; exponent <= 20; ++exponent)
    EXPECT_EQ(cold["atomics/maximum/u64/addresses=" + std::to_string(1 << exponent) + "/uniform"], two) << exponent;
  EXPECT_EQ(graph["atomics/maximum/u64/addresses=64/uniform"], two);
}

TEST_F(Planner, HistogramsInWarmAndGraphAreOfBytesAndIntegersWith256Bins) {
  records = histogram_catalog();
  const std::map<std::string, std::string> expected = {{"histogram_even/u8/bins=256/uniform", spotted},
                                                       {"histogram_even/i32/bins=256/uniform", spotted}};
  for (const mode how : {mode::warm, mode::graph}) EXPECT_EQ(sizes(how), expected);
}

TEST_F(Planner, TheLadderIsClimbedWhereItIsShown) {
  std::set<std::string> climbed;
  for (const auto& one : plan().problems) {
    const auto text = case_name(one, *one.contenders.front(), mode::cold);
    if (!one.every_rung)
      EXPECT_FALSE(one.operation == operation::atomics || catalog::is_chain(one.operation)) << text;
    else if (one.operation == operation::inclusive_scan || catalog::is_histogram(one.operation))
      climbed.insert(cell_of(text) + " " + format_size(one.num_items));
  }
  std::set<std::string> shown;
  for (const char* cells : {"inclusive_scan/plus/f32 {1Mi,16Mi,256Mi}", "inclusive_scan/plus/i32 16Mi",
                            "histogram_even/{u8,i32,f32}/bins=256/{uniform,constant} 16Mi"})
    for (const auto& one : expanded(cells)) shown.insert(one);
  EXPECT_EQ(climbed, shown);
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

TEST_F(Planner, SizesAreSpread) {
  std::vector<std::size_t> first;
  for (const auto& one : plan().problems) {
    if (first.size() < 6) first.push_back(one.num_items);
  }
  EXPECT_EQ((std::vector(first.begin(), first.begin() + 3)), (std::vector{Mi, 16 * Mi, 256 * Mi}));
  EXPECT_FALSE(std::is_sorted(first.begin() + 3, first.end()));
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
  wanted.filter = "reduce/(plus|minimum)/f32/n=16Mi/handwritten/c/cold";
  std::set<std::string_view> along;
  const auto planned = plan();
  EXPECT_EQ(planned.cases.size(), 2u * 3);
  for (const auto& one : planned.cases) {
    EXPECT_EQ(one.asked_for, one.record->family == handwritten);
    along.insert(one.record->rung);
  }
  EXPECT_EQ(along, (std::set<std::string_view>{"c", "cub_device_a", "cub_device_b"}));
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
  auto fits = sizes();
  for (const auto& [cell, largest] : {std::pair{"reduce/plus/f32", " 256Mi"},
                                      {"inclusive_scan/plus/u8:u32", " 256Mi"},
                                      {"inclusive_scan/plus/f64", " 16Mi"},
                                      {"inclusive_scan/plus/f32", " 256Mi"}})
    EXPECT_TRUE(fits[cell].ends_with(largest)) << cell << ": " << fits[cell];
  wanted = {.filter = "inclusive", .sizes = {512 * Mi}, .types = {"u8"}};
  EXPECT_THROW(plan(), usage_error);
}

TEST_F(Planner, WhatARecordDoesNotTakeIsLeftOutWithAReason) {
  const auto all = [&](std::string_view rung, auto change) {
    for (record& one : records)
      if (one.rung == rung) change(one);
  };
  all("c", [](record& one) { one.min_cc = 100; });
  all("d", [](record& one) { one.max_items = 1 << 20; });
  all("e", [](record& one) { one.waits_for_host = true; });
  all("11", [](record& one) { one.max_bins = 4096; });
  const auto why = reasons();
  EXPECT_TRUE(why.contains("needs compute capability 100; this GPU has 90"));
  EXPECT_TRUE(why.contains("takes at most 1048576 items"));
  EXPECT_TRUE(why.contains("waits for the host, so it cannot be captured in a graph"));
  const auto planned = plan();
  for (const auto& one : planned.cases) {
    const problem& about = planned.problems[one.problem];
    EXPECT_NE(one.record->rung, "c");
    EXPECT_TRUE(one.record->rung != "d" || about.num_items <= Mi) << one.name;
    EXPECT_TRUE(one.record->rung != "e" || one.mode != mode::graph) << one.name;
    EXPECT_TRUE(one.record->rung != "11" || about.shape["bins"] <= 4096) << one.name;
  }
  int too_many_bins = 0;
  for (const auto& one : planned.omissions) {
    if (one.record->rung != "11") continue;
    EXPECT_EQ(one.reason, "takes at most 4096 bins");
    EXPECT_GT(one.shape["bins"], 4096u);
    ++too_many_bins;
  }
  EXPECT_GT(too_many_bins, 20);
}

TEST_F(Planner, AtomicsAreCold) {
  records = atomics_catalog();
  for (const auto& one : plan().cases) EXPECT_EQ(one.mode, mode::cold);
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
  records = flat_catalog(2, 1, 2, 1);
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
  const std::string line = "reduce/plus/f32/n=16Mi/handwritten/c/";
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
  wanted = {.filter = "histogram_even", .types = {"i32"}, .bins = {100}};
  EXPECT_EQ(cells(), (std::set{line + "uniform", line + "constant", line + "eight_hot", line + "zipf"}));
  wanted.distributions = {distribution::runs};
  EXPECT_EQ(sizes(), (std::map<std::string, std::string>{{line + "runs", three}}));
  wanted.sizes = {5000};
  EXPECT_EQ(sizes(), (std::map<std::string, std::string>{{line + "runs", "5000"}}));
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

// Where not every rung is measured, about half of them are fast, and three of those of histograms.
TEST_F(Planner, TheDefaultSuiteHasAboutFiveThousandRows) {
  const auto rows = [&](auto fast) {
    std::size_t all = 0;
    const auto planned = plan();
    for (const auto& one : planned.problems) {
      std::size_t rungs = 0, others = 1;  // CUB's twin
      for (const auto* of : one.contenders) {
        rungs += of->family == handwritten;
        others += of->family != handwritten && (is_cub(*of) || !catalog::is_histogram(one.operation));
      }
      all += one.modes.size() * (others + (one.every_rung ? rungs : fast(rungs)));
    }
    return all;
  };
  records = flat_catalog(14, 6, 9, 2);
  const std::size_t flat = rows([](std::size_t rungs) { return (rungs + 1) / 2; });
  EXPECT_GT(flat, 2'800u);
  EXPECT_LT(flat, 3'600u);
  records = histogram_catalog();
  EXPECT_LT(rows([](std::size_t rungs) { return std::min<std::size_t>(rungs, 3); }), 1'800u);
  std::size_t cells = 0;
  for (const auto& one : plan().problems) cells += one.modes.size();
  EXPECT_GT(cells, 250u);
  EXPECT_LT(cells, 300u);
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
const shape pixels{{{"bins", 256}, {"channels", 4}, {"active", 3}}}, offset{{{"offset", 3}}};
const measures all_measures[] = {
    {a_problem(scan, scalar::f32, scalar::f32), {8000, 8000, 4000, 4000}, {operation::copy}},
    // Widening takes what the scan takes.
    {a_problem(scan, scalar::u8, scalar::u32), {5000, 5000, 1000, 4000}, {operation::widen_bytes}},
    {a_problem(scan, scalar::bf16, scalar::f32), {6000, 6000, 2000, 4000}, {operation::widen_halves}},
    // Copying 10000 bytes reads more than the 2000 of the input.
    {a_problem(scan, scalar::bf16, scalar::f64), {10000, 10000, 5000, 10000}, {operation::copy, operation::fill}},
    {a_problem(operation::reduce, scalar::u8, scalar::u32), {1004, 1000, 1000, 1000}, {operation::stream_read}},
    // The counters of all channels are written; the roof reads the samples.
    {a_problem(multi, scalar::u8, scalar::u32, pixels), {4072, 1000, 1000, 3072}, {operation::stream_read}},
    // Buffers hold what is left out in front; what widens writes as much as its roof does.
    {a_problem(scan, scalar::u8, scalar::u32, offset), {5000, 5000, 1003, 4012}, {operation::widen_bytes}},
    {a_problem(scan, scalar::u8, scalar::u8, offset), {2000, 2000, 1003, 1003}, {operation::copy}}};

TEST(Problem, BuffersHoldCallsAndRoofs) {
  for (const auto& [about, bytes, roofs] : all_measures) {
    const std::array found = {about.bytes(), about.footprint(), about.input_buffer_bytes(),
                              about.output_buffer_bytes()};
    EXPECT_EQ(found, bytes) << name(about.input_type) << " to " << name(about.output_type);
    EXPECT_EQ(bounding_roofs(about), roofs);
    if (about.operation != operation::reduce) {
      EXPECT_EQ(measured_roofs(about), roofs);
    }
  }
}

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

// Reductions, scans and histograms, of which the front door answers some, beside what enters no grid.
struct Grids : Planner {
  Grids() {
    records = flat_catalog(4, 2, 3, 2) + histogram_catalog();
    const auto add = [&](record one, const char* ladder, const char* rung) {
      one.ladder = ladder;
      one.rung = rung;
      records.push_back(in_family(one, handwritten));
    };
    for (const scalar type : {scalar::f32, scalar::f64}) {
      for (const op combine : {op::plus, op::maximum}) {
        auto one = fakes::record("", does_nothing, type, executor::device);
        one.op = combine;
        add(one, "front_door_of_reductions", "front_door");
        add(one, "launch_sweep", "vector_loads_128x2");
        one.waits_for_host = true;
        add(one, "reductions", "host_finish");
        one.waits_for_host = false;
        for (const auto kind : {operation::inclusive_scan, operation::exclusive_scan}) {
          one.operation = kind;
          add(one, "front_door_of_scans", "front_door");
        }
      }
    }
    for (const scalar type : {scalar::u8, scalar::i32})
      for (const auto kind : {even, range})
        add(fakes::a_histogram("", does_nothing, type, scalar::i32, kind, executor::device), "front_door_of_histograms",
            "front_door");
  }
  using numbers = std::set<std::size_t>;
  // Sizes by operation, or another number of the shape.
  std::map<operation, numbers> numbers_of(const char* axis = nullptr) const {
    std::map<operation, numbers> all;
    for (const auto& one : plan().problems)
      if (!one.on_host) all[one.operation].insert(axis != nullptr ? one.shape[axis] : one.num_items);
    return all;
  }
};

TEST_F(Grids, HeldOutIsWhatTheFrontDoorAnswers) {
  using asked = std::tuple<operation, op, scalar>;
  std::set<asked> answered, planned;
  for (const auto& one : records) {
    if (is_front_door(one)) answered.insert({one.operation, one.op, one.input_type});
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

TEST_F(Grids, HeldOutHistogramsTakeThreeSizesInTurn) {
  wanted.grid = grid::held_out;
  auto held_out = sizes();
  const measured turns[] = {{"even/i32/bins=17/{uniform,out_of_range}", "49157"},
                            {"even/i32/bins={17/constant,200/uniform,3000/runs}", "786433"},
                            {"even/i32/bins={17/eight_hot,300000/sorted}", "12582917"},
                            {"range/i32/bins={17/uniform,3000/zipf}", "49157"},
                            {"range/i32/bins=17/zipf", "786433"},
                            {"range/i32/bins=17/constant", nothing},
                            {"even/i32/bins={200,3000}/offset={1,3}/{uniform,zipf}", "12582917"},
                            {"even/{u8/bins=3000,i32/bins=17/offset=1}/uniform", nothing}};
  for (const measured& row : turns)
    for (const auto& cell : expanded(row.cells)) EXPECT_EQ(held_out["histogram_" + cell], row.sizes) << cell;
}

TEST_F(Grids, TheGridOfHistogramsIsWhole) {
  wanted.grid = grid::histograms;
  auto found = sizes();
  for (const char* type : {"u8", "i8", "u16", "i16", "i32", "u32", "f32", "f64", "f16"}) {
    for (const char* bins : {"2", "64", "256", "1000", "4096", "65536", "1048576"}) {
      const std::string about = "histogram_even/" + std::string(type) + "/bins=" + bins + "/";
      const bool half = std::string_view(type) == "f16" && std::atoi(bins) > 2048;
      EXPECT_EQ(found.contains(about + "uniform"), !half) << about;
    }
  }
  for (const distribution from : all_distributions)
    EXPECT_TRUE(found.contains("histogram_even/f64/bins=1000/" + std::string(name(from)))) << name(from);
  EXPECT_FALSE(found.contains("histogram_even/u8/bins=64/out_of_range"));
  EXPECT_FALSE(found.contains("histogram_even/u8/bins=1000/zipf"));  // which would be no other samples
  EXPECT_EQ(found["histogram_even/i16/bins=65536/runs"], spotted);
  EXPECT_EQ(found["histogram_even/f32/bins=256/constant"], four);
  EXPECT_EQ(plan().problems.size(), 1036u);
  wanted.distributions = {distribution::zipf};
  for (const auto& one : plan().problems) EXPECT_EQ(one.distribution, distribution::zipf);
}

}  // namespace
}  // namespace rungs::bench
