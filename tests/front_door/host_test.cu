// What a call of the front door does on the host, over a runtime that runs nothing: what it costs, what it launches,
// and that every failure comes back, with nothing enqueued behind it and nothing lost. No GPU is used. Defects that
// users met are tested here as far as they are seen without a GPU; their results are defects_test.cu's.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "faults/fake_runtime.hpp"
#include "front_door/both_forms.hpp"
#include "front_door/far_away.hpp"
#include "front_door/lambdas.hpp"
#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

const cudaStream_t first = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x100}),
                   second = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x200});

class Host : public ::testing::Test {
 protected:
  Host() { fake::current() = {}; }
  ~Host() override { fake::current() = {}; }
};

std::size_t num_calls_of(const std::string& name) {
  std::size_t calls = 0;
  for (const fake::call& each : fake::current().calls) calls += each.name == name;
  return calls;
}
std::size_t num_launches() {
  std::size_t launches = 0;
  for (const fake::call& each : fake::current().calls) launches += each.launches();
  return launches;
}
void expect_nothing_enqueued(const std::string& what) {
  for (const fake::call& each : fake::current().calls) EXPECT_FALSE(each.enqueues) << what << ": " << each.name;
}

// ---- the calls, of n items on the first stream

struct path {
  std::string name;
  both_forms<std::size_t> call;

  cudaError_t size(std::size_t n, std::size_t& bytes) const { return call(nullptr, bytes, n); }
  cudaError_t in_two_phases(std::size_t n) const {
    std::size_t bytes = 0;
    const cudaError_t error = size(n, bytes);
    return error != cudaSuccess ? error : call(far_away<void>(100), bytes, n);
  }
};
void PrintTo(const path& each, std::ostream* out) { *out << each.name; }

struct exclusive_or {
  __host__ __device__ long long operator()(long long a, long long b) const { return a ^ b; }
};

struct first_and_second {  // as cuda::std::pair
  int first;
  float second;
};

unsigned* const d_histograms[3] = {far_away<unsigned>(3), far_away<unsigned>(4), far_away<unsigned>(5)};
const int* const d_levels[3] = {far_away<const int>(6), far_away<const int>(7), far_away<const int>(8)};

std::vector<path> all_paths() {
  std::vector<path> all;
  const auto append = [&](std::string name, auto call) {
    all.push_back({std::move(name), both_forms<std::size_t>(call)});
  };
  append("Sum", [](std::size_t n, auto&... storage) {
    return DeviceReduce::Sum(storage..., far_away<const float>(1), far_away<float>(2), n, first);
  });
  append("Reduce", [](std::size_t n, auto&... storage) {
    return DeviceReduce::Reduce(storage..., far_away<const long long>(1), far_away<long long>(2), n, exclusive_or{},
                                7ll, first);
  });
  append("ArgMin", [](std::size_t n, auto&... storage) {
    return DeviceReduce::ArgMin(storage..., far_away<const float>(1), far_away<float>(2), far_away<long long>(3),
                                static_cast<long long>(n), first);
  });
  append("ArgMinMax", [](std::size_t n, auto&... storage) {
    return DeviceReduce::ArgMinMax(storage..., far_away<const float>(1), far_away<float>(2), far_away<long long>(3),
                                   far_away<float>(2) + 1, far_away<long long>(3) + 1, static_cast<long long>(n),
                                   first);
  });
  append("ExactSum", [](std::size_t n, auto&... storage) {
    return DeviceReduce::ExactSum(storage..., far_away<const float>(1), far_away<float>(2), n, first);
  });
  append("ExactSum of doubles as a record", [](std::size_t n, auto&... storage) {
    return DeviceReduce::ExactSum(storage..., far_away<const double>(1), far_away<exact_sum<double>>(2), n, first);
  });
  append("ExactDot", [](std::size_t n, auto&... storage) {
    return DeviceReduce::ExactDot(storage..., far_away<const float>(1), far_away<const float>(3) + 1,
                                  far_away<float>(2), n, first);
  });
  append("ExactDot of doubles", [](std::size_t n, auto&... storage) {
    return DeviceReduce::ExactDot(storage..., far_away<const double>(1), far_away<const double>(3), far_away<double>(2),
                                  n, first);
  });
  append("Sum of segments of 100", [](std::size_t n, auto&... storage) {
    return DeviceSegmentedReduce::Sum(storage..., far_away<const float>(1), far_away<float>(2), n / 100, 100, first);
  });
  append("Reduce of one segment", [](std::size_t n, auto&... storage) {
    return DeviceSegmentedReduce::Reduce(storage..., far_away<const long long>(1), far_away<long long>(2), 1, n,
                                         exclusive_or{}, 7ll, first);
  });
  append("ArgMax of segments of 10", [](std::size_t n, auto&... storage) {
    return DeviceSegmentedReduce::ArgMax(storage..., far_away<const float>(1), far_away<KeyValuePair<int, float>>(2),
                                         n / 10, 10, first);
  });
  append("ArgMin of segments of 10, as first and second", [](std::size_t n, auto&... storage) {
    return DeviceSegmentedReduce::ArgMin(storage..., far_away<const float>(1), far_away<first_and_second>(2), n / 10,
                                         10, first);
  });
  append("Sum of segments between offsets", [](std::size_t n, auto&... storage) {
    return DeviceSegmentedReduce::Sum(storage..., far_away<const float>(1), far_away<float>(2), n / 100,
                                      far_away<const int>(3), far_away<const int>(4), first);
  });
  append("ArgMin of segments between offsets", [](std::size_t n, auto&... storage) {
    return DeviceSegmentedReduce::ArgMin(storage..., far_away<const double>(1), far_away<KeyValuePair<int, double>>(2),
                                         n / 100, far_away<const long long>(3), far_away<const long long>(4), first);
  });
  append("InclusiveSum", [](std::size_t n, auto&... storage) {
    return DeviceScan::InclusiveSum(storage..., far_away<const float>(1), far_away<float>(2), n, first);
  });
  append("InclusiveSum off 16 bytes", [](std::size_t n, auto&... storage) {
    return DeviceScan::InclusiveSum(storage..., far_away<const float>(1) + 1, far_away<float>(2) + 1, n, first);
  });
  append("ExclusiveScan", [](std::size_t n, auto&... storage) {
    return DeviceScan::ExclusiveScan(storage..., far_away<const map>(1), far_away<map>(2), then{}, map{1, 0}, n, first);
  });
  for (const int num_bins : {1, 16, 256, 4096, 9000, 65'536, 70'000, 1 << 20}) {
    const std::string bins = ", " + std::to_string(num_bins) + " bins";
    append("HistogramEven of bytes" + bins, [=](std::size_t n, auto&... storage) {
      return DeviceHistogram::HistogramEven(storage..., far_away<const unsigned char>(1), d_histograms[0], num_bins + 1,
                                            0, num_bins, n, first);
    });
    append("HistogramEven of ints" + bins, [=](std::size_t n, auto&... storage) {
      return DeviceHistogram::HistogramEven(storage..., far_away<const int>(1), d_histograms[0], num_bins + 1, 0,
                                            num_bins, n, first);
    });
    append("HistogramRange" + bins, [=](std::size_t n, auto&... storage) {
      return DeviceHistogram::HistogramRange(storage..., far_away<const int>(1), d_histograms[0], num_bins + 1,
                                             d_levels[0], n, first);
    });
    append("MultiHistogramEven" + bins, [=](std::size_t n, auto&... storage) {
      const int num_levels[3] = {num_bins + 1, 257, 2}, lower[3] = {}, upper[3] = {num_bins, 256, 1};
      return DeviceHistogram::MultiHistogramEven<4, 3>(storage..., far_away<const unsigned char>(1), d_histograms,
                                                       num_levels, lower, upper, n / 4, first);
    });
    append("MultiHistogramRange" + bins, [=](std::size_t n, auto&... storage) {
      const int num_levels[3] = {num_bins + 1, 257, 2};
      return DeviceHistogram::MultiHistogramRange<4, 3>(storage..., far_away<const int>(1), d_histograms, num_levels,
                                                        d_levels, n / 4, first);
    });
  }
  // nvcc's two passes have to agree on what a call with a lambda launches.
  for (const lambda_call& each : calls_with_lambdas())
    append(each.name, [call = each.call](std::size_t n, auto&... storage) {
      return call(storage..., far_away<const float>(1), far_away<float>(2), n, first);
    });
  return all;
}

// Of ten rows. They need no storage.
std::vector<std::function<cudaError_t()>> calls_on_rows(std::size_t columns) {
  const rows::matrix in{far_away<const float>(1), 10, columns};
  const rows::matrix out{far_away<float>(2), 10, columns};
  return {[=] { return rows::softmax(in, out, first); },
          [=] { return rows::layer_norm(in, out, {}, first); },
          [=] { return rows::rms_norm(in, out, {}, first); },
          [=] { return rows::log_sum_exp(in, far_away<float>(3), first); },
          [=] { return rows::cross_entropy(in, far_away<const int>(4), far_away<float>(3), {}, first); },
          [=] {
            return rows::merge_attention(far_away<const float>(1), far_away<const float>(5), 2, 10, columns,
                                         far_away<float>(2), far_away<float>(3), first);
          }};
}

// ---- every path with every call of the runtime failing in its turn

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

class Faults : public Host, public ::testing::WithParamInterface<path> {
 protected:
  const path& path_ = GetParam();

  // From now on the failing_call-th call of the runtime fails; 0: none does.
  void begin(int failing_call = 0, cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone) const {
    fake::current() = {};
    fake::current().capability = capability_;
    fake::current().capture = capture;
    fake::current().failing_call = failing_call;
    fake::current().error = cudaErrorLaunchOutOfResources;
  }

  // What holds once status was returned; whether a call had failed. What was allocated may be freed then.
  static bool has_failed(cudaError_t status, const std::string& what) {
    const auto& calls = fake::current().calls;
    if (!fake::current().failed()) {
      EXPECT_EQ(status, cudaSuccess) << what;
      EXPECT_TRUE(fake::current().unregistered.empty()) << what;
      return false;
    }
    const auto failing = static_cast<std::size_t>(fake::current().failing_call);
    const std::string& failed = calls[failing - 1].name;
    EXPECT_EQ(status, cudaErrorLaunchOutOfResources) << what << ": call " << failing << ", " << failed << ", failed";
    for (std::size_t later = failing; later < calls.size(); ++later)
      EXPECT_FALSE(calls[later].enqueues && calls[later].name != "cudaFreeAsync")
          << what << ": " << calls[later].name << " after " << failed << " had failed";
    return true;
  }

  // For every size and device: visit(n, what they are).
  template <class Visit>
  void for_each_size(Visit visit) {
    for (const int capability : capabilities)
      for (const std::size_t n : sizes) {
        capability_ = capability;
        visit(n, "n = " + std::to_string(n) + ", capability " + std::to_string(capability));
      }
  }
  // The same, where attempt(n, failing_call, what) tells whether that call has failed, until none has.
  template <class Attempt>
  void for_each_failure(Attempt attempt) {
    for_each_size([&](std::size_t n, const std::string& what) {
      for (int failing_call = 1; attempt(n, failing_call, what); ++failing_call)
        ASSERT_LT(failing_call, 200) << what << ": no end of calls";
    });
  }

  int capability_ = 90;
};

TEST_P(Faults, TheSizeIsNotToldWhereTheRuntimeFails) {
  for_each_failure([&](std::size_t n, int failing_call, const std::string& what) {
    begin(failing_call);
    std::size_t bytes = 0;
    const cudaError_t status = path_.size(n, bytes);
    expect_nothing_enqueued(what);
    return has_failed(status, what);
  });
}

TEST_P(Faults, ACallInTwoPhasesReturnsWhatFailed) {
  for (const auto capture : {cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive})
    for_each_failure([&](std::size_t n, int failing_call, const std::string& what) {
      begin();
      std::size_t bytes = 0;
      EXPECT_EQ(path_.size(n, bytes), cudaSuccess) << what;
      begin(failing_call, capture);
      const cudaError_t status = path_.call(far_away<void>(100), bytes, n);
      EXPECT_EQ(num_calls_of("cudaMallocAsync"), 0u) << what;
      return has_failed(status, what);
    });
}

// A new workspace allocates; one that holds memory already grows.
TEST_P(Faults, AWorkspaceThatAllocatesSurvivesWhatFails) {
  for (const bool has_memory : {false, true})
    for_each_failure([&](std::size_t n, int failing_call, const std::string& what) {
      bool failed = false;
      {
        workspace workspace;
        begin();
        if (has_memory) EXPECT_EQ(workspace.reserve(contents::uninitialised, 1, first), cudaSuccess);
        if (has_memory) EXPECT_EQ(workspace.reserve(contents::zeroed_once, 1, first), cudaSuccess);
        begin(failing_call);
        failed = has_failed(path_.call(workspace, n), what);
        begin();
        EXPECT_EQ(path_.call(workspace, n), cudaSuccess) << what << ", after call " << failing_call << " had failed";
      }
      EXPECT_EQ(fake::num_allocations(), 0u) << what << ", after call " << failing_call << " had failed";
      return failed;
    });
}

// The workspace is large enough, as a captured call needs it.
TEST_P(Faults, ACapturedCallWithAWorkspaceReturnsWhatFailed) {
  for_each_failure([&](std::size_t n, int failing_call, const std::string& what) {
    workspace workspace;
    begin();
    EXPECT_EQ(path_.call(workspace, n), cudaSuccess) << what;
    begin(failing_call, cudaStreamCaptureStatusActive);
    const cudaError_t status = path_.call(workspace, n);
    EXPECT_EQ(num_calls_of("cudaMallocAsync"), 0u) << what;
    const bool failed = has_failed(status, what);
    begin();
    return failed;
  });
  EXPECT_EQ(fake::num_allocations(), 0u);
}

// nvcc's two passes disagreed on calls with lambdas: nothing was launched, or what is no kernel.
TEST_P(Faults, LaunchesKernelsThatWereCompiled) {
  for_each_size([&](std::size_t n, const std::string& what) {
    if (n < 4) return;
    for (const bool has_workspace : {false, true}) {
      begin();
      workspace workspace;
      EXPECT_EQ(has_workspace ? path_.call(workspace, n) : path_.in_two_phases(n), cudaSuccess) << what;
      EXPECT_TRUE(fake::current().unregistered.empty()) << what;
      EXPECT_GT(num_launches(), 0u) << what;
    }
  });
}

// A part of a device has less than eight multiprocessors, and no room for a cluster of 16.
TEST_P(Faults, OnFewMultiprocessorsNoGridIsEmpty) {
  for (int multiprocessors = 1; multiprocessors <= 8; ++multiprocessors)
    for (const std::size_t n : {std::size_t{4}, std::size_t{4000}, std::size_t{100'000}, std::size_t{1} << 24}) {
      const std::string where = std::to_string(multiprocessors) + " multiprocessors, n = " + std::to_string(n);
      fake::current() = {};
      fake::current().multiprocessors = multiprocessors;
      fake::current().clusters = 0;
      EXPECT_EQ(path_.in_two_phases(n), cudaSuccess) << where;
      for (const fake::call& each : fake::current().calls)
        if (each.launches()) EXPECT_GT(each.grid_blocks, 0u) << where;
    }
}

INSTANTIATE_TEST_SUITE_P(Paths, Faults, ::testing::ValuesIn(all_paths()));

// The part of a mangled name in front of its template arguments, which tells one kernel from another.
std::string without_arguments(const std::string& mangled) { return mangled.substr(0, mangled.find("kernelI")); }

// Otherwise a rung's failures would go unseen above.
TEST_F(Host, ThePathsComeToEveryKernelOfThisProgram) {
  std::set<std::string> registered, launched;
  for (const auto& [function, name] : fake::registered_kernels()) registered.insert(without_arguments(name));
  for (const path& each : all_paths())
    for (const int capability : capabilities)
      for (const std::size_t n : sizes) {
        workspace workspace;
        fake::current() = {};
        fake::current().capability = capability;
        EXPECT_EQ(each.in_two_phases(n), cudaSuccess) << each.name;
        EXPECT_EQ(each.call(workspace, n), cudaSuccess) << each.name;
        fake::current().capture = cudaStreamCaptureStatusActive;
        EXPECT_EQ(each.in_two_phases(n), cudaSuccess) << each.name;
        fake::current().capture = cudaStreamCaptureStatusNone;
        for (const fake::call& made : fake::current().calls)
          if (made.launches()) launched.insert(without_arguments(fake::registered_kernels().at(made.kernel)));
      }
  fake::current() = {};
  for (const std::size_t columns : {10, 200, 200'000})
    for (const auto& call : calls_on_rows(columns)) EXPECT_EQ(call(), cudaSuccess);
  for (const fake::call& made : fake::current().calls)
    if (made.launches()) launched.insert(without_arguments(fake::registered_kernels().at(made.kernel)));
  EXPECT_GT(registered.size(), 10u);
  for (const std::string& each : registered) EXPECT_EQ(launched.count(each), 1u) << each;
}

TEST_F(Host, OperationsOnRowsReturnWhatFails) {
  for (const int capability : capabilities)
    for (const std::size_t columns : {1, 10, 1000, 8000, 20'000, 200'000, 3'000'000})
      for (const auto& call : calls_on_rows(columns))
        for (int failing_call = 1;; ++failing_call) {
          ASSERT_LT(failing_call, 20);
          fake::current() = {};
          fake::current().capability = capability;
          fake::current().failing_call = failing_call;
          fake::current().error = cudaErrorLaunchOutOfResources;
          const cudaError_t status = call();
          if (!fake::current().failed()) {
            EXPECT_EQ(status, cudaSuccess);
            EXPECT_EQ(num_launches(), 1u);
            EXPECT_TRUE(fake::current().unregistered.empty());
            break;
          }
          EXPECT_EQ(status, cudaErrorLaunchOutOfResources) << "call " << failing_call;
        }
}

// ---- what a call costs

template <class Call>
std::size_t runtime_calls(Call call) {
  fake::current() = {};
  EXPECT_EQ(call(), cudaSuccess);
  return fake::current().calls.size();
}

// The device is asked for its compute capability and for clusters; for a scan for its shared memory and its
// multiprocessors, too.
constexpr std::size_t choice_of_reduction = 5, choice_of_scan = 9;

constexpr device::storage_is workspaces = device::storage_is::workspaces;

TEST_F(Host, WithAWorkspaceAReductionAsksNoRungButTheChosenOne) {
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

TEST_F(Host, WithAWorkspaceAScanAsksNoRungButTheChosenOne) {
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

// Both kinds of contents of a workspace.
cudaError_t use(workspace& workspace, cudaStream_t stream, std::size_t n = std::size_t{1} << 24) {
  cudaError_t error = DeviceReduce::Sum(workspace, far_away<const float>(1), far_away<float>(2), n, stream);
  if (error == cudaSuccess)
    error = DeviceScan::InclusiveSum(workspace, far_away<const float>(1), far_away<float>(2), n, stream);
  return error;
}

// What is enough for a call is enough for all that have fewer items: after the largest, none allocates.
TEST_F(Host, AWorkspaceGrowsOnceForTheLargestCall) {
  workspace workspace;
  const auto allocations = [&](std::size_t n) {
    fake::current() = {};
    EXPECT_EQ(use(workspace, first, n), cudaSuccess);
    return num_calls_of("cudaMallocAsync");
  };
  EXPECT_GE(allocations(std::size_t{1} << 26), 1u);
  for (std::size_t n = std::size_t{1} << 26; n > 0; n = n * 2 / 3) EXPECT_EQ(allocations(n), 0u) << "n = " << n;
}

// Each number of bins wants another amount of shared memory of one kernel.
TEST_F(Host, ThreadsDoNotTakeSharedMemoryFromEachOther) {
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

// ---- a workspace that ends while its last call is pending

// That what was allocated is freed behind what is on that stream, all of it.
void expect_freed_on(cudaStream_t stream) {
  EXPECT_EQ(num_calls_of("cudaFree"), 0u) << "it does not wait for memory that cudaMallocAsync has given";
  EXPECT_GT(num_calls_of("cudaFreeAsync"), 0u);
  for (const fake::call& each : fake::current().calls)
    if (each.name == "cudaFreeAsync") EXPECT_EQ(each.stream, stream);
  EXPECT_EQ(fake::num_allocations(), 0u);
}

TEST_F(Host, AWorkspaceFreesOnTheStreamThatUsedItLast) {
  {
    workspace workspace;
    EXPECT_EQ(use(workspace, first), cudaSuccess);
    fake::current() = {};
  }
  expect_freed_on(first);
}

TEST_F(Host, AWorkspaceThatWasHandedOverFreesOnItsNewStream) {
  {
    workspace workspace;
    EXPECT_EQ(use(workspace, first), cudaSuccess);
    EXPECT_EQ(workspace.hand_over(first, second), cudaSuccess);
    EXPECT_EQ(use(workspace, second, 1000), cudaSuccess);
    fake::current() = {};
  }
  expect_freed_on(second);
}

TEST_F(Host, AWorkspaceThatWasMovedTakesItsStreamAlong) {
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

TEST_F(Host, AWorkspaceThatIsReplacedFreesOnItsOwnStream) {
  {
    workspace workspace;
    EXPECT_EQ(use(workspace, second), cudaSuccess);
    fake::current() = {};
    workspace = {};
  }
  expect_freed_on(second);
}

// ---- stream capture

TEST_F(Host, AWorkspaceThatWouldGrowInACaptureRefuses) {
  workspace workspace;
  for (const std::size_t largest_before : {std::size_t{0}, std::size_t{1000}}) {
    fake::current() = {};
    if (largest_before != 0) EXPECT_EQ(use(workspace, first, largest_before), cudaSuccess);
    fake::current() = {};
    fake::current().capture = cudaStreamCaptureStatusActive;
    const std::size_t n = std::size_t{1} << 28;
    EXPECT_NE(DeviceScan::InclusiveSum(workspace, far_away<const float>(1), far_away<float>(2), n, first), cudaSuccess);
    expect_nothing_enqueued("InclusiveSum");
  }
  // Afterwards it grows as ever; what is large enough may be captured.
  fake::current() = {};
  EXPECT_EQ(use(workspace, first), cudaSuccess);
  fake::current().capture = cudaStreamCaptureStatusActive;
  EXPECT_EQ(use(workspace, first), cudaSuccess);
  EXPECT_NE(workspace.reserve(contents::uninitialised, std::size_t{1} << 30, first), cudaSuccess);
  fake::current() = {};  // nor is anything freed in a capture
}

// ---- histograms as a user of CUB writes them

TEST_F(Host, TheSizeOfAnUnevenHistogramNeedsNoLevels) {
  const int num_levels[3] = {11, 257, 5000};
  const int* const no_levels[3] = {};
  unsigned* const no_histograms[3] = {};
  const int* const no_samples = nullptr;
  std::size_t bytes = 0, multi_bytes = 0;
  EXPECT_EQ(DeviceHistogram::HistogramRange(nullptr, bytes, no_samples, no_histograms[0], 11, no_levels[0], 100),
            cudaSuccess);
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ((DeviceHistogram::MultiHistogramRange<4, 3>(nullptr, multi_bytes, no_samples, no_histograms, num_levels,
                                                        no_levels, 100)),
            cudaSuccess);
  EXPECT_GT(multi_bytes, 0u);
  EXPECT_EQ(num_launches(), 0u);
}

// Template arguments that are written out.
template <class Door>
concept names_parameters_as_cub_does = requires(void* d_temp_storage, std::size_t& bytes,
                                                const unsigned char* d_samples, unsigned* (&d_histograms)[3],
                                                const int (&ints)[3], const int* (&d_levels)[3], long long n,
                                                cudaStream_t stream) {
  Door::template MultiHistogramEven<4, 3, const unsigned char*, unsigned, int, long long>(
      d_temp_storage, bytes, d_samples, d_histograms, ints, ints, ints, n, stream);
  Door::template MultiHistogramEven<4, 3, const unsigned char*, unsigned, int, long long>(
      d_temp_storage, bytes, d_samples, d_histograms, ints, ints, ints, n, n, bytes, stream);
  Door::template MultiHistogramRange<4, 3, const unsigned char*, unsigned, int, long long>(
      d_temp_storage, bytes, d_samples, d_histograms, ints, d_levels, n, stream);
};

TEST_F(Host, TemplateParametersOfHistogramsComeInTheOrderOfCubs) {
  EXPECT_TRUE(names_parameters_as_cub_does<DeviceHistogram>);
}

}  // namespace
}  // namespace rungs::tests
