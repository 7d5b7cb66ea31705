// Every failure of the runtime in every path of the front door: the error comes back, nothing is enqueued behind it,
// nothing leaks, and the next call works. Over a runtime that runs nothing; no GPU is used.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "faults/fake_runtime.hpp"
#include "front_door/far_away.hpp"
#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

const cudaStream_t stream = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x100});

struct path {
  std::string name;
  std::function<cudaError_t(void*, std::size_t&, std::size_t)> in_two_phases;
  std::function<cudaError_t(workspace&, std::size_t)> with_workspace;
};

// call(n, storage...) in both forms.
template <class Call>
path in_both_forms(std::string name, Call call) {
  return {std::move(name),
          [=](void* d_temp_storage, std::size_t& temp_storage_bytes, std::size_t n) {
            return call(n, d_temp_storage, temp_storage_bytes);
          },
          [=](workspace& workspace, std::size_t n) { return call(n, workspace); }};
}

struct exclusive_or {
  __host__ __device__ long long operator()(long long a, long long b) const { return a ^ b; }
};

unsigned* const d_histograms[3] = {far_away<unsigned>(3), far_away<unsigned>(4), far_away<unsigned>(5)};
const int* const d_levels[3] = {far_away<const int>(6), far_away<const int>(7), far_away<const int>(8)};

void append_histograms(std::vector<path>& all, int num_bins) {
  const std::string bins = ", " + std::to_string(num_bins) + " bins";
  all.push_back(in_both_forms("HistogramEven of bytes" + bins, [=](std::size_t n, auto&... storage) {
    return DeviceHistogram::HistogramEven(storage..., far_away<const unsigned char>(1), d_histograms[0], num_bins + 1,
                                          0, num_bins, n, stream);
  }));
  all.push_back(in_both_forms("HistogramEven of ints" + bins, [=](std::size_t n, auto&... storage) {
    return DeviceHistogram::HistogramEven(storage..., far_away<const int>(1), d_histograms[0], num_bins + 1, 0,
                                          num_bins, n, stream);
  }));
  all.push_back(in_both_forms("HistogramRange" + bins, [=](std::size_t n, auto&... storage) {
    return DeviceHistogram::HistogramRange(storage..., far_away<const int>(1), d_histograms[0], num_bins + 1,
                                           d_levels[0], n, stream);
  }));
  all.push_back(in_both_forms("MultiHistogramEven" + bins, [=](std::size_t n, auto&... storage) {
    const int num_levels[3] = {num_bins + 1, 257, 2}, lower[3] = {}, upper[3] = {num_bins, 256, 1};
    return DeviceHistogram::MultiHistogramEven<4, 3>(storage..., far_away<const unsigned char>(1), d_histograms,
                                                     num_levels, lower, upper, n / 4, stream);
  }));
  all.push_back(in_both_forms("MultiHistogramRange" + bins, [=](std::size_t n, auto&... storage) {
    const int num_levels[3] = {num_bins + 1, 257, 2};
    return DeviceHistogram::MultiHistogramRange<4, 3>(storage..., far_away<const int>(1), d_histograms, num_levels,
                                                      d_levels, n / 4, stream);
  }));
}

const std::vector<path>& paths() {
  static const std::vector<path> all = [] {
    std::vector<path> all;
    all.push_back(in_both_forms("Sum", [](std::size_t n, auto&... storage) {
      return DeviceReduce::Sum(storage..., far_away<const float>(1), far_away<float>(2), n, stream);
    }));
    all.push_back(in_both_forms("Reduce", [](std::size_t n, auto&... storage) {
      return DeviceReduce::Reduce(storage..., far_away<const long long>(1), far_away<long long>(2), n, exclusive_or{},
                                  7ll, stream);
    }));
    all.push_back(in_both_forms("ArgMin", [](std::size_t n, auto&... storage) {
      return DeviceReduce::ArgMin(storage..., far_away<const float>(1), far_away<float>(2), far_away<long long>(3),
                                  static_cast<long long>(n), stream);
    }));
    all.push_back(in_both_forms("InclusiveSum", [](std::size_t n, auto&... storage) {
      return DeviceScan::InclusiveSum(storage..., far_away<const float>(1), far_away<float>(2), n, stream);
    }));
    all.push_back(in_both_forms("InclusiveSum off 16 bytes", [](std::size_t n, auto&... storage) {
      return DeviceScan::InclusiveSum(storage..., far_away<const float>(1) + 1, far_away<float>(2) + 1, n, stream);
    }));
    all.push_back(in_both_forms("ExclusiveScan", [](std::size_t n, auto&... storage) {
      return DeviceScan::ExclusiveScan(storage..., far_away<const map>(1), far_away<map>(2), then{}, map{1, 0}, n,
                                       stream);
    }));
    for (const int num_bins : {16, 256, 4096, 65'536, 1 << 20}) append_histograms(all, num_bins);
    return all;
  }();
  return all;
}

// On either side of the steps in the tables.
const std::size_t sizes[] = {0,
                             1,
                             1000,
                             5000,
                             20'000,
                             70'000,
                             300'000,
                             1'000'000,
                             std::size_t{1} << 22,
                             std::size_t{1} << 24,
                             std::size_t{1} << 28};
const int capabilities[] = {80, 90};

class Faults : public ::testing::Test {
 protected:
  void SetUp() override { fake::current() = {}; }
  void TearDown() override { fake::current() = {}; }

  static void begin(int capability, int failing_call = 0,
                    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone) {
    fake::current() = {};
    fake::current().capability = capability;
    fake::current().capture = capture;
    fake::current().failing_call = failing_call;
    fake::current().error = cudaErrorLaunchOutOfResources;
  }

  // What holds once the failing_call-th call of the runtime has failed. What was allocated may be freed.
  static void expect_returned(cudaError_t status, int failing_call, const std::string& what) {
    const auto& calls = fake::current().calls;
    const std::string& failed = calls[static_cast<std::size_t>(failing_call) - 1].name;
    EXPECT_EQ(status, cudaErrorLaunchOutOfResources)
        << what << ": call " << failing_call << ", " << failed << ", failed";
    for (std::size_t later = static_cast<std::size_t>(failing_call); later < calls.size(); ++later)
      EXPECT_FALSE(calls[later].enqueues && calls[later].name != "cudaFreeAsync")
          << what << ": " << calls[later].name << " after " << failed << " had failed";
  }

  // For every path, size and device: call(path, n, capability, its name).
  template <class Call>
  static void for_each_path(Call call) {
    for (const path& each : paths())
      for (const int capability : capabilities)
        for (const std::size_t n : sizes)
          call(each, n, capability,
               each.name + ", n = " + std::to_string(n) + ", capability " + std::to_string(capability));
  }
};

constexpr int most_calls = 200;

TEST_F(Faults, TheSizeIsNotToldWhereTheRuntimeFails) {
  for_each_path([](const path& each, std::size_t n, int capability, const std::string& what) {
    for (int k = 1; k < most_calls; ++k) {
      begin(capability, k);
      std::size_t bytes = 0;
      const cudaError_t status = each.in_two_phases(nullptr, bytes, n);
      for (const fake::call& made : fake::current().calls) EXPECT_FALSE(made.enqueues) << what << ": " << made.name;
      if (!fake::current().failed()) {
        EXPECT_EQ(status, cudaSuccess) << what;
        return;
      }
      expect_returned(status, k, what);
    }
    FAIL() << what << ": no end of calls";
  });
}

TEST_F(Faults, ACallInTwoPhasesReturnsWhatFailed) {
  for (const auto capture : {cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive})
    for_each_path([&](const path& each, std::size_t n, int capability, const std::string& what) {
      begin(capability);
      std::size_t bytes = 0;
      ASSERT_EQ(each.in_two_phases(nullptr, bytes, n), cudaSuccess) << what;
      for (int k = 1; k < most_calls; ++k) {
        begin(capability, k, capture);
        const cudaError_t status = each.in_two_phases(far_away<void>(100), bytes, n);
        for (const fake::call& made : fake::current().calls) EXPECT_NE(made.name, "cudaMallocAsync") << what;
        if (!fake::current().failed()) {
          EXPECT_EQ(status, cudaSuccess) << what;
          EXPECT_TRUE(fake::current().unregistered.empty()) << what;
          return;
        }
        expect_returned(status, k, what);
      }
      FAIL() << what << ": no end of calls";
    });
}

// The workspace is new, and so allocates.
TEST_F(Faults, ANewWorkspaceSurvivesWhatFails) {
  for_each_path([](const path& each, std::size_t n, int capability, const std::string& what) {
    bool has_ended = false;
    for (int k = 1; k < most_calls && !has_ended; ++k) {
      {
        workspace workspace;
        begin(capability, k);
        const cudaError_t status = each.with_workspace(workspace, n);
        has_ended = !fake::current().failed();
        if (has_ended)
          EXPECT_EQ(status, cudaSuccess) << what;
        else
          expect_returned(status, k, what);
        begin(capability);
        EXPECT_EQ(each.with_workspace(workspace, n), cudaSuccess) << what << ", after call " << k << " had failed";
      }
      ASSERT_EQ(fake::num_allocations(), 0u) << what << ", after call " << k << " had failed";
    }
    EXPECT_TRUE(has_ended) << what << ": no end of calls";
  });
}

// The workspace holds memory already, and grows.
TEST_F(Faults, AWorkspaceThatGrowsSurvivesWhatFails) {
  for_each_path([](const path& each, std::size_t n, int capability, const std::string& what) {
    bool has_ended = false;
    for (int k = 1; k < most_calls && !has_ended; ++k) {
      {
        workspace workspace;
        begin(capability);
        EXPECT_EQ(workspace.reserve(contents::uninitialised, 1, stream), cudaSuccess);
        EXPECT_EQ(workspace.reserve(contents::zeroed_once, 1, stream), cudaSuccess);
        begin(capability, k);
        const cudaError_t status = each.with_workspace(workspace, n);
        has_ended = !fake::current().failed();
        if (has_ended)
          EXPECT_EQ(status, cudaSuccess) << what;
        else
          expect_returned(status, k, what);
        begin(capability);
        EXPECT_EQ(each.with_workspace(workspace, n), cudaSuccess) << what << ", after call " << k << " had failed";
      }
      ASSERT_EQ(fake::num_allocations(), 0u) << what << ", after call " << k << " had failed";
    }
    EXPECT_TRUE(has_ended) << what << ": no end of calls";
  });
}

// The workspace is large enough, as a captured call needs it.
TEST_F(Faults, ACapturedCallWithAWorkspaceReturnsWhatFailed) {
  for_each_path([](const path& each, std::size_t n, int capability, const std::string& what) {
    workspace workspace;
    begin(capability);
    EXPECT_EQ(each.with_workspace(workspace, n), cudaSuccess) << what;
    for (int k = 1; k < most_calls; ++k) {
      begin(capability, k, cudaStreamCaptureStatusActive);
      const cudaError_t status = each.with_workspace(workspace, n);
      for (const fake::call& made : fake::current().calls) EXPECT_NE(made.name, "cudaMallocAsync") << what;
      if (!fake::current().failed()) {
        EXPECT_EQ(status, cudaSuccess) << what;
        begin(capability);
        return;
      }
      expect_returned(status, k, what);
    }
    FAIL() << what << ": no end of calls";
  });
  EXPECT_EQ(fake::num_allocations(), 0u);
}

// The part of a mangled name in front of its template arguments, which tells one kernel from another.
std::string without_arguments(const std::string& mangled) { return mangled.substr(0, mangled.find("kernelI")); }

// Otherwise a rung's failures would go unseen above.
TEST_F(Faults, ThePathsComeToEveryKernelOfThisProgram) {
  std::set<std::string> registered, launched;
  for (const auto& [function, name] : fake::registered_kernels()) registered.insert(without_arguments(name));
  for_each_path([&](const path& each, std::size_t n, int capability, const std::string& what) {
    const auto collect = [&] {
      for (const fake::call& made : fake::current().calls)
        if (made.launches()) launched.insert(without_arguments(fake::registered_kernels().at(made.kernel)));
    };
    std::size_t bytes = 0;
    begin(capability);
    EXPECT_EQ(each.in_two_phases(nullptr, bytes, n), cudaSuccess) << what;
    EXPECT_EQ(each.in_two_phases(far_away<void>(100), bytes, n), cudaSuccess) << what;
    collect();
    workspace workspace;
    begin(capability);
    EXPECT_EQ(each.with_workspace(workspace, n), cudaSuccess) << what;
    collect();
  });
  EXPECT_GT(registered.size(), 10u);
  for (const std::string& each : registered) EXPECT_EQ(launched.count(each), 1u) << each;
}

}  // namespace
}  // namespace rungs::tests
