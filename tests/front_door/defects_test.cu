// Defects that users of the front door met, by their results: calls with lambdas, a workspace that ends early, items of
// a byte, a part of the device. What is seen without a GPU is in host_test.cu. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "arrived.hpp"
#include "front_door/gpu_test.cuh"
#include "front_door/lambdas.hpp"
#include "progress/green_context.hpp"
#include "progress/residents.hpp"

namespace rungs::tests {
namespace {

using Defects = GpuTest;

TEST_F(Defects, LambdasAreCalled) {
  for (const std::size_t n : {std::size_t{1000}, std::size_t{100'000}, std::size_t{3'000'001}}) {
    const std::vector<float> host = items<float>(n, 5, -2);  // sums of 2^24 stay exact
    const device_array<float> d_in(host), d_out(n);
    for (const lambda_call& each : calls_with_lambdas()) {
      std::vector<float> expected;
      float sum = each.init;
      for (const float item : host) {
        if (each.is_scan && each.is_exclusive) expected.push_back(sum);
        sum += each.factor * item;
        if (each.is_scan && !each.is_exclusive) expected.push_back(sum);
      }
      if (!each.is_scan) expected.push_back(sum);
      expect_in_both_forms(each.name + ", n = " + std::to_string(n), expected, d_out, [&](auto&... storage) {
        return each.call(storage..., d_in.read(), d_out.get(), n, stream_);
      });
    }
  }
}

// Uses its storage without asking a rung.
struct probe {
  static constexpr contents temp_storage = contents::uninitialised;
};

// Behind a kernel that stays, the call of a workspace has not run yet when the workspace ends.
TEST_F(Defects, AWorkspaceThatEndsEarlyKeepsItsMemoryFromOthers) {
  constexpr std::size_t num_bytes = std::size_t{1} << 22;
  constexpr int num_others = 64;
  const own_stream other;
  progress::residents beside(1, 1024);
  const device_array<unsigned char> d_copy(num_bytes);
  ASSERT_EQ(arrived(cudaMemset(d_copy.get(), 0, num_bytes)), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  auto used = std::make_unique<workspace>();
  unsigned char* memory = nullptr;
  const auto call = [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
    temp_storage_bytes = num_bytes;
    if (d_temp_storage == nullptr) return cudaSuccess;
    memory = static_cast<unsigned char*>(d_temp_storage);
    cudaError_t error = cudaMemsetAsync(memory, 0x33, num_bytes, stream_);
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(d_copy.get(), memory, num_bytes, cudaMemcpyDeviceToDevice, stream_);
    return error;
  };
  ASSERT_EQ(used->run<probe>(call, stream_), cudaSuccess);  // allocates
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  ASSERT_TRUE(beside.start());
  ASSERT_EQ(beside.hold_up(stream_), cudaSuccess);
  ASSERT_EQ(used->run<probe>(call, stream_), cudaSuccess);
  auto gone = std::async(std::launch::async, [&] { used.reset(); });
  // One that waits for the call is as good.
  const bool has_ended = gone.wait_for(std::chrono::seconds(1)) == std::future_status::ready;
  int handed_out = 0;
  std::vector<void*> others;
  if (has_ended) {
    EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
    for (int i = 0; i < num_others; ++i) {
      void* given = nullptr;
      if (cudaMallocAsync(&given, num_bytes, other) != cudaSuccess) break;
      others.push_back(given);
      handed_out += static_cast<unsigned char*>(given) < memory + num_bytes &&
                    memory < static_cast<unsigned char*>(given) + num_bytes;
      cudaMemsetAsync(given, 0x44, num_bytes, other);
    }
    EXPECT_EQ(handed_out, 0) << "allocations lie where the call will write";
  }
  EXPECT_EQ(beside.release(), cudaSuccess);
  gone.wait();
  for (void* each : others) cudaFreeAsync(each, other);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(d_copy.bytes() == std::vector<unsigned char>(num_bytes, 0x33));
}

// ---- items of a byte that are no numbers

enum step : signed char { down = -1, stay = 0, up = 1 };
struct flag {
  unsigned char bits;
  __host__ __device__ operator int() const { return bits & 1; }
};

step make(step, std::size_t i) { return static_cast<step>(static_cast<int>(i * 7919 % 5) % 3 - 1); }
flag make(flag, std::size_t i) { return {static_cast<unsigned char>(i * 37)}; }

struct lesser_of {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

template <class Item>
class ItemsOfAByte : public Defects {};
using items_of_a_byte = ::testing::Types<step, flag>;
TYPED_TEST_SUITE(ItemsOfAByte, items_of_a_byte);

TYPED_TEST(ItemsOfAByte, AreAddedAndCompared) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{100'000}, std::size_t{1} << 22}) {
    std::vector<TypeParam> host;
    for (std::size_t i = 0; i < n; ++i) host.push_back(make(TypeParam{}, i));
    const std::vector<int> numbers(host.begin(), host.end());
    std::vector<int> inclusive(n), exclusive(n), least(n), most(n);
    std::inclusive_scan(numbers.begin(), numbers.end(), inclusive.begin());
    std::exclusive_scan(numbers.begin(), numbers.end(), exclusive.begin(), 0);
    std::inclusive_scan(numbers.begin(), numbers.end(), least.begin(), [](int a, int b) { return std::min(a, b); });
    std::inclusive_scan(numbers.begin(), numbers.end(), most.begin(), [](int a, int b) { return std::max(a, b); });
    const device_array<TypeParam> d_in(host);
    const device_array<int> d_out(n);
    const std::string size = ", n = " + std::to_string(n);
    const cudaStream_t stream = this->stream_;
    expect_in_both_forms("Sum" + size, std::vector<int>{inclusive.back()}, d_out, [&](auto&... storage) {
      return DeviceReduce::Sum(storage..., d_in.read(), d_out.get(), n, stream);
    });
    expect_in_both_forms("minimum" + size, std::vector<int>{least.back()}, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, lesser_of{}, 5, stream);
    });
    expect_in_both_forms("rungs::minimum" + size, std::vector<int>{least.back()}, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, minimum{}, 5, stream);
    });
    expect_in_both_forms("rungs::maximum" + size, std::vector<int>{most.back()}, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, maximum{}, -5, stream);
    });
    expect_in_both_forms("InclusiveSum" + size, inclusive, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveSum(storage..., d_in.read(), d_out.get(), n, stream);
    });
    expect_in_both_forms("ExclusiveScan" + size, exclusive, d_out, [&](auto&... storage) {
      return DeviceScan::ExclusiveScan(storage..., d_in.read(), d_out.get(), plus{}, 0, n, stream);
    });
    expect_in_both_forms("scan of minima" + size, least, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveScan(storage..., d_in.read(), d_out.get(), lesser_of{}, n, stream);
    });
    expect_in_both_forms("scan of maxima" + size, most, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveScanInit(storage..., d_in.read(), d_out.get(), maximum{}, -5, n, stream);
    });
  }
}

// ---- sums that saturate

template <class T>
constexpr int most_of = std::numeric_limits<T>::max();

struct saturating {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    const int sum = a + b;
    return static_cast<T>(sum > most_of<T> ? most_of<T> : sum);
  }
};

template <class Item>
class SumsThatSaturate : public Defects {};
using narrow_items = ::testing::Types<unsigned char, signed char, unsigned short, short>;
TYPED_TEST_SUITE(SumsThatSaturate, narrow_items);

// A compiler that knows the bounds of the sums kept some of them in half a register, and added the other half, too.
TYPED_TEST(SumsThatSaturate, AreThoseOfTheItems) {
  using item = TypeParam;
  constexpr item init = 3;
  for (const std::size_t n : {1'000, 40'001, 262'143, 1'000'000, 5'000'011}) {
    for (const std::size_t apart : {2, 9, 4'000}) {  // some sums saturate at once, some hardly
      std::vector<item> host(n), inclusive(n), exclusive(n);
      for (std::size_t i = 0; i < n; ++i) host[i] = i * 7919 % apart == 0;
      std::inclusive_scan(host.begin(), host.end(), inclusive.begin(), saturating{});
      std::exclusive_scan(host.begin(), host.end(), exclusive.begin(), init, saturating{});
      const item total = saturating{}(exclusive.back(), host.back());
      const device_array<item> d_in(host), d_out(n);
      const std::string size = ", n = " + std::to_string(n);
      const cudaStream_t stream = this->stream_;
      expect_in_both_forms("Reduce" + size, std::vector<item>{total}, d_out, [&](auto&... storage) {
        return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, saturating{}, init, stream);
      });
      expect_in_both_forms("InclusiveScan" + size, inclusive, d_out, [&](auto&... storage) {
        return DeviceScan::InclusiveScan(storage..., d_in.read(), d_out.get(), saturating{}, n, stream);
      });
      expect_in_both_forms("ExclusiveScan" + size, exclusive, d_out, [&](auto&... storage) {
        return DeviceScan::ExclusiveScan(storage..., d_in.read(), d_out.get(), saturating{}, init, n, stream);
      });
    }
  }
}

// ---- a part of the device

TEST_F(Defects, ResultsOfAGreenContextAreRight) {
  progress::green_context part(16);
  const cudaStream_t stream = part.make_stream();
  if (stream == nullptr) GTEST_SKIP() << "no green context: " << part.reason();
  for (const std::size_t n : {std::size_t{5000}, std::size_t{50'000}, std::size_t{500'000}, std::size_t{1} << 24}) {
    const std::vector<int> host = items<int>(n, 1001, 0);
    std::vector<int> sums(n);
    std::inclusive_scan(host.begin(), host.end(), sums.begin());
    std::vector<unsigned> counts(9000);
    for (const int each : host) ++counts[static_cast<std::size_t>(each)];
    const device_array<int> d_in(host), d_out(n);
    const device_array<unsigned> d_histogram(counts.size());
    const std::string size = ", n = " + std::to_string(n);
    expect_in_both_forms("Sum" + size, std::vector<int>{sums.back()}, d_out, [&](auto&... storage) {
      return DeviceReduce::Sum(storage..., d_in.read(), d_out.get(), n, stream);
    });
    expect_in_both_forms("InclusiveSum" + size, sums, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveSum(storage..., d_in.read(), d_out.get(), n, stream);
    });
    expect_in_both_forms("HistogramEven" + size, counts, d_histogram, [&](auto&... storage) {
      return DeviceHistogram::HistogramEven(storage..., d_in.read(), d_histogram.get(), 9001, 0, 9000, n, stream);
    });
  }
}

// ---- input at the end of its allocation

// At an odd address; compute-sanitizer sees the first byte that is read behind it. Pages are of 2 MiB.
TEST_F(Defects, AScanOfBytesReadsNothingBehindThem) {
  constexpr std::size_t page = std::size_t{2} << 20;
  for (const std::size_t n : {std::size_t{8192} * 300 + 1, std::size_t{8192} * 300 + 15, std::size_t{70'001}}) {
    const std::size_t allocated = (n + page - 1) / page * page;
    const device_array<int> d_out(n);
    const std::vector<unsigned char> host = items<unsigned char>(n, 251, 0);
    std::vector<int> sums(n);
    std::inclusive_scan(host.begin(), host.end(), sums.begin(), std::plus<int>{}, 0);
    unsigned char* d_memory = nullptr;
    ASSERT_EQ(cudaMalloc(&d_memory, allocated), cudaSuccess);
    unsigned char* const d_in = d_memory + (allocated - n);
    ASSERT_EQ(arrived(cudaMemcpy(d_in, host.data(), n, cudaMemcpyHostToDevice)), cudaSuccess);
    expect_in_both_forms("InclusiveSum, n = " + std::to_string(n), sums, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveSum(storage..., static_cast<const unsigned char*>(d_in), d_out.get(), n, stream_);
    });
    cudaFree(d_memory);
  }
}

}  // namespace
}  // namespace rungs::tests
