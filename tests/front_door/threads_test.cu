// Many host threads at once, each with a stream and a workspace of its own: reductions, scans and histograms of several
// sizes, hundreds of calls, exact results. The types are those of no other test, so that the threads also race to be
// the first that runs each kernel. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <algorithm>
#include <barrier>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "front_door/gpu_test.cuh"

namespace rungs::tests {
namespace {

constexpr int num_threads = 12, num_rounds = 12;
constexpr std::size_t sizes[] = {1, 1000, 4097, 70'001, 300'007}, most_items = 300'007;
// From 12,289 bins on a block needs more shared memory than kernels have without asking, each time another amount.
constexpr int bins_of_turn[] = {256, 14'000, 30'000, 50'000}, num_turns = 4, most_bins = 50'000;

using item = unsigned long long;
using sample = unsigned short;

// An operator that no rung knows.
struct exclusive_or {
  __host__ __device__ item operator()(item a, item b) const { return a ^ b; }
};

// Inputs that all threads read, and the right results.
struct question {
  explicit question(std::size_t n)
      : num_items(n), items(make_items(n)), samples(make_samples(n)), d_items(items), d_samples(samples) {
    sum = std::accumulate(items.begin(), items.end(), item{0});
    most = *std::max_element(items.begin(), items.end());
    parity = std::accumulate(items.begin(), items.end(), item{7}, exclusive_or{});
    prefixes.resize(n);
    std::exclusive_scan(items.begin(), items.end(), prefixes.begin(), item{0});
    for (const int num_bins : bins_of_turn) {
      histograms.emplace_back(num_bins);
      for (const sample each : samples)
        if (each < num_bins) ++histograms.back()[each];
    }
  }

  static std::vector<item> make_items(std::size_t n) {
    std::vector<item> made(n);
    for (std::size_t i = 0; i < n; ++i) made[i] = (i + 1) * 0x9e3779b97f4a7c15ull >> 11;
    return made;
  }
  static std::vector<sample> make_samples(std::size_t n) {
    std::vector<sample> made(n);
    for (std::size_t i = 0; i < n; ++i) made[i] = static_cast<sample>(i * 7919 % 65'521);
    return made;
  }

  std::size_t num_items;
  std::vector<item> items;
  std::vector<sample> samples;
  device_array<item> d_items;
  device_array<sample> d_samples;
  item sum = 0, most = 0, parity = 0;
  std::vector<item> prefixes;
  std::vector<std::vector<unsigned>> histograms;
};

// One thread's own, made while nobody captures: it waits for the device.
class worker {
 public:
  explicit worker(const question& largest)
      : d_out_(std::size_t{3}), d_prefixes_(largest.num_items), d_histogram_(std::size_t{most_bins}) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(DeviceReduce::Max(nullptr, temp_storage_bytes_, largest.d_items.read(), d_out_.get(), largest.num_items),
              cudaSuccess);
    EXPECT_EQ(cudaMalloc(&d_temp_storage_, temp_storage_bytes_), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the arrays are filled
  }
  ~worker() {
    cudaFree(d_temp_storage_);
    EXPECT_EQ(workspace_.release(stream_), cudaSuccess);
    cudaStreamDestroy(stream_);
  }

  // To be captured, or not.
  cudaError_t enqueue(const question& asked, int turn) {
    const std::size_t n = asked.num_items;
    const item* const d_in = asked.d_items.read();
    item* const d_out = d_out_.get();
    cudaError_t error = DeviceReduce::Sum(workspace_, d_in, d_out, n, stream_);
    if (error == cudaSuccess)
      error = DeviceReduce::Max(d_temp_storage_, temp_storage_bytes_, d_in, d_out + 1, n, stream_);
    if (error == cudaSuccess)
      error = DeviceReduce::Reduce(workspace_, d_in, d_out + 2, n, exclusive_or{}, item{7}, stream_);
    if (error == cudaSuccess) error = DeviceScan::ExclusiveSum(workspace_, d_in, d_prefixes_.get(), n, stream_);
    if (error == cudaSuccess)
      error = DeviceHistogram::HistogramEven(workspace_, asked.d_samples.read(), d_histogram_.get(),
                                             bins_of_turn[turn] + 1, 0, bins_of_turn[turn], n, stream_);
    return error;
  }

  // What is wrong with the results; empty: nothing.
  std::string complaint(const question& asked, int turn) {
    item out[3] = {};
    std::vector<item> prefixes(asked.num_items);
    std::vector<unsigned> histogram(asked.histograms[turn].size());
    cudaError_t error = cudaMemcpyAsync(out, d_out_.get(), sizeof out, cudaMemcpyDeviceToHost, stream_);
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(prefixes.data(), d_prefixes_.get(), prefixes.size() * sizeof(item),
                              cudaMemcpyDeviceToHost, stream_);
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(histogram.data(), d_histogram_.get(), histogram.size() * sizeof(unsigned),
                              cudaMemcpyDeviceToHost, stream_);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) return cudaGetErrorString(error);
    std::string wrong;
    if (out[0] != asked.sum) wrong += " sum";
    if (out[1] != asked.most) wrong += " maximum";
    if (out[2] != asked.parity) wrong += " exclusive or";
    if (prefixes != asked.prefixes) wrong += " scan";
    if (histogram != asked.histograms[turn]) wrong += " histogram";
    return wrong;
  }

  // So that a right result was written after this.
  void spoil() {
    cudaMemsetAsync(d_out_.get(), 0xa5, 3 * sizeof(item), stream_);
    cudaMemsetAsync(d_prefixes_.get(), 0xa5, most_items * sizeof(item), stream_);
    cudaMemsetAsync(d_histogram_.get(), 0xa5, most_bins * sizeof(unsigned), stream_);
  }
  cudaStream_t stream() const { return stream_; }
  unsigned* d_histogram() const { return d_histogram_.get(); }

 private:
  device_array<item> d_out_, d_prefixes_;
  device_array<unsigned> d_histogram_;
  cudaStream_t stream_ = nullptr;
  workspace workspace_;
  void* d_temp_storage_ = nullptr;
  std::size_t temp_storage_bytes_ = 0;
};

class Threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
    for (const std::size_t n : sizes) questions_.push_back(std::make_unique<question>(n));
    for (int i = 0; i < num_threads; ++i) workers_.push_back(std::make_unique<worker>(*questions_.back()));
  }

  // Every question in turn, beginning with another one than the other threads do. Stops at what goes wrong.
  bool works(int thread, int rounds) {
    worker& own = *workers_[static_cast<std::size_t>(thread)];
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < questions_.size(); ++i) {
        const question& asked = *questions_[(i + static_cast<std::size_t>(thread)) % questions_.size()];
        const int turn = (round + thread) % num_turns;
        own.spoil();
        const cudaError_t error = own.enqueue(asked, turn);
        const std::string wrong = error == cudaSuccess ? own.complaint(asked, turn) : cudaGetErrorString(error);
        if (wrong.empty()) continue;
        ADD_FAILURE() << "thread " << thread << ", round " << round << ", n = " << asked.num_items << ", "
                      << bins_of_turn[turn] << " bins: " << wrong;
        return false;
      }
    return true;
  }

  std::vector<std::unique_ptr<question>> questions_;
  std::vector<std::unique_ptr<worker>> workers_;
};

TEST_F(Threads, EachWithAStreamAndAWorkspaceOfItsOwnAreRight) {
  std::barrier together(num_threads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < num_threads; ++thread)
    threads.emplace_back([&, thread] {
      together.arrive_and_wait();
      works(thread, num_rounds);
    });
  for (std::thread& each : threads) each.join();
}

// The others call the same kernels meanwhile, with less shared memory and with more.
TEST_F(Threads, OneCapturesAndReplaysWhileOthersRun) {
  const question& asked = *questions_.back();
  worker& own = *workers_[0];
  std::vector<std::thread> threads;
  // So many rounds, and no more: threads that call without a pause can keep one that captures out of the driver for
  // good.
  for (int thread = 1; thread < num_threads; ++thread) threads.emplace_back([&, thread] { works(thread, num_rounds); });
  for (int turn = 0; turn < num_turns; ++turn) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replayable = nullptr;
    EXPECT_EQ(own.enqueue(asked, turn), cudaSuccess);  // allocates, which what is captured must not
    EXPECT_EQ(own.complaint(asked, turn), "");
    EXPECT_EQ(cudaStreamBeginCapture(own.stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(own.enqueue(asked, turn), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(own.stream(), &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&replayable, graph, 0), cudaSuccess);
    for (int replay = 0; replay < 10; ++replay) {
      own.spoil();
      EXPECT_EQ(cudaGraphLaunch(replayable, own.stream()), cudaSuccess);
      EXPECT_EQ(own.complaint(asked, turn), "") << bins_of_turn[turn] << " bins, replay " << replay;
    }
    EXPECT_EQ(cudaGraphExecDestroy(replayable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  for (std::thread& each : threads) each.join();
}

// So many samples that a block takes as many bins as shared memory holds: each number of bins wants another amount of
// one kernel, also between the capture of a graph and its replay.
TEST_F(Threads, HistogramsOfManyShapesDoNotTakeSharedMemoryFromEachOther) {
  const std::size_t n = std::size_t{1} << 25;
  const std::vector<sample> samples = question::make_samples(n);
  const device_array<sample> d_samples(samples);
  std::vector<unsigned> counts(65'536);
  for (const sample each : samples) ++counts[each];

  std::vector<std::thread> threads;
  for (int thread = 0; thread < num_turns; ++thread)
    threads.emplace_back([&, thread] {
      const int num_bins = bins_of_turn[thread];
      const std::vector<unsigned> expected(counts.begin(), counts.begin() + num_bins);
      const worker& own = *workers_[static_cast<std::size_t>(thread)];
      const cudaStream_t stream = own.stream();
      workspace workspace;
      const auto call = [&] {
        return DeviceHistogram::HistogramEven(workspace, d_samples.read(), own.d_histogram(), num_bins + 1, 0, num_bins,
                                              n, stream);
      };
      const auto is_right = [&] {
        std::vector<unsigned> histogram(expected.size());
        cudaMemcpyAsync(histogram.data(), own.d_histogram(), histogram.size() * sizeof(unsigned),
                        cudaMemcpyDeviceToHost, stream);
        return cudaStreamSynchronize(stream) == cudaSuccess && histogram == expected;
      };
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t replayable = nullptr;
      ASSERT_EQ(call(), cudaSuccess);
      EXPECT_TRUE(is_right()) << num_bins << " bins";
      ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
      EXPECT_EQ(call(), cudaSuccess);
      ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphInstantiate(&replayable, graph, 0), cudaSuccess);
      for (int round = 0; round < 100; ++round) {
        ASSERT_EQ(call(), cudaSuccess) << num_bins << " bins, round " << round;
        ASSERT_EQ(cudaGraphLaunch(replayable, stream), cudaSuccess) << num_bins << " bins, round " << round;
      }
      EXPECT_TRUE(is_right()) << num_bins << " bins";
      EXPECT_EQ(cudaGraphExecDestroy(replayable), cudaSuccess);
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    });
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace rungs::tests
