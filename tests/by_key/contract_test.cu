// What is promised of each call on selections and runs besides its results: accumulators of other types, equality of
// the caller's, captured calls that are replayed with new data, calls beside each other, no items.
#include <cuda_fp16.h>

#include <deque>
#include <rungs/device/device_partition.cuh>
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_run_length_encode.cuh>
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_select.cuh>

#include "by_key/support.cuh"

namespace rungs::tests {
namespace {

struct is_odd {
  __host__ __device__ bool operator()(int item) const { return item % 2 != 0; }
};

class Contract : public Calls {};

// Items that bytes cannot count, and halves that round: sums are wider than what is summed.
TEST_F(Contract, Accumulators) {
  constexpr std::size_t n = 100'000;
  const guarded<int> d_keys(std::vector<int>(n, 5), 0);
  const guarded<unsigned char> d_bytes(std::vector<unsigned char>(n, 200), 0);
  const guarded<__half> d_halves(std::vector<__half>(n, __float2half(0.25f)), 0);
  outputs<int> sum(1, 0), key(1, 0);
  outputs<float> sum_of_halves(1, 0);
  outputs<unsigned> num(1, 0);
  run([&](auto&&... storage) {
    return DeviceReduce::ReduceByKey(storage..., d_keys.data(), key.data(), d_bytes.data(), sum.data(), num.data(),
                                     plus{}, n);
  });
  key.expect({5});
  sum.expect({20'000'000});
  run([&](auto&&... storage) {
    return DeviceReduce::ReduceByKey(storage..., d_keys.data(), key.data(), d_halves.data(), sum_of_halves.data(),
                                     num.data(), plus{}, n);
  });
  sum_of_halves.expect({25'000.0f});
}

TEST_F(Contract, EqualityOfTheCaller) {
  constexpr int n = 70'001;
  std::vector<int> keys(n), values(n), inclusive(n), exclusive(n);
  for (int i = 0; i < n; ++i) {
    keys[i] = i * 3 / 7;
    values[i] = i % 13 - 6;
    const bool begins = i == 0 || keys[i] / 10 != keys[i - 1] / 10;
    inclusive[i] = values[i] + (begins ? 0 : inclusive[i - 1]);
    exclusive[i] = inclusive[i] - values[i];
  }
  const guarded<int> d_keys(keys, 0), d_values(values, 0);
  outputs<int> out(n, 0);
  run([&](auto&&... storage) {
    return DeviceScan::InclusiveSumByKey(storage..., d_keys.data(), d_values.data(), out.data(), n, same_tens{});
  });
  out.expect(inclusive);
  run([&](auto&&... storage) {
    return DeviceScan::ExclusiveSumByKey(storage..., d_keys.data(), d_values.data(), out.data(), n, same_tens{});
  });
  out.expect(exclusive);
}

// The numbers of what was found are written, and nothing else.
TEST_F(Contract, NoItems) {
  outputs<int> out(1, 0), more(1, 0);
  outputs<unsigned> num(1, 0);
  int* const none = nullptr;
  const auto expect_nothing = [&] {
    num.expect({0});
    out.expect({});
    more.expect({});
  };
  run([&](auto&&... s) { return DeviceSelect::If(s..., none, out.data(), num.data(), 0, is_odd{}); });
  expect_nothing();
  run([&](auto&&... s) { return DevicePartition::If(s..., none, out.data(), num.data(), 0, is_odd{}); });
  expect_nothing();
  outputs<unsigned> nums(2, 0);
  run([&](auto&&... s) {
    return DevicePartition::If(s..., none, out.data(), more.data(), out.data(), nums.data(), 0, is_odd{}, is_odd{});
  });
  nums.expect({0, 0});
  run([&](auto&&... s) {
    return DeviceReduce::ReduceByKey(s..., none, out.data(), none, more.data(), num.data(), plus{}, 0);
  });
  expect_nothing();
  run([&](auto&&... s) { return DeviceRunLengthEncode::Encode(s..., none, out.data(), more.data(), num.data(), 0); });
  expect_nothing();
  for (const int n : {0, 1}) {  // one item is no run of several, wherever it lies
    run([&](auto&&... s) {
      return DeviceRunLengthEncode::NonTrivialRuns(s..., none, out.data(), more.data(), num.data(), n);
    });
    expect_nothing();
  }
  run([&](auto&&... s) { return DeviceScan::InclusiveSumByKey(s..., none, none, out.data(), 0); });
  out.expect({});
}

// Storage that suffices for many items does for fewer, though tiles are smaller then.
TEST_F(Contract, FewerItemsNeedNoMoreStorage) {
  std::size_t reduces = 0, scans = 0;
  int* const none = nullptr;
  for (const int n : {0, 1, 1'000, 1'024, 1'025, 65'536, 1 << 20, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 1 << 24}) {
    std::size_t bytes = 0;
    ASSERT_EQ(DeviceReduce::ReduceByKey(nullptr, bytes, none, none, none, none, none, plus{}, n), cudaSuccess);
    EXPECT_GE(bytes, reduces) << n;
    reduces = bytes;
    ASSERT_EQ(DeviceScan::InclusiveSumByKey(nullptr, bytes, none, none, none, n), cudaSuccess);
    EXPECT_GE(bytes, scans) << n;
    scans = bytes;
  }
}

// All kinds of calls on one stream, with what each needs: what they find is compared with the same calls' findings on
// the host's items.
struct job {
  static constexpr int n = 400'007;
  outputs<int> chosen{n, 0}, keys{n, 0}, sums{n, 0}, scan{n, 0}, lengths{n, 0};
  outputs<unsigned> num{4, 0};

  // In storage of its own each, so that they may be captured one after the other.
  cudaError_t enqueue(workspace& workspace, const int* d_items, cudaStream_t stream) {
    cudaError_t error = DeviceSelect::If(workspace, d_items, chosen.data(), num.data(), n, is_odd{}, stream);
    if (error == cudaSuccess)
      error = DeviceReduce::ReduceByKey(workspace, d_items, keys.data(), d_items, sums.data(), num.data() + 1, plus{},
                                        n, stream);
    if (error == cudaSuccess)
      error = DeviceScan::InclusiveSumByKey(workspace, d_items, d_items, scan.data(), n, rungs::device::equal_items{},
                                            stream);
    if (error == cudaSuccess)
      error =
          DeviceRunLengthEncode::Encode(workspace, d_items, discarding{}, lengths.data(), num.data() + 2, n, stream);
    if (error == cudaSuccess)
      error = DeviceRunLengthEncode::NonTrivialRuns(workspace, d_items, discarding{}, discarding{}, num.data() + 3, n,
                                                    stream);
    return error;
  }

  void expect(const std::vector<int>& items) {
    std::vector<int> odd, unique, aggregates, scanned, counts;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i] % 2 != 0) odd.push_back(items[i]);
      if (i == 0 || items[i] != items[i - 1]) {
        unique.push_back(items[i]);
        aggregates.push_back(0);
        counts.push_back(0);
      }
      aggregates.back() += items[i];
      ++counts.back();
      scanned.push_back(aggregates.back());
    }
    unsigned longer = 0;
    for (const int count : counts) longer += count > 1;
    const unsigned runs = static_cast<unsigned>(unique.size());
    num.expect({static_cast<unsigned>(odd.size()), runs, runs, longer});
    chosen.expect(odd);
    keys.expect(unique);
    sums.expect(aggregates);
    scan.expect(scanned);
    lengths.expect(counts);
  }
  static std::vector<int> items(int seed) {
    return in_runs<int>(n, -3 - seed * seed * 40, [=](int run) { return run * 7 % (50 + seed); });
  }
};

TEST_F(Contract, ReplaysWithNewData) {
  const own_stream stream;
  job job;
  const device_vector<int> d_items(job::items(0));
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // a copy may return before the items are there
  ASSERT_EQ(job.enqueue(workspace_, d_items.in(), stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  job.expect(job::items(0));
  const captured graph(stream, [&] { return job.enqueue(workspace_, d_items.in(), stream); });
  for (int seed = 1; seed < 20; ++seed) {
    const std::vector<int> items = job::items(seed);
    ASSERT_EQ(cudaMemcpy(d_items.items, items.data(), items.size() * sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    job.expect(items);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(workspace_.release(stream), cudaSuccess);
}

TEST_F(Contract, StreamsBesideEachOther) {
  constexpr int num_streams = 4;
  const own_stream streams[num_streams];
  workspace workspaces[num_streams];
  std::deque<device_vector<int>> inputs;
  std::vector<job> jobs(num_streams);
  for (int s = 0; s < num_streams; ++s) inputs.emplace_back(job::items(s));
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int time = 0; time < 10; ++time)
    for (int s = 0; s < num_streams; ++s)
      ASSERT_EQ(jobs[s].enqueue(workspaces[s], inputs[s].in(), streams[s]), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int s = 0; s < num_streams; ++s) {
    jobs[s].expect(job::items(s));
    EXPECT_EQ(workspaces[s].release(streams[s]), cudaSuccess);
  }
}

// Storage that the call before has used, of thousands of calls of few tiles: a message of an earlier one would be seen.
TEST_F(Contract, StorageOfManyCalls) {
  constexpr int n = 20'000;
  const std::vector<int> first = in_runs<int>(n, -900, [](int run) { return run; });
  const std::vector<int> second = in_runs<int>(n, 1, [](int run) { return run; });
  const device_vector<int> d_first(first), d_second(second);
  device_vector<int> sums{std::vector<int>(n)};
  device_vector<unsigned> num{std::vector<unsigned>(2000)};
  unsigned runs_of_first = 1;
  for (int i = 1; i < n; ++i) runs_of_first += first[i] != first[i - 1];
  for (int time = 0; time < 2000; ++time)
    ASSERT_EQ(DeviceReduce::ReduceByKey(workspace_, time % 2 == 0 ? d_first.in() : d_second.in(), discarding{},
                                        d_first.in(), sums.items, num.items + time, plus{}, n),
              cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto found = num.read(2000);
  for (int time = 0; time < 2000; ++time)
    ASSERT_EQ(found[time], time % 2 == 0 ? runs_of_first : static_cast<unsigned>(n)) << "call " << time;
}

}  // namespace
}  // namespace rungs::tests
