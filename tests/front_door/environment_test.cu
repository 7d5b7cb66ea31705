// The single-phase form on a GPU: in every environment the bits of two phases, captured or not; as much memory freed as
// allocated; and what run_to_run and gpu_to_gpu promise. Skipped without a GPU. What fails is
// environment_host_test.cu's.
#include <gtest/gtest.h>
#include <cuda/std/functional>
#include <rungs/device/cuda_std_operators.cuh>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "arrived.hpp"
#include "front_door/environment_calls.cuh"
#include "front_door/gpu_test.cuh"

#if __has_include(<cuda/__execution/determinism.h>)
#include <cuda/stream_ref>
#endif

namespace rungs::tests {
namespace {

class Environments : public GpuTest {
 protected:
  static constexpr std::size_t n = 300'000;

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    input_ = items<float>(n);
    std::vector<int> offsets(11);
    for (int i = 0; i < 11; ++i) offsets[static_cast<std::size_t>(i)] = i * 29'999;
    ASSERT_EQ(cudaMalloc(&d_in_, n * sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&d_offsets_, offsets.size() * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&d_out_, n * sizeof(float)), cudaSuccess);
    ASSERT_EQ(arrived(cudaMemcpy(d_in_, input_.data(), n * sizeof(float), cudaMemcpyHostToDevice)), cudaSuccess);
    ASSERT_EQ(arrived(cudaMemcpy(d_offsets_, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice)),
              cudaSuccess);
  }
  void TearDown() override {
    cudaFree(d_in_);
    cudaFree(d_offsets_);
    cudaFree(d_out_);
    GpuTest::TearDown();
  }

  places at() const { return {d_in_, d_offsets_, d_out_, n}; }

  // What the output holds once enqueue() has run and the device has ended.
  template <class Enqueue>
  std::vector<unsigned char> output_of(const std::string& what, Enqueue enqueue) {
    std::vector<unsigned char> bytes(n * sizeof(float));
    EXPECT_EQ(arrived(cudaMemcpy(d_out_, input_.data(), bytes.size(), cudaMemcpyHostToDevice)), cudaSuccess) << what;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << what;
    EXPECT_EQ(enqueue(), cudaSuccess) << what;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << what;
    EXPECT_EQ(cudaMemcpy(bytes.data(), d_out_, bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess) << what;
    return bytes;
  }

  // Captures call() on the stream of the test, behind the copy that a call in place needs, and replays both twice.
  template <class Call>
  cudaError_t in_graph(Call call) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess) return error;
    cudaError_t called = cudaMemcpyAsync(d_out_, d_in_, n * sizeof(float), cudaMemcpyDeviceToDevice, stream_);
    if (called == cudaSuccess) called = call();
    error = cudaStreamEndCapture(stream_, &graph);
    if (error == cudaSuccess) error = called;
    if (error == cudaSuccess) error = cudaGraphInstantiate(&executable, graph, 0);
    for (int replay = 0; replay < 2 && error == cudaSuccess; ++replay) error = cudaGraphLaunch(executable, stream_);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream_);
    if (executable != nullptr) cudaGraphExecDestroy(executable);
    if (graph != nullptr) cudaGraphDestroy(graph);
    return error;
  }

  std::vector<float> input_;
  float* d_in_ = nullptr;
  int* d_offsets_ = nullptr;
  char* d_out_ = nullptr;
};

TEST_F(Environments, GiveTheBitsOfTwoPhases) {
  visit_calls(at(), [&](const std::string& name, auto call, auto... arguments) {
    const std::vector<unsigned char> expected = output_of(name + " in two phases", [&] {
      void *none = nullptr, *d_temp_storage = nullptr;
      std::size_t bytes = 0;
      cudaError_t error = call(none, bytes, arguments..., stream_);
      if (error == cudaSuccess) error = cudaMallocAsync(&d_temp_storage, bytes, stream_);
      if (error == cudaSuccess) error = call(d_temp_storage, bytes, arguments..., stream_);
      if (error == cudaSuccess) error = cudaFreeAsync(d_temp_storage, stream_);
      return error;
    });
    EXPECT_NE(std::memcmp(expected.data(), input_.data(), expected.size()), 0) << name << " writes nothing";
    const auto expect = [&](const std::string& of, auto&&... environment) {
      const std::string what = name + ", " + of;
      const auto got = output_of(what, [&] { return call(arguments..., environment...); });
      EXPECT_EQ(got, expected) << what;
    };
    tally seen;
    const environment<counting_resource> by_resource{{stream_}, {&seen}};
    counting_async_resource older{{&seen}};
    workspace keeper;
    expect("nothing");
    expect("a stream", stream_);
    expect("a holder of a stream", stream_holder{stream_});
    expect("a resource", by_resource);
    expect("a resource of older names", older);
    expect("a workspace", keeper);
    EXPECT_EQ(keeper.release(nullptr), cudaSuccess);
    EXPECT_EQ(seen.allocated, 2) << name;
    EXPECT_EQ(seen.freed, 2) << name;
    EXPECT_EQ(seen.bytes, 0u) << name;
    EXPECT_EQ(output_of(name + ", captured", [&] { return in_graph([&] { return call(arguments..., stream_); }); }),
              expected)
        << name << ", captured";
  });
}

// Sums of floats in a fixed order: the same bits at every address, and close to the exact prefix.
TEST_F(Environments, RunToRunScansRepeatAtEveryAddress) {
  std::mt19937 bits(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (const std::size_t num_items : {std::size_t{1}, std::size_t{5'000}, std::size_t{300'001}, std::size_t{9'000'000},
                                      (std::size_t{1} << 24) + 4097}) {
    std::vector<float> host(num_items);
    for (float& item : host) item = uniform(bits);
    const device_array<float> d_in(num_items + 4), d_out(num_items + 4);
    std::vector<float> first;
    for (const std::size_t offset : {0, 1, 3, 0}) {
      ASSERT_EQ(
          arrived(cudaMemcpy(d_in.get() + offset, host.data(), num_items * sizeof(float), cudaMemcpyHostToDevice)),
          cudaSuccess);
      ASSERT_EQ(arrived(cudaMemset(d_out.get(), 0xa5, (num_items + 4) * sizeof(float))), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_EQ(DeviceScan::InclusiveSum(d_in.read() + offset, d_out.get() + offset, num_items, run_to_run{stream_}),
                cudaSuccess);
      std::vector<float> got = read(d_out, num_items + offset);
      got.erase(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(offset));
      if (first.empty()) first = got;
      ASSERT_EQ(std::memcmp(got.data(), first.data(), num_items * sizeof(float)), 0)
          << num_items << " items, off by " << offset;
    }
    double exact = 0, magnitudes = 0;
    const double bound =
        static_cast<double>(scans::repeatable_door::summation_height(num_items)) * std::ldexp(1.0, -24) * 1.01;
    for (std::size_t i = 0; i < num_items; ++i) {
      exact += static_cast<double>(host[i]);
      magnitudes += std::abs(static_cast<double>(host[i]));
      ASSERT_LE(std::abs(static_cast<double>(first[i]) - exact), bound * magnitudes) << "item " << i;
    }
  }
}

// Maps do not commute, and name no identity.
TEST_F(Environments, RunToRunScansTakeAnyOperatorInOrder) {
  for (const std::size_t num_items : {std::size_t{70'000}, (std::size_t{1} << 24) + 1}) {
    std::vector<map> host(num_items);
    for (std::size_t i = 0; i < num_items; ++i) host[i] = numbered_map{}(static_cast<unsigned>(i));
    const device_array<map> d_in(host), d_out(num_items);
    ASSERT_EQ(DeviceScan::ExclusiveScan(d_in.read(), d_out.get(), then{}, map{3, 5}, num_items, run_to_run{stream_}),
              cudaSuccess);
    const std::vector<map> got = read(d_out, num_items);
    map expected{3, 5};
    for (std::size_t i = 0; i < num_items; ++i) {
      ASSERT_TRUE(got[i].slope == expected.slope && got[i].offset == expected.offset) << "item " << i;
      expected = then{}(expected, host[i]);
    }
  }
}

// Terms that cancel, which no other sum gets right; init is added last.
TEST_F(Environments, GpuToGpuSumsAreExact) {
  std::vector<float> host(200'001);
  for (std::size_t i = 0; i + 1 < host.size(); i += 2) {
    host[i] = std::ldexp(1.0f + static_cast<float>(i % 97) / 128, static_cast<int>(i % 200) - 100);
    host[i + 1] = -host[i];
  }
  host.back() = 0.375f;
  std::shuffle(host.begin(), host.end(), std::mt19937(7));
  const device_array<float> d_in(host), d_out(std::size_t{1});
  const device_array<int> d_integers(items<int>(70'000)), d_sum(std::size_t{1});
  ASSERT_EQ(DeviceReduce::Sum(d_in.read(), d_out.get(), host.size(), gpu_to_gpu{stream_}), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], 0.375f);
  ASSERT_EQ(DeviceReduce::Reduce(d_in.read(), d_out.get(), host.size(), plus{}, 2.0f, gpu_to_gpu{stream_}),
            cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], 2.375f);
  ASSERT_EQ(DeviceReduce::TransformReduce(d_in.read(), d_out.get(), host.size(), plus{}, doubled{}, -1.0f,
                                          gpu_to_gpu{stream_}),
            cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], -0.25f);
  ASSERT_EQ(DeviceReduce::Sum(d_integers.read(), d_sum.get(), 70'000, gpu_to_gpu{stream_}), cudaSuccess);
  const std::vector<int> integers = items<int>(70'000);
  EXPECT_EQ(read(d_sum, 1)[0], std::accumulate(integers.begin(), integers.end(), 0));
  // Integers that are added up in floats.
  ASSERT_EQ(DeviceReduce::Sum(d_integers.read(), d_out.get(), 70'000, gpu_to_gpu{stream_}), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], static_cast<float>(std::accumulate(integers.begin(), integers.end(), 0LL)));
}

template <class T>
class OrderFree : public Environments {};
using integers = testing::Types<signed char, int, long long, __int128>;
TYPED_TEST_SUITE(OrderFree, integers);

// Integers by operators of the standard library: the same bits in any order.
TYPED_TEST(OrderFree, IntegersByStandardOperators) {
  using T = TypeParam;
  std::vector<T> host(70'001);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<T>(i * 2654435761u >> 7 | 1);
  const device_array<T> d_in(host), d_out(std::size_t{1});
  const auto expect = [&](auto op, T init) {
    ASSERT_EQ(DeviceReduce::Reduce(d_in.read(), d_out.get(), host.size(), op, init, gpu_to_gpu{this->stream_}),
              cudaSuccess);
    T expected = init;
    for (const T& item : host) expected = static_cast<T>(op(expected, item));
    EXPECT_TRUE(this->read(d_out, 1)[0] == expected);
  };
  expect(plus{}, T{3});
  expect(maximum{}, T{-5});
  expect(cuda::std::bit_xor<T>{}, T{3});
  expect(cuda::std::bit_or<>{}, T{0});
  expect(cuda::std::logical_or<>{}, T{0});
  expect(cuda::std::logical_and<>{}, T{1});
}

// The first of equals in an order in which 2 and -2 are equivalent.
TEST_F(Environments, AnOrderOfTheCallersSaysWhichItemIsFirst) {
  for (const std::size_t num_items : {std::size_t{1}, std::size_t{1'000}, std::size_t{300'000}}) {
    const auto begin = input_.begin(), end = begin + static_cast<std::ptrdiff_t>(num_items);
    const device_array<float> d_item(std::size_t{1});
    const device_array<long long> d_index(std::size_t{1});
    for (const bool is_least : {true, false}) {
      const auto found =
          is_least ? std::min_element(begin, end, nearer_to_zero{}) : std::max_element(begin, end, nearer_to_zero{});
      ASSERT_EQ(is_least ? DeviceReduce::ArgMin(workspace_, d_in_, d_item.get(), d_index.get(), num_items,
                                                nearer_to_zero{}, stream_)
                         : DeviceReduce::ArgMax(workspace_, d_in_, d_item.get(), d_index.get(), num_items,
                                                nearer_to_zero{}, stream_),
                cudaSuccess);
      EXPECT_EQ(read(d_index, 1)[0], found - begin) << num_items << " items";
      EXPECT_EQ(read(d_item, 1)[0], *found) << num_items << " items";
    }
  }
}

// By what libcu++ calls them, where it has them.
TEST_F(Environments, OfLibcuxxAreRead) {
#if __has_include(<cuda/__execution/determinism.h>)
  namespace execution = cuda::std::execution;
  const execution::prop on{cuda::get_stream_t{}, cuda::stream_ref{stream_}};
  const auto alike = cuda::execution::require(cuda::execution::determinism::gpu_to_gpu);
  const auto repeating = cuda::execution::require(cuda::execution::determinism::run_to_run);
  const execution::env all{on, alike};
  static_assert(device::required_by<execution::env<>> == determinism::not_guaranteed);
  static_assert(device::required_by<std::remove_const_t<decltype(alike)>> == determinism::gpu_to_gpu);
  static_assert(device::required_by<std::remove_const_t<decltype(all)>> == determinism::gpu_to_gpu);
  static_assert(device::required_by<std::remove_const_t<decltype(repeating)>> == determinism::run_to_run);
  EXPECT_EQ(device::stream_of(all), stream_);
  EXPECT_EQ(device::stream_of(repeating), nullptr);
  const device_array<float> d_in(std::vector<float>{0x1p40f, 1.0f, -0x1p40f}), d_out(std::size_t{3});
  ASSERT_EQ(DeviceReduce::Sum(d_in.read(), d_out.get(), 3, all), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], 1.0f);
  ASSERT_EQ(DeviceScan::InclusiveSum(d_in.read(), d_out.get(), 3, execution::env{on, repeating}), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], 0x1p40f);
  ASSERT_EQ(DeviceReduce::Max(d_in.read(), d_out.get(), 3, cuda::stream_ref{stream_}), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], 0x1p40f);
  struct derived : execution::env<> {};  // as execution policies are
  static_assert(device::is_environment<derived>);
  ASSERT_EQ(DeviceReduce::Min(d_in.read(), d_out.get(), 3, derived{}), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], -0x1p40f);
#else
  GTEST_SKIP() << "this release of libcu++ has no environments";
#endif
}

}  // namespace
}  // namespace rungs::tests
