// What a call costs the host, and what threads do to each other there: the front door over a runtime that runs nothing.
// No GPU is used.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <atomic>
#include <thread>
#include <vector>

#include "faults/fake_runtime.hpp"
#include "front_door/far_away.hpp"

namespace rungs::tests {
namespace {

template <class Call>
std::size_t runtime_calls(Call call) {
  fake::current() = {};
  EXPECT_EQ(call(), cudaSuccess);
  return fake::current().calls.size();
}

// The device is asked for its compute capability and for clusters; for a scan for its shared memory, too.
constexpr std::size_t choice_of_reduction = 5, choice_of_scan = 7;

constexpr device::storage_is workspaces = device::storage_is::workspaces;

TEST(Host, WithAWorkspaceAReductionAsksNoRungButTheChosenOne) {
  const std::size_t n = 1 << 20;
  std::size_t bytes = 1 << 20;
  const auto reduce = [&](auto door) {
    return runtime_calls([&] {
      return decltype(door)::named::reduce(far_away<void>(1), bytes, far_away<const float>(2), far_away<float>(3), n,
                                           plus{}, 0.0f);
    });
  };
  using door = reductions::front_door_of<workspaces>;
  EXPECT_EQ(reduce(parts::type<door>{}), choice_of_reduction + reduce(parts::type<reductions::tagged_aggregates>{}));
}

TEST(Host, WithAWorkspaceAScanAsksNoRungButTheChosenOne) {
  const std::size_t n = 1 << 20;
  std::size_t bytes = 1 << 24;
  const auto scan = [&](auto door) {
    return runtime_calls([&] {
      return decltype(door)::named::inclusive_scan(far_away<void>(1), bytes, far_away<const float>(2),
                                                   far_away<float>(3), plus{}, n);
    });
  };
  using door = scans::front_door_of<workspaces>;
  EXPECT_EQ(scan(parts::type<door>{}), choice_of_scan + scan(parts::type<scans::tagged_wave>{}));
}

// What is enough for a call is enough for all that have fewer items: after the largest, none allocates.
TEST(Host, AWorkspaceGrowsOnceForTheLargestCall) {
  workspace workspace;
  const auto allocations = [&](std::size_t n) {
    fake::current() = {};
    EXPECT_EQ(DeviceScan::InclusiveSum(workspace, far_away<const float>(2), far_away<float>(3), n), cudaSuccess);
    EXPECT_EQ(DeviceReduce::Sum(workspace, far_away<const float>(2), far_away<float>(3), n), cudaSuccess);
    std::size_t allocations = 0;
    for (const fake::call& each : fake::current().calls) allocations += each.name == "cudaMallocAsync";
    return allocations;
  };
  EXPECT_GE(allocations(std::size_t{1} << 26), 1u);
  for (std::size_t n = std::size_t{1} << 26; n > 0; n = n * 2 / 3) EXPECT_EQ(allocations(n), 0u) << "n = " << n;
}

// Each number of bins wants another amount of shared memory of one kernel.
TEST(Host, ThreadsDoNotTakeSharedMemoryFromEachOther) {
  fake::current() = {};
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (const int num_bins : {256, 14'000, 20'000, 30'000, 40'000, 50'000})
    threads.emplace_back([&refused, num_bins] {
      workspace workspace;
      for (int call = 0; call < 500; ++call)
        refused +=
            cudaSuccess != DeviceHistogram::HistogramEven(workspace, far_away<const unsigned short>(1),
                                                          far_away<unsigned>(2), num_bins + 1, 0, num_bins, 1 << 26);
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace rungs::tests
