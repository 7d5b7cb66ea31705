// Many host threads at once, each with a stream and a workspace of its own. The types are those of no other test, so
// that the threads also race to be the first that runs each kernel. Threads that capture beside others are the fuzzer's
// (tests/fuzz). Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <algorithm>
#include <barrier>
#include <iterator>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "front_door/gpu_test.cuh"

namespace rungs::tests {
namespace {

constexpr std::size_t num_threads = 12, num_rounds = 12;
constexpr std::size_t sizes[] = {1, 1000, 4097, 70'001, 300'007}, most_items = 300'007;
// From 12,289 bins on a block needs more shared memory than kernels have without asking, each time another amount.
constexpr int bins_of_turn[] = {256, 14'000, 30'000, 50'000}, most_bins = 50'000;

using item = unsigned long long;
using sample = unsigned short;

// An operator that no rung knows.
struct exclusive_or {
  __host__ __device__ item operator()(item a, item b) const { return a ^ b; }
};

// One thread's own, made while nobody captures: it waits for the device.
struct worker {
  worker() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess); }
  ~worker() { cudaStreamDestroy(stream); }

  cudaStream_t stream = nullptr;
  device_array<item> d_out{std::size_t{2}}, d_prefixes{most_items};
  device_array<unsigned> d_histogram{std::size_t{most_bins}};
};

class Threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
    for (std::size_t i = 0; i < num_threads; ++i) workers_.push_back(std::make_unique<worker>());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the arrays are filled
  }

  std::vector<std::unique_ptr<worker>> workers_;
};

// Every thread does every size in its turn, beginning with another one than the other threads.
TEST_F(Threads, EachWithAStreamAndAWorkspaceOfItsOwnAreRight) {
  std::vector<item> host(most_items), prefixes(most_items + 1), parities(most_items + 1);
  for (std::size_t i = 0; i < most_items; ++i) host[i] = (i + 1) * 0x9e3779b97f4a7c15ull >> 11;
  std::inclusive_scan(host.begin(), host.end(), prefixes.begin() + 1);
  std::inclusive_scan(host.begin(), host.end(), parities.begin() + 1, exclusive_or{}, item{7});
  const device_array<item> d_in(host);
  std::barrier together(num_threads);
  const auto work = [&](std::size_t thread) {
    const worker& own = *workers_[thread];
    workspace workspace;
    together.arrive_and_wait();
    for (std::size_t turn = thread; turn < thread + num_rounds * std::size(sizes); ++turn) {
      const std::size_t n = sizes[turn % std::size(sizes)];
      item out[2] = {};
      std::vector<item> scanned(n);
      // So that a right result was written after this.
      cudaMemsetAsync(own.d_out.get(), 0xa5, sizeof out, own.stream);
      cudaMemsetAsync(own.d_prefixes.get(), 0xa5, n * sizeof(item), own.stream);
      ASSERT_EQ(DeviceReduce::Sum(workspace, d_in.read(), own.d_out.get(), n, own.stream), cudaSuccess);
      ASSERT_EQ(
          DeviceReduce::Reduce(workspace, d_in.read(), own.d_out.get() + 1, n, exclusive_or{}, item{7}, own.stream),
          cudaSuccess);
      ASSERT_EQ(DeviceScan::ExclusiveSum(workspace, d_in.read(), own.d_prefixes.get(), n, own.stream), cudaSuccess);
      cudaMemcpyAsync(out, own.d_out.get(), sizeof out, cudaMemcpyDeviceToHost, own.stream);
      cudaMemcpyAsync(scanned.data(), own.d_prefixes.get(), n * sizeof(item), cudaMemcpyDeviceToHost, own.stream);
      ASSERT_EQ(cudaStreamSynchronize(own.stream), cudaSuccess);
      EXPECT_EQ(out[0], prefixes[n]) << "thread " << thread << ", n = " << n;
      EXPECT_EQ(out[1], parities[n]) << "thread " << thread << ", n = " << n;
      EXPECT_TRUE(std::equal(scanned.begin(), scanned.end(), prefixes.begin())) << "thread " << thread << ", n = " << n;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < num_threads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& each : threads) each.join();
}

// So many samples that a block takes as many bins as shared memory holds: each number of bins wants another amount of
// one kernel, also between the capture of a graph and its replay.
TEST_F(Threads, HistogramsOfManyShapesDoNotTakeSharedMemoryFromEachOther) {
  const std::size_t n = std::size_t{1} << 25;
  std::vector<sample> samples(n);
  for (std::size_t i = 0; i < n; ++i) samples[i] = static_cast<sample>(i * 7919 % 65'521);
  const device_array<sample> d_samples(samples);
  std::vector<unsigned> counts(65'536);
  for (const sample each : samples) ++counts[each];

  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < std::size(bins_of_turn); ++thread)
    threads.emplace_back([&, thread] {
      const int num_bins = bins_of_turn[thread];
      const std::vector<unsigned> expected(counts.begin(), counts.begin() + num_bins);
      const cudaStream_t stream = workers_[thread]->stream;
      unsigned* const d_histogram = workers_[thread]->d_histogram.get();
      workspace workspace;
      const auto call = [&] {
        return DeviceHistogram::HistogramEven(workspace, d_samples.read(), d_histogram, num_bins + 1, 0, num_bins, n,
                                              stream);
      };
      const auto is_right = [&] {
        std::vector<unsigned> histogram(expected.size());
        cudaMemcpyAsync(histogram.data(), d_histogram, histogram.size() * sizeof(unsigned), cudaMemcpyDeviceToHost,
                        stream);
        return cudaStreamSynchronize(stream) == cudaSuccess && histogram == expected;
      };
      ASSERT_EQ(call(), cudaSuccess);
      EXPECT_TRUE(is_right()) << num_bins << " bins";
      const captured graph(stream, call);
      for (int round = 0; round < 100; ++round) {
        ASSERT_EQ(call(), cudaSuccess) << num_bins << " bins, round " << round;
        ASSERT_EQ(graph.enqueue(), cudaSuccess) << num_bins << " bins, round " << round;
      }
      EXPECT_TRUE(is_right()) << num_bins << " bins";
    });
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace rungs::tests
