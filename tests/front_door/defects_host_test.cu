// Defects that users of the front door met, as far as they are seen without a GPU: what is launched, and how, over a
// runtime that runs nothing. The results are defects_test.cu's.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "faults/fake_runtime.hpp"
#include "front_door/far_away.hpp"
#include "front_door/lambdas.hpp"

namespace rungs::tests {
namespace {

const cudaStream_t first = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x100}),
                   second = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x200});

class Defects : public ::testing::Test {
 protected:
  void SetUp() override { fake::current() = {}; }
  void TearDown() override { fake::current() = {}; }
};

std::size_t num_launches() {
  std::size_t launches = 0;
  for (const fake::call& each : fake::current().calls) launches += each.launches();
  return launches;
}

// Both phases.
template <class Call>
cudaError_t in_two_phases(Call call) {
  std::size_t temp_storage_bytes = 0;
  const cudaError_t error = call(nullptr, temp_storage_bytes);
  return error != cudaSuccess ? error : call(far_away<void>(100), temp_storage_bytes);
}

// ---- extended lambdas: nvcc's two passes have to agree on what is launched

TEST_F(Defects, EveryCallWithALambdaLaunchesKernelsThatWereCompiled) {
  for (const lambda_call& each : calls_with_lambdas())
    for (const std::size_t n : {std::size_t{1000}, std::size_t{100'000}, std::size_t{1} << 24}) {
      const float* d_in = far_away<const float>(1);
      float* d_out = far_away<float>(2);
      fake::current() = {};
      EXPECT_EQ(in_two_phases(
                    [&](void* t, std::size_t& bytes) { return each.in_two_phases(t, bytes, d_in, d_out, n, first); }),
                cudaSuccess)
          << each.name << ", n = " << n;
      EXPECT_TRUE(fake::current().unregistered.empty()) << each.name << ", n = " << n;
      EXPECT_GT(num_launches(), 0u) << each.name << ", n = " << n;

      fake::current() = {};
      workspace workspace;
      EXPECT_EQ(each.with_workspace(workspace, d_in, d_out, n, first), cudaSuccess) << each.name << ", n = " << n;
      EXPECT_TRUE(fake::current().unregistered.empty()) << each.name << ", n = " << n << ", by a workspace";
      EXPECT_GT(num_launches(), 0u) << each.name << ", n = " << n << ", by a workspace";
    }
}

// ---- a workspace that ends while its last call is pending

cudaError_t use(workspace& workspace, cudaStream_t stream, std::size_t n = std::size_t{1} << 24) {
  cudaError_t error = DeviceReduce::Sum(workspace, far_away<const float>(1), far_away<float>(2), n, stream);
  if (error == cudaSuccess)
    error = DeviceScan::InclusiveSum(workspace, far_away<const float>(1), far_away<float>(2), n, stream);
  return error;
}

// That what was allocated is freed behind what is on that stream, all of it.
void expect_freed_on(cudaStream_t stream) {
  std::size_t freed = 0;
  for (const fake::call& each : fake::current().calls) {
    EXPECT_NE(each.name, "cudaFree") << "it does not wait for memory that cudaMallocAsync has given";
    if (each.name != "cudaFreeAsync") continue;
    ++freed;
    EXPECT_EQ(each.stream, stream);
  }
  EXPECT_GT(freed, 0u);
  EXPECT_EQ(fake::num_allocations(), 0u);
}

TEST_F(Defects, AWorkspaceFreesOnTheStreamThatUsedItLast) {
  {
    workspace workspace;
    EXPECT_EQ(use(workspace, first), cudaSuccess);
    fake::current() = {};
  }
  expect_freed_on(first);
}

TEST_F(Defects, AWorkspaceThatWasHandedOverFreesOnItsNewStream) {
  {
    workspace workspace;
    EXPECT_EQ(use(workspace, first), cudaSuccess);
    EXPECT_EQ(workspace.hand_over(first, second), cudaSuccess);
    EXPECT_EQ(use(workspace, second, 1000), cudaSuccess);
    fake::current() = {};
  }
  expect_freed_on(second);
}

TEST_F(Defects, AWorkspaceThatWasMovedTakesItsStreamAlong) {
  {
    auto from = std::make_unique<workspace>();
    EXPECT_EQ(use(*from, second), cudaSuccess);
    fake::current() = {};
    const workspace to = std::move(*from);
    from = nullptr;
    for (const fake::call& each : fake::current().calls) EXPECT_EQ(each.memory, nullptr) << each.name;
    fake::current() = {};
  }
  expect_freed_on(second);
}

TEST_F(Defects, AWorkspaceThatIsReplacedFreesOnItsOwnStream) {
  {
    workspace workspace;
    EXPECT_EQ(use(workspace, second), cudaSuccess);
    fake::current() = {};
    workspace = {};
  }
  expect_freed_on(second);
}

// ---- less than eight multiprocessors, as a part of a device has

struct small_call {
  std::string name;
  cudaError_t error;
};

// Every kind of call, of n items and bins as many as asked.
std::vector<small_call> calls_of(std::size_t n, int num_bins) {
  std::vector<small_call> all;
  const auto* const d_items = far_away<const int>(1);
  const auto* const d_bytes = far_away<const unsigned char>(1);
  auto* const d_out = far_away<int>(2);
  auto* const d_histogram = far_away<unsigned>(3);
  unsigned* const d_histograms[3] = {far_away<unsigned>(3), far_away<unsigned>(4), far_away<unsigned>(5)};
  const int num_levels = num_bins + 1, all_num_levels[3] = {num_levels, 257, 17}, lower[3] = {},
            upper[3] = {num_bins, 256, 256};
  const int* const d_levels = far_away<const int>(6);
  const int* const all_d_levels[3] = {d_levels, far_away<const int>(7), far_away<const int>(8)};
  const auto run = [&](const char* name, auto call) { all.push_back({name, in_two_phases(call)}); };
  run("Sum", [&](void* t, std::size_t& bytes) { return DeviceReduce::Sum(t, bytes, d_items, d_out, n); });
  run("InclusiveSum",
      [&](void* t, std::size_t& bytes) { return DeviceScan::InclusiveSum(t, bytes, d_items, d_out, n); });
  run("HistogramEven of ints", [&](void* t, std::size_t& bytes) {
    return DeviceHistogram::HistogramEven(t, bytes, d_items, d_histogram, num_levels, 0, num_bins, n);
  });
  run("HistogramEven of bytes", [&](void* t, std::size_t& bytes) {
    return DeviceHistogram::HistogramEven(t, bytes, d_bytes, d_histogram, num_levels, 0, num_bins, n);
  });
  run("HistogramRange", [&](void* t, std::size_t& bytes) {
    return DeviceHistogram::HistogramRange(t, bytes, d_items, d_histogram, num_levels, d_levels, n);
  });
  run("MultiHistogramEven", [&](void* t, std::size_t& bytes) {
    return DeviceHistogram::MultiHistogramEven<4, 3>(t, bytes, d_items, d_histograms, all_num_levels, lower, upper,
                                                     n / 4);
  });
  run("MultiHistogramRange", [&](void* t, std::size_t& bytes) {
    return DeviceHistogram::MultiHistogramRange<4, 3>(t, bytes, d_items, d_histograms, all_num_levels, all_d_levels,
                                                      n / 4);
  });
  return all;
}

TEST_F(Defects, OnFewMultiprocessorsNoGridIsEmpty) {
  for (int multiprocessors = 1; multiprocessors <= 8; ++multiprocessors)
    for (const int num_bins : {1, 256, 9000, 70'000, 1 << 20})
      for (const std::size_t n : {std::size_t{4}, std::size_t{4000}, std::size_t{100'000}, std::size_t{1} << 24}) {
        const std::string where = " on " + std::to_string(multiprocessors) + " multiprocessors, " +
                                  std::to_string(num_bins) + " bins, n = " + std::to_string(n);
        fake::current() = {};
        fake::current().multiprocessors = multiprocessors;
        fake::current().clusters = 0;  // nor does a cluster of 16 fit
        for (const small_call& each : calls_of(n, num_bins)) EXPECT_EQ(each.error, cudaSuccess) << each.name << where;
        for (const fake::call& each : fake::current().calls)
          if (each.launches()) EXPECT_GT(each.grid_blocks, 0u) << where;
      }
}

TEST_F(Defects, TheSizeOfAnUnevenHistogramNeedsNoLevels) {
  const int num_levels[3] = {11, 257, 5000};
  const int* const d_levels[3] = {};
  unsigned* const d_histograms[3] = {};
  std::size_t bytes = 0;
  EXPECT_EQ(DeviceHistogram::HistogramRange(nullptr, bytes, static_cast<const int*>(nullptr),
                                            static_cast<unsigned*>(nullptr), 11, static_cast<const int*>(nullptr), 100),
            cudaSuccess);
  EXPECT_GT(bytes, 0u);
  bytes = 0;
  EXPECT_EQ((DeviceHistogram::MultiHistogramRange<4, 3>(nullptr, bytes, static_cast<const int*>(nullptr), d_histograms,
                                                        num_levels, d_levels, 100)),
            cudaSuccess);
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(num_launches(), 0u);
}

// ---- stream capture

TEST_F(Defects, AWorkspaceThatWouldGrowInACaptureRefuses) {
  workspace workspace;
  for (const std::size_t largest_before : {std::size_t{0}, std::size_t{1000}}) {
    fake::current() = {};
    if (largest_before != 0) EXPECT_EQ(use(workspace, first, largest_before), cudaSuccess);
    fake::current() = {};
    fake::current().capture = cudaStreamCaptureStatusActive;
    const std::size_t n = std::size_t{1} << 28;
    EXPECT_NE(DeviceScan::InclusiveSum(workspace, far_away<const float>(1), far_away<float>(2), n, first), cudaSuccess);
    for (const fake::call& each : fake::current().calls) EXPECT_FALSE(each.enqueues) << each.name;
  }
  // Afterwards it grows as ever; what is large enough may be captured.
  fake::current() = {};
  EXPECT_EQ(use(workspace, first), cudaSuccess);
  fake::current().capture = cudaStreamCaptureStatusActive;
  EXPECT_EQ(use(workspace, first), cudaSuccess);
  EXPECT_NE(workspace.reserve(contents::uninitialised, std::size_t{1} << 30, first), cudaSuccess);
}

// ---- template arguments that a user of CUB has written out

using bytes_in = const unsigned char*;

template <class Door, class = void>
inline constexpr bool names_even_as_cub_does = false;
template <class Door>
inline constexpr bool names_even_as_cub_does<
    Door, std::void_t<decltype(Door::template MultiHistogramEven<4, 3, bytes_in, unsigned, int, long long>(
              std::declval<void*>(), std::declval<std::size_t&>(), bytes_in{}, std::declval<unsigned* (&)[3]>(),
              std::declval<const int (&)[3]>(), std::declval<const int (&)[3]>(), std::declval<const int (&)[3]>(), 0ll,
              cudaStream_t{}))>> = true;
template <class Door, class = void>
inline constexpr bool names_even_rows_as_cub_does = false;
template <class Door>
inline constexpr bool names_even_rows_as_cub_does<
    Door, std::void_t<decltype(Door::template MultiHistogramEven<4, 3, bytes_in, unsigned, int, long long>(
              std::declval<void*>(), std::declval<std::size_t&>(), bytes_in{}, std::declval<unsigned* (&)[3]>(),
              std::declval<const int (&)[3]>(), std::declval<const int (&)[3]>(), std::declval<const int (&)[3]>(), 0ll,
              0ll, std::size_t{}, cudaStream_t{}))>> = true;
template <class Door, class = void>
inline constexpr bool names_range_as_cub_does = false;
template <class Door>
inline constexpr bool names_range_as_cub_does<
    Door, std::void_t<decltype(Door::template MultiHistogramRange<4, 3, bytes_in, unsigned, int, long long>(
              std::declval<void*>(), std::declval<std::size_t&>(), bytes_in{}, std::declval<unsigned* (&)[3]>(),
              std::declval<const int (&)[3]>(), std::declval<const int* (&)[3]>(), 0ll, cudaStream_t{}))>> = true;

TEST_F(Defects, TemplateParametersOfHistogramsComeInTheOrderOfCubs) {
  EXPECT_TRUE(names_even_as_cub_does<DeviceHistogram>);
  EXPECT_TRUE(names_even_rows_as_cub_does<DeviceHistogram>);
  EXPECT_TRUE(names_range_as_cub_does<DeviceHistogram>);
}

}  // namespace
}  // namespace rungs::tests
