// What a workspace of a checked build reports: each misuse by an error and by words that say what to do, and no right
// use. Compiled with RUNGS_CHECKED, over a runtime that runs nothing. No GPU is used.
#include <gtest/gtest.h>

#include <rungs/device/device_reduce.cuh>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "faults/fake_runtime.hpp"

namespace rungs::tests {
namespace {

class Checked : public ::testing::Test {
 protected:
  void SetUp() override { fake::current() = {}; }

  static cudaError_t sum(workspace& workspace, cudaStream_t stream) {
    const auto* const d_in = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
    auto* const d_out = reinterpret_cast<float*>(std::uintptr_t{2} << 40);
    return DeviceReduce::Sum(workspace, d_in, d_out, 1 << 20, stream);
  }

  // That call() is refused, enqueues nothing, and says `words`.
  template <class Call>
  static void expect_refused(Call call, const std::string& words) {
    fake::current() = {};
    ::testing::internal::CaptureStderr();
    const cudaError_t error = call();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(error, cudaErrorNotPermitted);
    EXPECT_EQ(said.find("rungs::workspace at 0x"), 0u) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_EQ(said.back(), '\n');
    EXPECT_TRUE(fake::current().calls.empty());
  }

  workspace workspace_;
  const cudaStream_t first_ = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x100}),
                     second_ = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x200});
};

TEST_F(Checked, ManyCallsOnOneStreamAreRight) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(workspace_.reserve(contents::zeroed_once, 1 << 20, first_), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sum(workspace_, first_), cudaSuccess);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Checked, AnotherStreamIsRefusedUntilTheWorkspaceIsHandedOver) {
  ASSERT_EQ(sum(workspace_, first_), cudaSuccess);
  expect_refused([&] { return sum(workspace_, second_); }, "hand_over(from, to)");
  expect_refused([&] { return workspace_.reserve(contents::zeroed_once, 1, second_); }, "on another stream");
  expect_refused([&] { return workspace_.hand_over(second_, first_); }, "on another stream");
  EXPECT_EQ(sum(workspace_, first_), cudaSuccess);

  fake::current() = {};
  EXPECT_EQ(workspace_.hand_over(first_, second_), cudaSuccess);
  std::string order;
  for (const fake::call& each : fake::current().calls) order += each.name + ' ';
  EXPECT_EQ(order, "cudaEventCreateWithFlags cudaEventRecord cudaStreamWaitEvent cudaEventDestroy ");
  EXPECT_EQ(sum(workspace_, second_), cudaSuccess);
  expect_refused([&] { return sum(workspace_, first_); }, "hand_over(from, to)");
  workspace_.hand_over();  // by a caller who has waited
  EXPECT_EQ(sum(workspace_, first_), cudaSuccess);
}

TEST_F(Checked, AHandOverThatFailsLeavesTheWorkspaceWhereItWas) {
  ASSERT_EQ(sum(workspace_, first_), cudaSuccess);
  for (int failing = 1; failing <= 3; ++failing) {
    fake::current() = {};
    fake::current().failing_call = failing;
    EXPECT_EQ(workspace_.hand_over(first_, second_), cudaErrorUnknown) << failing;
    expect_refused([&] { return sum(workspace_, second_); }, "on another stream");
  }
}

TEST_F(Checked, TwoThreadsAtOnceAreRefused) {
  struct variant {};
  bool was_called = false;
  const auto call = [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
    temp_storage_bytes = 1;
    if (d_temp_storage == nullptr || was_called) return cudaSuccess;
    was_called = true;  // here the first thread is in its call, and stays there until the second one was refused
    std::thread([&] { expect_refused([&] { return sum(workspace_, first_); }, "two host threads at once"); }).join();
    return cudaSuccess;
  };
  EXPECT_EQ(workspace_.run<variant>(call, first_), cudaSuccess);
  EXPECT_TRUE(was_called);
  std::thread([&] { EXPECT_EQ(sum(workspace_, first_), cudaSuccess); }).join();  // one after the other
}

TEST_F(Checked, WhatWasMovedFromIsRefusedUntilItIsAssignedTo) {
  ASSERT_EQ(sum(workspace_, first_), cudaSuccess);
  workspace moved_to(std::move(workspace_));
  expect_refused([&] { return sum(workspace_, first_); }, "moved from");
  EXPECT_EQ(sum(moved_to, first_), cudaSuccess);
  expect_refused([&] { return sum(moved_to, second_); }, "on another stream");

  workspace_ = std::move(moved_to);
  expect_refused([&] { return sum(moved_to, first_); }, "moved from");
  EXPECT_EQ(sum(workspace_, first_), cudaSuccess);
  workspace_ = workspace();
  EXPECT_EQ(sum(workspace_, second_), cudaSuccess);
  std::swap(workspace_, workspace_);
  EXPECT_EQ(sum(workspace_, second_), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests
