// The single-phase form over a runtime that runs nothing: which stream, how much memory, and that every failure comes
// back and nothing is lost. No GPU is used. What calls answer is environment_test.cu's.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "faults/fake_runtime.hpp"
#include "front_door/environment_calls.cuh"
#include "front_door/far_away.hpp"

namespace rungs::tests {
namespace {

const cudaStream_t first = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x100});

places far_places(std::size_t n) { return {far_away<const float>(1), far_away<const int>(2), far_away<char>(3), n}; }

class Environments : public ::testing::Test {
 protected:
  Environments() { fake::current() = {}; }
  ~Environments() override { fake::current() = {}; }

  static std::vector<const void*> kernels() {
    std::vector<const void*> launched;
    for (const fake::call& each : fake::current().calls)
      if (each.launches()) launched.push_back(each.kernel);
    return launched;
  }
  static int calls_of(const std::string& name) {
    int calls = 0;
    for (const fake::call& each : fake::current().calls) calls += each.name == name;
    return calls;
  }
  static void expect_all_on(cudaStream_t stream, const std::string& what) {
    for (const fake::call& each : fake::current().calls)
      if (each.enqueues) EXPECT_EQ(each.stream, stream) << what << ": " << each.name;
  }

  // Fails each runtime call of call() in turn, until none is left to fail.
  template <class Call>
  static void expect_failures(const std::string& what, Call call) {
    for (int failing_call = 1;; ++failing_call) {
      ASSERT_LT(failing_call, 200) << what;
      fake::current() = {};
      fake::current().failing_call = failing_call;
      fake::current().error = cudaErrorLaunchOutOfResources;
      const std::size_t held = fake::num_allocations();
      const cudaError_t error = call();
      if (!fake::current().failed()) {
        EXPECT_EQ(error, cudaSuccess) << what;
        EXPECT_EQ(fake::num_allocations(), held) << what;
        return;
      }
      const fake::call& failed = fake::current().calls[static_cast<std::size_t>(failing_call) - 1];
      EXPECT_EQ(error, cudaErrorLaunchOutOfResources) << what << ": " << failed.name;
      // What the runtime refuses to free is lost, whoever calls it.
      EXPECT_EQ(fake::num_allocations(), held + (failed.name == "cudaFreeAsync")) << what << ": " << failed.name;
    }
  }
};

constexpr std::size_t sizes[] = {0, 1000, 100'000, std::size_t{1} << 23};

TEST_F(Environments, OneAllocationAndTheKernelsOfTwoPhases) {
  for (const std::size_t n : sizes)
    visit_calls(far_places(n), [&](const std::string& name, auto call, auto... arguments) {
      const std::string what = name + ", n = " + std::to_string(n);
      std::size_t bytes = 0;
      void *none = nullptr, *const storage = far_away<void>(100);
      ASSERT_EQ(call(none, bytes, arguments..., first), cudaSuccess) << what;
      fake::current() = {};
      ASSERT_EQ(call(storage, bytes, arguments..., first), cudaSuccess) << what;
      const std::vector<const void*> expected = kernels();
      tally seen;
      environment<counting_resource> by_resource{{first}, {&seen}};
      counting_async_resource older{{&seen}};
      const auto expect = [&](cudaStream_t stream, auto&&... environment) {
        fake::current() = {};
        const std::size_t held = fake::num_allocations();
        EXPECT_EQ(call(arguments..., environment...), cudaSuccess) << what;
        EXPECT_EQ(kernels(), expected) << what;
        EXPECT_EQ(calls_of("cudaMallocAsync"), 1) << what;
        EXPECT_EQ(calls_of("cudaFreeAsync"), 1) << what;
        EXPECT_EQ(fake::num_allocations(), held) << what;
        expect_all_on(stream, what);
      };
      expect(nullptr);
      expect(first, first);
      expect(first, stream_holder{first});
      expect(first, by_resource);
      expect(nullptr, older);
      EXPECT_EQ(seen.allocated, 2) << what;
      EXPECT_EQ(seen.freed, 2) << what;
      EXPECT_EQ(seen.bytes, 0u) << what;
      workspace keeper;
      fake::current() = {};
      EXPECT_EQ(call(arguments..., keeper), cudaSuccess) << what;
      EXPECT_EQ(calls_of("cudaFreeAsync"), 0) << what;
      expect_all_on(nullptr, what);
    });
}

TEST_F(Environments, TwoPhasesTakeAStreamFromThem) {
  const places at = far_places(1000);
  const auto expect = [&](auto call) {
    tally seen;
    std::size_t bytes = 0;
    const environment<counting_resource> by_resource{{first}, {&seen}};
    EXPECT_EQ(call(nullptr, bytes, by_resource), cudaSuccess);
    for (const bool has_resource : {false, true}) {
      fake::current() = {};
      EXPECT_EQ(has_resource ? call(far_away<void>(100), bytes, by_resource)
                             : call(far_away<void>(100), bytes, gpu_to_gpu{first}),
                cudaSuccess);
      EXPECT_FALSE(kernels().empty());
      expect_all_on(first, "in two phases");
      EXPECT_EQ(seen.allocated, 0);
    }
  };
  expect([&](void* d_temp_storage, std::size_t& bytes, const auto& environment) {
    return DeviceReduce::ArgMin(d_temp_storage, bytes, at.d_in, at.out<float>(), at.out<int>(8), at.n, environment);
  });
  expect([&](void* d_temp_storage, std::size_t& bytes, const auto& environment) {
    return DeviceHistogram::HistogramEven(d_temp_storage, bytes, at.d_in, at.out<unsigned>(), 11, 0.0f, 1.0f, 1000,
                                          environment);
  });
  expect([&](void* d_temp_storage, std::size_t& bytes, const auto& environment) {
    return DeviceSelect::Unique(d_temp_storage, bytes, at.d_in, at.out<float>(), at.out<int>(8), at.n, environment);
  });
  expect([&](void* d_temp_storage, std::size_t& bytes, const auto& environment) {
    return DevicePartition::If(d_temp_storage, bytes, at.d_in, at.out<float>(), at.out<int>(8), at.n, is_positive{},
                               environment);
  });
}

TEST_F(Environments, EveryFailureComesBackAndNothingIsLost) {
  for (const std::size_t n : {std::size_t{1000}, std::size_t{1} << 23})
    visit_calls(far_places(n), [&](const std::string& name, auto call, auto... arguments) {
      const std::string what = name + ", n = " + std::to_string(n);
      expect_failures(what, [&] { return call(arguments..., first); });
      expect_failures(what + ", captured", [&] {
        fake::current().capture = cudaStreamCaptureStatusActive;
        return call(arguments..., first);
      });
    });
}

TEST_F(Environments, AResourceThatFailsIsAnError) {
  visit_calls(far_places(1000), [&](const std::string& name, auto call, auto... arguments) {
    tally seen;
    environment<counting_resource> environment{{first}, {&seen}};
    fake::current() = {};
    seen.throws = true;
    EXPECT_EQ(call(arguments..., environment), cudaErrorMemoryAllocation) << name;
    seen.throws = false;
    seen.answers_null = true;
    EXPECT_EQ(call(arguments..., environment), cudaErrorMemoryAllocation) << name;
    EXPECT_TRUE(kernels().empty()) << name;
    seen.answers_null = false;
    // Each launch in turn: the storage goes back to the resource all the same.
    for (int failing_call = 1;; ++failing_call) {
      fake::current() = {};
      fake::current().failing_call = failing_call;
      fake::current().error = cudaErrorLaunchOutOfResources;
      const cudaError_t error = call(arguments..., environment);
      EXPECT_EQ(seen.allocated, seen.freed) << name;
      EXPECT_EQ(seen.bytes, 0u) << name;
      if (!fake::current().failed()) break;
      EXPECT_NE(error, cudaSuccess) << name;
    }
  });
}

}  // namespace
}  // namespace rungs::tests
