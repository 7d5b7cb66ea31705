#include "planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "check.hpp"
#include "fake_records.hpp"

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

}  // namespace
}  // namespace rungs::bench
