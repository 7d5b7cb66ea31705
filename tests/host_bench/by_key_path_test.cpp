// rungs_by_key's study on a fake GPU: what is verified, what is timed, and what is left out.
#include <gtest/gtest.h>

#include <cstring>

#include "by_key/calls.hpp"
#include "by_key/oracle.hpp"
#include "by_key/study.hpp"
#include "fake_device_work.hpp"
#include "faults/fake_runtime.hpp"

namespace rungs::bench::by_key {
namespace {

namespace fake = tests::fake;
using catalog::scalar;

// How the two libraries behave. Only `rungs` and `cub` differ in it.
struct behaviour {
  bool writes_wrong_item = false, counts_wrong = false;
  cudaError_t error = cudaSuccess;
  int wrong_from_call = 1 << 30;  // the first call is 1
  int num_calls = 0;
};
behaviour of_rungs, of_cub;
cell now;
right_outputs right;

void write(void* d_out, behaviour& how) {
  const item_sizes each = sizes_of(now.about);
  const places at = places_of(now.items, each.first_out, each.second_out);
  char* const out = static_cast<char*>(d_out);
  ++how.num_calls;
  std::memcpy(out, right.first.data(), right.first.size());
  if (!right.second.empty()) std::memcpy(out + at.second_at, right.second.data(), right.second.size());
  if (how.writes_wrong_item || how.num_calls >= how.wrong_from_call) {
    char* const last =
        right.second.empty() ? out + right.first.size() - 1 : out + at.second_at + right.second.size() - 1;
    *last ^= 1;
  }
  const int count = static_cast<int>(right.count) - (how.counts_wrong ? 1 : 0);
  if (!is_scan(now.about.operation)) std::memcpy(out + at.behind, &count, sizeof count);
}

template <int microseconds>
cudaError_t called(behaviour& how, void* storage, std::size_t& num_bytes, const catalog::arguments& a) {
  if (storage == nullptr) {
    num_bytes = 7;
    return cudaSuccess;
  }
  if (how.error != cudaSuccess) return how.error;
  return fake::launch(microseconds, [&how, d_out = a.d_out] { write(d_out, how); });
}
cudaError_t by_rungs(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  return called<20>(of_rungs, storage, num_bytes, a);
}
cudaError_t by_cub(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  return called<30>(of_cub, storage, num_bytes, a);
}

std::size_t bytes_copied;

}  // namespace

calls calls_of(const problem&) { return {by_rungs, by_cub}; }
cudaError_t fill(const problem&, std::size_t, void*, void*, cudaStream_t) {
  return fake::launch(1, [] {});
}
cudaError_t copy(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (storage == nullptr) {
    num_bytes = 1;
    return cudaSuccess;
  }
  bytes_copied = a.num_items;
  return fake::launch(10, [=] { std::memcpy(a.d_out, a.d_in, a.num_items); });
}

namespace {

struct ByKeyPath : testing::Test {
  ByKeyPath() {
    fake::current() = {};
    fake::current().executes = true;
    device_work::fake_clock_mhz = 1980;
    of_rungs = of_cub = {};
  }
  measured_cell measure(const cell& about) {
    now = about;
    right = right_outputs_of(about);
    device_facts gpu;
    gpu.name = "NVIDIA Fake";
    gpu.multiprocessors = 132;
    gpu.l2_bytes = std::size_t{1} << 20;
    gpu.memory_bytes = gpu.free_bytes = std::size_t{16} << 30;
    study with(gpu, room_of(about));
    return with.measure(about, 1, omissions);
  }
  std::vector<omission> omissions;
};

constexpr std::size_t few = 3000, many = study::items_of_host + 1;
constexpr problem sums{operation::reduce_by_key, scalar::i32, scalar::f32, 16};
constexpr problem selection{operation::select_if, scalar::u8, scalar::none, 50};

TEST_F(ByKeyPath, EveryCallIsVerifiedAndTimed) {
  for (cell each : plan_of({1 << 16, 1 << 16, "/(i64|u8)(:f32|:f64)?/|segmented"})) {
    each.items = few;
    const measured_cell found = measure(each);
    EXPECT_TRUE(omissions.empty());
    EXPECT_EQ(found.rungs.defect + found.cub.defect, "") << name_of(each);
    EXPECT_TRUE(found.by_host && found.rungs.is_timed() && found.cub.is_timed());
    EXPECT_EQ(found.outputs, num_outputs(each, right.count));
    EXPECT_EQ(bytes_copied, footprint(each, found.outputs) / 2);
    EXPECT_EQ(found.rungs.storage_bytes, 7u);
    EXPECT_NEAR(median(found.rungs.samples), 20, 0.01);
    EXPECT_NEAR(median(found.cub.samples), 30, 0.01);
    EXPECT_NEAR(median(found.twin), 30, 0.01);
    EXPECT_NEAR(median(found.copy), 10, 0.01);
  }
}

TEST_F(ByKeyPath, ManyItemsAreComparedWithCub) {
  for (const problem& each : {sums, selection}) {
    const measured_cell found = measure({each, many});
    EXPECT_FALSE(found.by_host);
    EXPECT_TRUE(found.rungs.is_timed() && found.cub.is_timed()) << found.rungs.defect;
  }
}

TEST_F(ByKeyPath, AWrongItemHasNoTime) {
  of_rungs.writes_wrong_item = true;
  for (const std::size_t items : {few, many})
    for (const problem& each : {sums, selection}) {
      const measured_cell found = measure({each, items});
      EXPECT_TRUE(found.rungs.ran && !found.rungs.verified && found.rungs.samples.empty());
      EXPECT_NE(found.rungs.defect, "");
      EXPECT_TRUE(found.cub.is_timed());
      EXPECT_FALSE(to_json(std::vector{found})[0].contains("speedup"));
    }
}

TEST_F(ByKeyPath, AWrongCountHasNoTime) {
  of_rungs.counts_wrong = true;
  EXPECT_NE(measure({sums, few}).rungs.defect.find("the number of outputs is"), std::string::npos);
  EXPECT_NE(measure({sums, many}).rungs.defect.find("and CUB's is"), std::string::npos);
}

TEST_F(ByKeyPath, AWrongCubHasNoTimeAndNoTwin) {
  of_cub.writes_wrong_item = true;
  const measured_cell found = measure({sums, few});
  EXPECT_TRUE(found.rungs.is_timed());
  EXPECT_TRUE(found.cub.ran && !found.cub.is_timed() && found.twin.empty());
}

TEST_F(ByKeyPath, WhatFailsIsLeftOut) {
  of_rungs.error = cudaErrorInvalidConfiguration;
  const measured_cell found = measure({sums, few});
  ASSERT_EQ(omissions.size(), 1u);
  EXPECT_EQ(omissions[0].name, "rungs");
  EXPECT_NE(omissions[0].reason.find("cudaErrorInvalidConfiguration"), std::string::npos);
  EXPECT_TRUE(!found.rungs.ran && found.cub.is_timed());
}

TEST_F(ByKeyPath, WithoutCubManyItemsAreNotVerified) {
  of_cub.error = cudaErrorInvalidConfiguration;
  const measured_cell found = measure({sums, many});
  EXPECT_TRUE(found.rungs.ran && !found.rungs.verified && found.rungs.samples.empty());
  EXPECT_TRUE(measure({sums, few}).rungs.is_timed()) << "the host knows";
}

TEST_F(ByKeyPath, OutputsThatChangeWhileTimedAreWrong) {
  of_rungs.wrong_from_call = 5;
  const measured_cell found = measure({sums, few});
  EXPECT_FALSE(found.rungs.is_timed());
  EXPECT_EQ(found.rungs.defect, "after the samples the outputs were others than before");
}

}  // namespace
}  // namespace rungs::bench::by_key
