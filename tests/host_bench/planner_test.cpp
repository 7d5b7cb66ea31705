#include "planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

using catalog::record;
using catalog::scalar;

std::vector<record> a_catalog() {
  std::vector<record> all;
  for (const scalar type : {scalar::f32, scalar::i32, scalar::f64}) {
    for (const auto combine : {catalog::op::plus, catalog::op::minimum}) {
      for (const char* rung : {"warp_shuffle", "last_block", "cub_device_reduce", "host_serial"}) {
        auto one = fakes::record(rung, fakes::does_nothing, type,
                                 std::string_view(rung) == "host_serial" ? executor::host : executor::device);
        one.op = combine;
        if (!std::string_view(rung).starts_with("cub") && one.executes_on == executor::device)
          one.family = catalog::family::handwritten;
        all.push_back(one);
      }
    }
  }
  auto roof = fakes::record("stream_read", fakes::does_nothing, scalar::f32, executor::device);
  roof.operation = catalog::operation::stream_read;
  all.push_back(roof);
  return all;
}

device_facts a_gpu() {
  device_facts gpu;
  gpu.name = "a GPU";
  gpu.compute_capability = 90;
  gpu.l2_bytes = std::size_t{60} << 20;
  gpu.memory_bytes = gpu.free_bytes = std::size_t{140} << 30;
  return gpu;
}

struct Planner : ::testing::Test {
  std::vector<record> records = a_catalog();
  selection wanted;
  std::optional<device_facts> gpu = a_gpu();
  run_plan plan() { return make_plan(records, wanted, gpu, "none here"); }
  std::set<std::string> names() {
    std::set<std::string> all;
    for (const auto& one : plan().cases) all.insert(one.name);
    return all;
  }
};

TEST_F(Planner, NamesSayEverything) {
  EXPECT_TRUE(names().contains("reduce/plus/f32/n=16Mi/handwritten/warp_shuffle/cold"));
  EXPECT_TRUE(names().contains("reduce/plus/f32/n=16777217/library_baselines/cub_device_reduce/cold"));
  EXPECT_TRUE(names().contains("reduce/plus/f32/n=1Ki/library_baselines/host_serial/host"));
}

TEST_F(Planner, TheDefaultSweepReachesFromOneKiToOneGi) {
  for (int exponent = 10; exponent <= 30; ++exponent) {
    const auto problems = plan().problems;
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const problem& one) {
      return one.input_type == scalar::f32 && one.op == catalog::op::plus &&
             one.num_items == std::size_t{1} << exponent;
    })) << exponent;
  }
}

TEST_F(Planner, EachCaseOnceAndGroupedByProblem) {
  const auto planned = plan();
  EXPECT_EQ(names().size(), planned.cases.size());
  EXPECT_TRUE(std::is_sorted(planned.cases.begin(), planned.cases.end(),
                             [](const bench_case& a, const bench_case& b) { return a.problem < b.problem; }));
  for (const auto& one : planned.cases) {
    const auto& about = planned.problems[one.problem];
    EXPECT_EQ(one.name, case_name(about, *one.record, one.mode));
    EXPECT_TRUE(std::count(about.modes.begin(), about.modes.end(), one.mode));
  }
}

TEST_F(Planner, SizesAreSpread) {
  std::vector<std::size_t> first;
  for (const auto& one : plan().problems) {
    if (first.size() < 6) first.push_back(one.num_items);
  }
  EXPECT_EQ(first[0], std::size_t{1} << 20);
  EXPECT_EQ(first[1], std::size_t{16} << 20);
  EXPECT_EQ(first[2], std::size_t{256} << 20);
  EXPECT_NE(std::is_sorted(first.begin() + 3, first.end()), true);
}

TEST_F(Planner, WarmAndGraphEndAtFourCaches) {
  const auto planned = plan();
  for (const auto& one : planned.cases) {
    const bool cached = one.mode == mode::warm || one.mode == mode::graph;
    EXPECT_TRUE(!cached || planned.problems[one.problem].input_bytes() <= std::size_t{240} << 20) << one.name;
  }
}

TEST_F(Planner, WarmAndGraphThatWereAskedForBeyondFourCachesAreLeftOutWithAReason) {
  wanted.sizes = {std::size_t{256} << 20};
  wanted.modes = {mode::warm};
  wanted.types = {"f32"};
  const auto planned = plan();
  EXPECT_TRUE(planned.cases.empty());
  EXPECT_NE(std::find_if(planned.omissions.begin(), planned.omissions.end(),
                         [](const omission& one) {
                           return one.mode == mode::warm && one.reason.find("L2 cache") != std::string::npos;
                         }),
            planned.omissions.end());
}

TEST_F(Planner, HostBaselinesEndAtSixteenMi) {
  const auto planned = plan();
  for (const auto& one : planned.problems) EXPECT_TRUE(!one.on_host || one.num_items <= largest_host_items);
}

TEST_F(Planner, FiltersSearchTheNameAndBringCubAlong) {
  wanted.filter = "f32/n=16Mi/.*/warp_shuffle/cold";
  const auto planned = plan();
  ASSERT_EQ(planned.cases.size(), 4u);  // plus and minimum, each with CUB
  for (const auto& one : planned.cases) EXPECT_EQ(one.asked_for, one.record->rung == "warp_shuffle");
}

TEST_F(Planner, RefusesWhatItCannotAnswer) {
  wanted.filter = "no_such_rung";
  EXPECT_THROW(plan(), usage_error);
  wanted.filter = "(";
  EXPECT_THROW(plan(), usage_error);
  wanted.filter = "";
  wanted.types = {"f128"};
  EXPECT_THROW(plan(), usage_error);
  wanted.types = {};
  wanted.sizes = {std::size_t{1} << 40};
  EXPECT_THROW(plan(), usage_error);
}

TEST_F(Planner, DefaultSizesThatDoNotFitAreLeftOutWithAReason) {
  gpu->free_bytes = std::size_t{2} << 30;
  const auto planned = plan();
  for (const auto& one : planned.problems) EXPECT_LE(one.input_bytes(), std::size_t{1} << 30);
  EXPECT_TRUE(std::any_of(planned.omissions.begin(), planned.omissions.end(), [](const omission& one) {
    return one.num_items == std::size_t{1} << 30 && one.reason.find("do not fit") != std::string::npos;
  }));
}

TEST_F(Planner, WhatTheHardwareLacksIsLeftOutWithAReason) {
  records[0].min_cc = 100;
  records[1].max_items = 1 << 20;
  const auto planned = plan();
  const auto has = [&](const std::string& words) {
    return std::any_of(planned.omissions.begin(), planned.omissions.end(),
                       [&](const omission& one) { return one.reason.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(has("needs compute capability 100"));
  EXPECT_TRUE(has("takes at most 1048576 items"));
}

TEST_F(Planner, WhatWaitsForTheHostHasNoGraphMode) {
  for (auto& one : records) one.waits_for_host = true;
  for (const auto& one : plan().cases) EXPECT_NE(one.mode, mode::graph);
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
  EXPECT_EQ(named.size(), 18u);
}

TEST_F(Planner, ShardsPartitionTheRun) {
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
  EXPECT_FALSE(names().contains("reduce/plus/f32/n=16Mi/handwritten/warp_shuffle/dirty"));
  wanted.dirty_flush = true;
  EXPECT_TRUE(names().contains("reduce/plus/f32/n=16Mi/handwritten/warp_shuffle/dirty"));
  EXPECT_TRUE(names().contains("reduce/plus/f32/n=16Mi/handwritten/warp_shuffle/cold"));
}

TEST_F(Planner, GivenSizesMeasureEveryRung) {
  wanted.sizes = {1000};
  for (const auto& one : plan().problems) EXPECT_TRUE(one.every_rung && one.num_items == 1000);
}

// Reductions and scans, as many records as a whole catalog may have: every variant takes f32 and i32, the `wide` ones
// every type.
std::vector<record> a_whole_catalog(int rungs, int wide_rungs, int baselines, int wide_baselines) {
  using catalog::op, catalog::operation;
  struct types {
    scalar input, accumulator;
  };
  const std::vector<types> basic = {{scalar::f32, scalar::f32}, {scalar::i32, scalar::i32}};
  const std::vector<types> wide = {{scalar::f64, scalar::f64}, {scalar::i64, scalar::i64}, {scalar::u64, scalar::u64},
                                   {scalar::u8, scalar::u32},  {scalar::i8, scalar::i32},  {scalar::f16, scalar::f32},
                                   {scalar::bf16, scalar::f32}};
  static const char* const names[] = {
      "cub_device_a", "cub_device_b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
  std::vector<record> all;
  const auto enrol = [&](const char* rung, bool baseline, bool takes_wide) {
    for (const auto kind : {operation::reduce, operation::inclusive_scan, operation::exclusive_scan}) {
      const bool scan = catalog::is_scan(kind);
      std::vector<types> taken = basic;
      if (takes_wide) taken.insert(taken.end(), wide.begin(), wide.end());
      if (takes_wide && scan) taken.push_back({scalar::affine, scalar::affine});
      for (const types of : taken) {
        for (const op combine : {op::plus, op::minimum, op::maximum, op::compose}) {
          if ((of.input == scalar::affine) != (combine == op::compose)) continue;
          if (scan && (combine == op::minimum || (combine == op::maximum && !takes_wide))) continue;
          auto one = fakes::record(rung, fakes::does_nothing, of.accumulator, executor::device);
          one.operation = kind;
          one.op = combine;
          one.input_type = of.input;
          if (!baseline) one.family = catalog::family::handwritten;
          all.push_back(one);
        }
      }
    }
  };
  for (int i = 0; i < baselines; ++i) enrol(names[i], true, i < wide_baselines);
  for (int i = 0; i < rungs; ++i) enrol(names[2 + i], false, i < wide_rungs);
  return all;
}

struct ScanPlanner : Planner {
  ScanPlanner() { records = a_whole_catalog(4, 2, 3, 2); }
  std::set<std::size_t> sizes(catalog::operation kind, catalog::op combine, scalar type, mode how = mode::cold) {
    std::set<std::size_t> all;
    for (const auto& one : plan().problems) {
      if (one.operation == kind && one.op == combine && one.input_type == type &&
          std::count(one.modes.begin(), one.modes.end(), how))
        all.insert(one.num_items);
    }
    return all;
  }
  static std::set<std::size_t> every_power_of_two(int step, int last = 30) {
    std::set<std::size_t> all;
    for (int exponent = 10; exponent <= last; exponent += step) all.insert(std::size_t{1} << exponent);
    return all;
  }
};
constexpr std::size_t Ki = 1024, Mi = Ki * Ki;
using catalog::op, catalog::operation;

TEST_F(ScanPlanner, NamesSayEverything) {
  const auto all = names();
  EXPECT_TRUE(all.contains("inclusive_scan/plus/f32/n=16Mi/handwritten/c/cold"));
  EXPECT_TRUE(all.contains("exclusive_scan/plus/i32/n=64Ki/library_baselines/cub_device_a/cold"));
  EXPECT_TRUE(all.contains("inclusive_scan/compose/affine/n=4Ki/handwritten/c/cold"));
  EXPECT_TRUE(all.contains("inclusive_scan/plus/u8:u32/n=256Mi/handwritten/c/cold"));
  wanted.types = {"affine"};
  for (const auto& one : plan().problems) EXPECT_EQ(one.input_type, scalar::affine);
}

TEST_F(ScanPlanner, RunningSumsOfFloatsAreSweptAndTheOthersSpotted) {
  auto swept = every_power_of_two(1);
  swept.insert({1000, 100'000, 10'000'019, 16 * Mi + 1});
  EXPECT_EQ(sizes(operation::inclusive_scan, op::plus, scalar::f32), swept);
  EXPECT_EQ(sizes(operation::inclusive_scan, op::plus, scalar::i32), every_power_of_two(2));
  const std::set<std::size_t> few = {64 * Ki, Mi, 16 * Mi, 256 * Mi};
  for (const scalar type : {scalar::f32, scalar::i32})
    EXPECT_EQ(sizes(operation::exclusive_scan, op::plus, type), few) << name(type);
  const std::set<std::size_t> several = {4 * Ki, 16 * Ki, 64 * Ki, Mi, 16 * Mi, 256 * Mi}, extremes = {Mi, 16 * Mi};
  for (const scalar type : {scalar::f64, scalar::i64, scalar::u64, scalar::u8, scalar::i8, scalar::f16, scalar::bf16}) {
    EXPECT_EQ(sizes(operation::inclusive_scan, op::plus, type), several) << name(type);
    EXPECT_EQ(sizes(operation::inclusive_scan, op::maximum, type), extremes) << name(type);
    EXPECT_TRUE(sizes(operation::exclusive_scan, op::plus, type).empty()) << name(type);
  }
  EXPECT_EQ(sizes(operation::inclusive_scan, op::compose, scalar::affine), several);
  EXPECT_EQ(sizes(operation::inclusive_scan, op::maximum, scalar::f32), extremes);
}

TEST_F(ScanPlanner, FullIsEverything) {
  wanted.full = true;
  EXPECT_EQ(sizes(operation::exclusive_scan, op::maximum, scalar::u8).size(), 25u);
  EXPECT_EQ(sizes(operation::exclusive_scan, op::compose, scalar::affine, mode::graph).size(), 17u);  // up to 240 MiB
}

TEST_F(ScanPlanner, WarmAndGraphAreForFloatsAtAFewSizes) {
  for (const mode how : {mode::warm, mode::graph}) {
    // 4 bytes read and 4 written pass four caches of 60 MiB beyond 16 Mi items; 4 bytes read beyond 60 Mi.
    const std::set<std::size_t> few = {Ki, 16 * Ki, 64 * Ki, Mi, 4 * Mi, 16 * Mi}, ladder = {Mi, 16 * Mi};
    EXPECT_EQ(sizes(operation::inclusive_scan, op::plus, scalar::f32, how), few);
    EXPECT_EQ(sizes(operation::reduce, op::plus, scalar::f32, how), few);
    EXPECT_EQ(sizes(operation::reduce, op::plus, scalar::i32, how), ladder);
    EXPECT_TRUE(sizes(operation::inclusive_scan, op::plus, scalar::i32, how).empty());
    EXPECT_TRUE(sizes(operation::exclusive_scan, op::plus, scalar::f32, how).empty());
    EXPECT_TRUE(sizes(operation::inclusive_scan, op::plus, scalar::f64, how).empty());
  }
}

TEST_F(ScanPlanner, SumsOfOtherTypesAreReducedAtEightSizes) {
  const std::set<std::size_t> eight = {Ki, 4 * Ki, 64 * Ki, 256 * Ki, Mi, 4 * Mi, 16 * Mi, 256 * Mi};
  for (const scalar type : {scalar::f64, scalar::u8, scalar::bf16})
    EXPECT_EQ(sizes(operation::reduce, op::plus, type), eight);
  EXPECT_EQ(sizes(operation::reduce, op::plus, scalar::i32), every_power_of_two(2));
}

TEST_F(ScanPlanner, TheLadderIsClimbedWhereItIsShown) {
  std::set<std::string> climbed;
  for (const auto& one : plan().problems) {
    if (one.every_rung && catalog::is_scan(one.operation))
      climbed.insert(case_name(one, *one.contenders.front(), mode::cold));
  }
  const std::set<std::string> shown = {"inclusive_scan/plus/f32/n=1Mi/library_baselines/cub_device_a/cold",
                                       "inclusive_scan/plus/f32/n=16Mi/library_baselines/cub_device_a/cold",
                                       "inclusive_scan/plus/f32/n=256Mi/library_baselines/cub_device_a/cold",
                                       "inclusive_scan/plus/i32/n=16Mi/library_baselines/cub_device_a/cold"};
  EXPECT_EQ(climbed, shown);
}

TEST_F(ScanPlanner, ExtremesOfOtherTypesAreReducedAtTwoSizes) {
  const std::set<std::size_t> two = {Mi, 16 * Mi};
  EXPECT_EQ(sizes(operation::reduce, op::minimum, scalar::f64), two);
  EXPECT_EQ(sizes(operation::reduce, op::minimum, scalar::f32).size(), 3u);
}

TEST_F(ScanPlanner, OutputsTakeMemoryToo) {
  // Half of what is left of 4 GiB is 1.6 GiB: 256 Mi floats fit with their sum; 256 Mi bytes with as many sums of 4
  // bytes still do, and a roof that widens them takes no more; doubles and what is twice as many do not.
  gpu->free_bytes = std::size_t{4} << 30;
  EXPECT_TRUE(sizes(operation::reduce, op::plus, scalar::f32).contains(256 * Mi));
  EXPECT_TRUE(sizes(operation::inclusive_scan, op::plus, scalar::u8).contains(256 * Mi));
  EXPECT_FALSE(sizes(operation::inclusive_scan, op::plus, scalar::f64).contains(256 * Mi));
  EXPECT_TRUE(sizes(operation::inclusive_scan, op::plus, scalar::f32).contains(256 * Mi));
  EXPECT_FALSE(sizes(operation::inclusive_scan, op::plus, scalar::f32).contains(512 * Mi));
  wanted.sizes = {512 * Mi};
  wanted.types = {"u8"};
  wanted.filter = "inclusive";
  EXPECT_THROW(plan(), usage_error);
}

TEST_F(ScanPlanner, BuffersHoldCallsAndRoofs) {
  problem about{.operation = operation::inclusive_scan,
                .input_type = scalar::f32,
                .output_type = scalar::f32,
                .num_items = 1000,
                .modes = {},
                .contenders = {}};
  EXPECT_EQ(about.bytes(), 8'000u);
  EXPECT_EQ(about.footprint(), 8'000u);
  EXPECT_EQ(about.input_buffer_bytes(), 4'000u);
  EXPECT_EQ(about.output_buffer_bytes(), 4'000u);
  about.input_type = scalar::u8;  // widening takes what the scan takes
  EXPECT_EQ(bounding_roofs(about), std::vector{operation::widen_bytes});
  EXPECT_EQ(about.input_buffer_bytes(), 1'000u);
  EXPECT_EQ(about.output_buffer_bytes(), 4'000u);
  about.input_type = scalar::bf16;
  EXPECT_EQ(bounding_roofs(about), std::vector{operation::widen_halves});
  EXPECT_EQ(about.input_buffer_bytes(), 2'000u);
  EXPECT_EQ(about.output_buffer_bytes(), 4'000u);
  about.output_type = scalar::f64;  // copying 10000 bytes reads more than the 2000 of the input
  EXPECT_EQ(bounding_roofs(about), (std::vector{operation::copy, operation::fill}));
  EXPECT_EQ(about.input_buffer_bytes(), 5'000u);
  EXPECT_EQ(about.output_buffer_bytes(), 10'000u);
  about.input_type = scalar::u8;
  about.output_type = scalar::u32;
  about.operation = operation::reduce;
  EXPECT_EQ(about.bytes(), 1'004u);
  EXPECT_EQ(about.footprint(), 1'000u);
  EXPECT_EQ(about.input_buffer_bytes(), 1'000u);
  EXPECT_EQ(about.output_buffer_bytes(), 1'000u);
}

// Where not every rung is measured, about half of them are fast.
TEST_F(ScanPlanner, TheDefaultSuiteHasAboutThreeThousandRowsOfReductionsAndScans) {
  records = a_whole_catalog(14, 6, 9, 2);
  std::size_t rows = 0;
  const auto planned = plan();
  for (const auto& one : planned.problems) {
    std::size_t rungs = 0, baselines = 1;  // CUB's twin
    for (const auto* record : one.contenders) ++(record->family == catalog::family::handwritten ? rungs : baselines);
    const std::size_t fast = one.every_rung ? rungs : (rungs + 1) / 2;
    rows += one.modes.size() * (fast + baselines);
  }
  EXPECT_GT(rows, 2'800u);
  EXPECT_LT(rows, 3'600u);
}

struct ChainPlanner : Planner {
  ChainPlanner() {
    using catalog::op, catalog::operation;
    records = {fakes::a_chain<operation::collective_reduce, op::plus, scalar::f32>("all_groups", executor::device),
               fakes::a_chain<operation::barrier>("one_block", executor::device),
               fakes::a_chain<operation::barrier>("many_blocks", executor::device)};
    records[1].takes_group = [](std::size_t blocks, std::size_t) { return blocks == 1; };
    records[2].takes_group = [](std::size_t blocks, std::size_t) { return blocks > 1; };
    records[2].max_items = 100;
  }
};

TEST_F(ChainPlanner, TwoLengthsOfEveryGroupThatIsTaken) {
  const auto all = names();
  for (const char* group : {"threads=16", "threads=32", "threads=256"})
    for (const char* length : {"1Ki", "16Ki"})
      EXPECT_TRUE(all.contains(std::string("collective_reduce/plus/f32/") + group + "/uniform/n=" + length +
                               "/handwritten/all_groups/cold"));
  EXPECT_TRUE(all.contains("barrier/u32/blocks=1/threads=1024/uniform/n=16Ki/handwritten/one_block/cold"));
  EXPECT_TRUE(all.contains("barrier/u32/blocks=16/threads=256/uniform/n=16/handwritten/many_blocks/graph"));
  EXPECT_FALSE(all.contains("barrier/u32/blocks=16/threads=256/uniform/n=16/handwritten/one_block/cold"));
  EXPECT_FALSE(all.contains("barrier/u32/blocks=1/threads=256/uniform/n=16Ki/handwritten/many_blocks/cold"));
  const auto planned = plan();
  std::set<std::size_t> blocks;
  for (const problem& one : planned.problems) {
    EXPECT_EQ(one.input_bytes(), 0u);
    EXPECT_TRUE(bounding_roofs(one).empty());
    EXPECT_TRUE(one.every_rung);
    if (one.operation == catalog::operation::barrier) blocks.insert(one.shape["blocks"]);
    if (one.operation == catalog::operation::barrier)
      EXPECT_EQ(one.output_bytes(), 4 * one.shape["blocks"] * one.shape["threads"]);
    else
      EXPECT_EQ(one.output_bytes(), 4u);
  }
  const std::size_t multiprocessors = static_cast<std::size_t>(gpu->multiprocessors);
  EXPECT_EQ(blocks, (std::set<std::size_t>{1, 2, 4, 8, 16, multiprocessors, 2 * multiprocessors, 8 * multiprocessors}));
  for (const omission& one : planned.omissions) EXPECT_EQ(one.reason, "takes at most 100 items");
}

struct AtomicsPlanner : Planner {
  AtomicsPlanner() {
    records.clear();
    for (const auto& [which, type] :
         {std::pair{catalog::op::plus, scalar::u32}, std::pair{catalog::op::plus, scalar::bf16x2},
          std::pair{catalog::op::maximum, scalar::f32}, std::pair{catalog::op::maximum, scalar::u64}})
      records.push_back(fakes::an_update("global", fakes::does_nothing, which, type, executor::device));
  }
  // "addresses/operations" of a line.
  std::set<std::string> asked(catalog::op which, scalar type) {
    std::set<std::string> all;
    for (const problem& one : plan().problems) {
      if (one.op == which && one.input_type == type)
        all.insert(std::to_string(one.shape["addresses"]) + "/" + format_size(one.num_items));
    }
    return all;
  }
};

TEST_F(AtomicsPlanner, AdditionsToWordsAreTheBackbone) {
  const auto backbone = asked(catalog::op::plus, scalar::u32);
  for (int exponent = 0; exponent <= 20; ++exponent)
    EXPECT_TRUE(backbone.contains(std::to_string(1 << exponent) + "/1Mi")) << exponent;
  EXPECT_EQ(backbone.size(), 21u + 8);
  EXPECT_TRUE(backbone.contains("64/16Mi"));
  EXPECT_FALSE(backbone.contains("1/16Mi"));
  EXPECT_EQ(asked(catalog::op::plus, scalar::bf16x2),
            (std::set<std::string>{"1/1Mi", "1024/1Mi", "65536/1Mi", "1048576/1Mi"}));
  EXPECT_EQ(asked(catalog::op::maximum, scalar::f32), (std::set<std::string>{"1/1Mi", "1024/1Mi", "1048576/1Mi"}));
  EXPECT_TRUE(asked(catalog::op::maximum, scalar::u64).empty());
  wanted.full = true;
  EXPECT_EQ(asked(catalog::op::maximum, scalar::u64).size(), 21u + 15);
  EXPECT_TRUE(names().contains("atomics/maximum/u64/addresses=64/uniform/n=16Mi/handwritten/global/graph"));
}

TEST_F(AtomicsPlanner, AreColdAndNeverFilteredByBins) {
  for (const auto& one : plan().cases) EXPECT_EQ(one.mode, mode::cold);
  wanted.bins = {256};
  EXPECT_THROW(plan(), usage_error);
}

TEST_F(AtomicsPlanner, LimitsAreOmissionsWithTheirReason) {
  records[0].max_addresses = 4096;
  records.push_back(records[0]);
  records[4].max_addresses = ~0u;
  records[4].max_operations_per_address = 1024;
  wanted.sizes = {1 << 20};
  std::map<std::string, int> reasons;
  for (const omission& one : plan().omissions) ++reasons[one.reason];
  EXPECT_EQ(reasons,
            (std::map<std::string, int>{{"takes at most 4096 addresses", 8},
                                        {"more than 1024 operations an address would take seconds or minutes", 10}}));
}

// As many histograms as a whole catalog may have: fast rungs for every type, the classic ones for three.
std::vector<record> a_catalog_of_histograms() {
  std::vector<record> all;
  const auto enrol = [&](const char* rung, std::vector<scalar> types, std::vector<operation> kinds, bool baseline,
                         executor where = executor::device) {
    for (const scalar type : types) {
      for (const operation kind : kinds) {
        auto one = fakes::a_histogram(rung, fakes::does_nothing, type, scalar::i32, kind, where);
        if (!baseline) one.family = catalog::family::handwritten;
        all.push_back(one);
      }
    }
  };
  const std::vector<scalar> classic = {scalar::u8, scalar::i32, scalar::f32};
  const std::vector<scalar> every = {scalar::u8,  scalar::i8,  scalar::u16, scalar::i16, scalar::i32,
                                     scalar::u32, scalar::f32, scalar::f64, scalar::f16};
  const auto even = operation::histogram_even, range = operation::histogram_range,
             multi = operation::multi_histogram_even;
  enrol("cub_device_histogram", every, {even, range}, true);
  enrol("cub_device_histogram_expert", every, {even}, true);
  enrol("cub_device_multi_histogram", {scalar::u8}, {multi}, true);
  enrol("thrust_histogram", {scalar::u8, scalar::i32}, {even, range}, true);
  enrol("host_serial_histogram", every, {even, range}, true, executor::host);
  for (const char* rung : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) enrol(rung, classic, {even}, false);
  for (const char* rung : {"10", "11", "12", "13"}) enrol(rung, every, {even, range}, false);
  enrol("10", {scalar::u8}, {multi}, false);
  return all;
}

struct HistogramPlanner : Planner {
  HistogramPlanner() { records = a_catalog_of_histograms(); }
  std::set<std::string> cells() {  // without rung and size
    std::set<std::string> all;
    for (const auto& one : plan().problems) all.insert(cell(one));
    return all;
  }
  static std::string cell(const problem& one) {
    return std::string(name(one.operation)) + "/" + std::string(name(one.input_type)) + "/" + to_text(one.shape, '/') +
           "/" + std::string(name(one.distribution));
  }
  std::set<std::size_t> sizes(const std::string& wanted_cell, mode how = mode::cold) {
    std::set<std::size_t> all;
    for (const auto& one : plan().problems) {
      if (cell(one) == wanted_cell && std::count(one.modes.begin(), one.modes.end(), how)) all.insert(one.num_items);
    }
    return all;
  }
};
using set_of_sizes = std::set<std::size_t>;

TEST_F(HistogramPlanner, NamesSayShapeAndDistribution) {
  const auto all = names();
  EXPECT_TRUE(all.contains("histogram_even/u8/bins=256/uniform/n=16Mi/handwritten/3/cold"));
  EXPECT_TRUE(all.contains("histogram_even/i32/bins=65536/zipf/n=64Ki/library_baselines/cub_device_histogram/cold"));
  EXPECT_TRUE(all.contains("histogram_range/f32/bins=4096/uniform/n=1Mi/handwritten/10/cold"));
  EXPECT_TRUE(
      all.contains("multi_histogram_even/u8/bins=256/channels=4/active=3/constant/n=256Mi/handwritten/10/cold"));
  EXPECT_TRUE(all.contains("histogram_even/u8/bins=256/uniform/n=1Mi/library_baselines/host_serial_histogram/host"));
}

TEST_F(HistogramPlanner, HeadlinesAreMeasuredAtFourSizesWithFourDistributions) {
  const set_of_sizes four = {64 * Ki, Mi, 16 * Mi, 256 * Mi};
  for (const char* line :
       {"u8/bins=256", "i32/bins=256", "f32/bins=256", "i32/bins=4096", "i32/bins=16384", "i32/bins=65536"}) {
    const auto even = "histogram_even/" + std::string(line) + "/";
    for (const char* from : {"uniform", "constant", "eight_hot", "zipf"}) EXPECT_EQ(sizes(even + from), four) << line;
    for (const char* from : {"sorted", "runs"}) EXPECT_EQ(sizes(even + from), set_of_sizes{16 * Mi}) << line;
    const bool narrow = std::string_view(line).starts_with("u8");
    EXPECT_EQ(sizes(even + "out_of_range").size(), narrow ? 0u : 1u) << "no byte lies outside of [0, 256)";
  }
}

TEST_F(HistogramPlanner, TheRestIsSpotted) {
  const set_of_sizes two = {Mi, 16 * Mi}, spotted = {64 * Ki, Mi, 16 * Mi}, three = {Mi, 16 * Mi, 256 * Mi};
  for (const char* line : {"i8/bins=256", "f16/bins=256", "u16/bins=65536", "f64/bins=4096"}) {
    EXPECT_EQ(sizes("histogram_even/" + std::string(line) + "/uniform"), spotted) << line;
    EXPECT_EQ(sizes("histogram_even/" + std::string(line) + "/eight_hot"), two) << line;
    EXPECT_TRUE(sizes("histogram_even/" + std::string(line) + "/zipf").empty()) << line;
  }
  for (const char* bins : {"2", "64", "1000", "1048576"}) {
    EXPECT_EQ(sizes("histogram_even/i32/bins=" + std::string(bins) + "/constant"), three) << bins;
    EXPECT_TRUE(sizes("histogram_even/f32/bins=" + std::string(bins) + "/constant").empty()) << bins;
  }
  for (const char* line : {"i32/bins=256", "f32/bins=4096", "u8/bins=4096", "f64/bins=65536"})
    EXPECT_EQ(sizes("histogram_range/" + std::string(line) + "/uniform"), spotted) << line;
  EXPECT_TRUE(sizes("histogram_range/u8/bins=65536/uniform").empty());
  for (const char* line : {"u16", "i32", "f32", "f64"})
    EXPECT_EQ(sizes("histogram_range/" + std::string(line) + "/bins=55296/uniform"), set_of_sizes{64 * Ki}) << line;
  EXPECT_TRUE(sizes("histogram_range/u8/bins=55296/uniform").empty());
  EXPECT_TRUE(sizes("histogram_even/i32/bins=55296/uniform").empty());
  EXPECT_EQ(sizes("histogram_range/i32/bins=524288/uniform"), two);
  EXPECT_EQ(sizes("histogram_even/i32/bins=524288/zipf"), two);
  EXPECT_TRUE(sizes("histogram_even/f32/bins=524288/zipf").empty());
  EXPECT_EQ(sizes("multi_histogram_even/u8/bins=256/channels=4/active=3/constant"), three);
  EXPECT_TRUE(sizes("histogram_even/i8/bins=4096/uniform").empty()) << "a byte cannot tell them apart";
  EXPECT_TRUE(sizes("histogram_even/f16/bins=4096/uniform").empty());
}

TEST_F(HistogramPlanner, WarmAndGraphAreForBytesAndIntegersOf256Bins) {
  std::set<std::string> cached;
  for (const auto& one : plan().problems) {
    if (std::count(one.modes.begin(), one.modes.end(), mode::graph))
      cached.insert(cell(one) + "/" + std::to_string(one.num_items / Ki));
  }
  const std::set<std::string> expected = {
      "histogram_even/u8/bins=256/uniform/64",    "histogram_even/u8/bins=256/uniform/1024",
      "histogram_even/u8/bins=256/uniform/16384", "histogram_even/i32/bins=256/uniform/64",
      "histogram_even/i32/bins=256/uniform/1024", "histogram_even/i32/bins=256/uniform/16384"};
  EXPECT_EQ(cached, expected);
}

TEST_F(HistogramPlanner, TheLadderIsClimbedAtSixteenMi) {
  std::set<std::string> climbed;
  for (const auto& one : plan().problems) {
    EXPECT_TRUE(!one.every_rung || one.num_items == 16 * Mi);
    if (one.every_rung) climbed.insert(cell(one));
  }
  const std::set<std::string> expected = {
      "histogram_even/u8/bins=256/uniform",  "histogram_even/u8/bins=256/constant",
      "histogram_even/i32/bins=256/uniform", "histogram_even/i32/bins=256/constant",
      "histogram_even/f32/bins=256/uniform", "histogram_even/f32/bins=256/constant"};
  EXPECT_EQ(climbed, expected);
}

TEST_F(HistogramPlanner, BinsAndDistributionsCanBeAskedFor) {
  wanted.types = {"i32"};
  wanted.bins = {100};
  wanted.filter = "histogram_even";
  const std::set<std::string> hard = {"histogram_even/i32/bins=100/uniform", "histogram_even/i32/bins=100/constant",
                                      "histogram_even/i32/bins=100/eight_hot", "histogram_even/i32/bins=100/zipf"};
  EXPECT_EQ(cells(), hard);
  wanted.distributions = {distribution::runs};
  EXPECT_EQ(cells(), std::set<std::string>{"histogram_even/i32/bins=100/runs"});
  EXPECT_EQ(sizes("histogram_even/i32/bins=100/runs").size(), 3u);
  wanted.sizes = {5000};
  EXPECT_EQ(sizes("histogram_even/i32/bins=100/runs"), set_of_sizes{5000});
  wanted.bins = {};
  wanted.sizes = {};
  wanted.distributions = {distribution::zipf};
  for (const auto& one : plan().problems) EXPECT_EQ(one.distribution, distribution::zipf);
  EXPECT_TRUE(cells().contains("histogram_even/i32/bins=4096/zipf"));
}

TEST_F(HistogramPlanner, WhatHasNoBinsIsLeftOutWhereBinsAreAskedFor) {
  const auto flat = a_catalog();
  records.insert(records.end(), flat.begin(), flat.end());
  wanted.bins = {256};
  for (const auto& one : plan().problems) EXPECT_TRUE(catalog::is_histogram(one.operation));
  wanted.bins = {};
  wanted.distributions = {distribution::zipf};
  for (const auto& one : plan().problems) EXPECT_TRUE(catalog::is_histogram(one.operation));
  wanted.distributions = {distribution::uniform};
  const auto planned = plan();
  EXPECT_TRUE(std::any_of(planned.problems.begin(), planned.problems.end(),
                          [](const problem& one) { return one.operation == operation::reduce; }));
  wanted.distributions = {distribution::out_of_range};
  wanted.types = {"u8"};
  EXPECT_THROW(plan(), usage_error);
}

TEST_F(HistogramPlanner, ARungWithTooFewBinsIsLeftOutWithAReason) {
  for (auto& one : records) {
    if (one.rung == "11") one.max_bins = 4096;
  }
  const auto planned = plan();
  for (const auto& one : planned.cases) {
    EXPECT_TRUE(one.record->rung != "11" || planned.problems[one.problem].shape["bins"] <= 4096) << one.name;
  }
  int left_out = 0;
  for (const auto& one : planned.omissions) {
    EXPECT_EQ(one.reason, "takes at most 4096 bins");
    EXPECT_GT(one.shape["bins"], 4096u);
    ++left_out;
  }
  EXPECT_GT(left_out, 20);
}

TEST_F(HistogramPlanner, CountersOfAllChannelsAreWritten) {
  problem about{.operation = operation::multi_histogram_even,
                .input_type = scalar::u8,
                .output_type = scalar::u32,
                .num_items = 4000,
                .modes = {},
                .contenders = {},
                .shape = {{{"bins", 256}, {"channels", 4}, {"active", 3}}}};
  EXPECT_EQ(about.output_bytes(), 3u * 1024);
  EXPECT_EQ(about.bytes(), 4000u + 3 * 1024);
  EXPECT_EQ(about.footprint(), 4000u);  // the roof reads the samples
  EXPECT_EQ(about.input_buffer_bytes(), 4000u);
  EXPECT_EQ(about.output_buffer_bytes(), 3u * 1024);
  EXPECT_EQ(bounding_roofs(about), std::vector{operation::stream_read});
  EXPECT_EQ(measured_roofs(about), std::vector{operation::stream_read});
}

TEST_F(HistogramPlanner, FullIsEveryTypeBinAndDistribution) {
  wanted.full = true;
  const auto all = cells();
  for (const char* cell : {"histogram_even/f16/bins=1000/runs", "histogram_range/u32/bins=1048576/zipf",
                           "histogram_even/i16/bins=65536/sorted", "histogram_range/f64/bins=2/out_of_range"})
    EXPECT_TRUE(all.contains(cell)) << cell;
  for (const char* cell : {"histogram_even/i8/bins=1000/uniform", "histogram_even/u16/bins=256/out_of_range"})
    EXPECT_FALSE(all.contains(cell)) << cell;
}

// Beside CUB's two entries and its twin, some of the fast rungs.
TEST_F(HistogramPlanner, TheDefaultSuiteOfHistogramsHasAboutEighteenHundredRows) {
  const auto planned = plan();
  std::size_t cells = 0, rows = 0;
  for (const auto& one : planned.problems) {
    std::size_t rungs = 0, cubs = one.on_host ? 1 : 1;
    for (const auto* record : one.contenders) {
      rungs += record->family == catalog::family::handwritten;
      cubs += is_cub(*record);
    }
    cells += one.modes.size();
    rows += one.modes.size() * (cubs + (one.every_rung ? rungs : std::min<std::size_t>(rungs, 3)));
  }
  EXPECT_GT(cells, 250u);
  EXPECT_LT(cells, 300u);
  EXPECT_LT(rows, 1'800u);
}

// Reductions, scans and histograms, of which the front door answers some, beside what enters no grid.
struct GridPlanner : HistogramPlanner {
  GridPlanner() {
    const auto flat = a_whole_catalog(4, 2, 3, 2);
    records.insert(records.end(), flat.begin(), flat.end());
    const auto add = [&](record one, const char* ladder, const char* rung) {
      one.family = catalog::family::handwritten;
      one.ladder = ladder;
      one.rung = rung;
      records.push_back(one);
    };
    for (const scalar type : {scalar::f32, scalar::f64}) {
      for (const op combine : {op::plus, op::maximum}) {
        auto one = fakes::record("", fakes::does_nothing, type, executor::device);
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
      for (const auto kind : {operation::histogram_even, operation::histogram_range})
        add(fakes::a_histogram("", fakes::does_nothing, type, scalar::i32, kind, executor::device),
            "front_door_of_histograms", "front_door");
  }
  using asked = std::tuple<operation, op, scalar>;
  static asked line(const problem& one) { return {one.operation, one.op, one.input_type}; }
  std::map<operation, set_of_sizes> sizes_by_operation(bool bins) {
    std::map<operation, set_of_sizes> all;
    for (const auto& one : plan().problems) {
      if (!one.on_host) all[one.operation].insert(bins ? one.shape["bins"] : one.num_items);
    }
    return all;
  }
};

TEST_F(GridPlanner, HeldOutIsWhatTheFrontDoorAnswers) {
  std::set<asked> answered, planned;
  for (const auto& one : records) {
    if (is_front_door(one)) answered.insert({one.operation, one.op, one.input_type});
  }
  wanted.grid = grid::held_out;
  for (const auto& one : plan().problems) {
    planned.insert(line(one));
    EXPECT_EQ(one.modes, std::vector{mode::cold});
    EXPECT_FALSE(one.every_rung);
    EXPECT_EQ(one.most_rungs, 3u);
    EXPECT_TRUE(std::any_of(one.contenders.begin(), one.contenders.end(), [](auto* of) { return is_front_door(*of); }));
    for (const auto* of : one.contenders) {
      EXPECT_TRUE(is_cub(*of) || of->family == catalog::family::handwritten) << of->rung;
      EXPECT_FALSE(of->ladder == "launch_sweep" || of->waits_for_host) << of->rung;
    }
  }
  EXPECT_EQ(planned, answered);
}

TEST_F(GridPlanner, HeldOutSizesAndBinsAreInNoOtherPlan) {
  wanted.grid = grid::held_out;
  const auto held_out = sizes_by_operation(false), held_out_bins = sizes_by_operation(true);
  std::vector<std::map<operation, set_of_sizes>> others, other_bins;
  wanted.grid = grid::none;
  for (const bool full : {false, true}) {
    wanted.full = full;
    others.push_back(sizes_by_operation(false));
    other_bins.push_back(sizes_by_operation(true));
  }
  wanted.full = false;
  wanted.grid = grid::histograms;
  others.push_back(sizes_by_operation(false));
  other_bins.push_back(sizes_by_operation(true));
  EXPECT_EQ(held_out.size(), 5u);
  for (const auto& [kind, sizes] : held_out) {
    EXPECT_GE(sizes.size(), 3u);
    for (auto& other : others)
      for (const std::size_t size : sizes) EXPECT_FALSE(other[kind].contains(size)) << name(kind) << ' ' << size;
    if (!catalog::is_histogram(kind)) continue;
    for (auto& other : other_bins)
      for (const std::size_t bins : held_out_bins.at(kind)) EXPECT_FALSE(other[kind].contains(bins)) << bins;
  }
}

TEST_F(GridPlanner, HeldOutItemsBeginOffAnAlignmentToo) {
  wanted.grid = grid::held_out;
  EXPECT_TRUE(names().contains("reduce/plus/f64/offset=3/uniform/n=768Ki/handwritten/front_door/cold"));
  EXPECT_TRUE(names().contains("histogram_even/u8/bins=200/offset=1/zipf/n=12582917/handwritten/front_door/cold"));
  std::map<operation, set_of_sizes> offsets;
  for (const auto& one : plan().problems) offsets[one.operation].insert(one.shape["offset"]);
  EXPECT_EQ(offsets[operation::reduce], (set_of_sizes{0, 1, 3}));
  EXPECT_EQ(offsets[operation::inclusive_scan], (set_of_sizes{0, 1, 3}));
  EXPECT_EQ(offsets[operation::histogram_even], (set_of_sizes{0, 1, 3}));
}

TEST_F(GridPlanner, BuffersHoldWhatIsLeftOutInFront) {
  problem about{.operation = operation::inclusive_scan,
                .input_type = scalar::u8,
                .output_type = scalar::u32,
                .num_items = 1000,
                .modes = {},
                .contenders = {},
                .shape = {{{"offset", 3}}}};
  EXPECT_EQ(about.bytes(), 5000u);
  EXPECT_EQ(about.output_buffer_bytes(), 4012u);  // its roof writes what the call does
  about.output_type = scalar::u8;
  EXPECT_EQ(about.input_buffer_bytes(), 1003u);
  EXPECT_EQ(about.output_buffer_bytes(), 1003u);
}

TEST_F(GridPlanner, TheGridOfHistogramsIsWhole) {
  wanted.grid = grid::histograms;
  const auto all = cells();
  for (const char* type : {"u8", "i8", "u16", "i16", "i32", "u32", "f32", "f64", "f16"}) {
    for (const char* bins : {"2", "64", "256", "1000", "4096", "65536", "1048576"}) {
      const std::string about = "histogram_even/" + std::string(type) + "/bins=" + bins + "/";
      const bool half = std::string_view(type) == "f16" && std::atoi(bins) > 2048;
      EXPECT_EQ(all.contains(about + "uniform"), !half) << about;
    }
  }
  for (const distribution from : all_distributions)
    EXPECT_TRUE(all.contains("histogram_even/f64/bins=1000/" + std::string(name(from)))) << name(from);
  EXPECT_FALSE(all.contains("histogram_even/u8/bins=64/out_of_range"));
  EXPECT_FALSE(all.contains("histogram_even/u8/bins=1000/zipf"));  // which would be no other samples
  EXPECT_EQ(sizes("histogram_even/i16/bins=65536/runs"), (set_of_sizes{64 * Ki, Mi, 16 * Mi}));
  EXPECT_EQ(sizes("histogram_even/f32/bins=256/constant"), (set_of_sizes{64 * Ki, Mi, 16 * Mi, 256 * Mi}));
  EXPECT_EQ(plan().problems.size(), 1036u);
  wanted.distributions = {distribution::zipf};
  for (const auto& one : plan().problems) EXPECT_EQ(one.distribution, distribution::zipf);
}

}  // namespace
}  // namespace rungs::bench
