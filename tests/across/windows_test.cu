// What no single rung is about: windows and members, calls that follow each other, graphs, counters that wrap, several
// GPUs and processes, exact sums.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <rungs/across/05_fused_sum.cuh>
#include <rungs/across/exact_sum.cuh>
#include <rungs/across/planned.cuh>

#include "across/crew.cuh"
#include "across/processes.hpp"
#include "across_catalog.hpp"
#include "arrived.hpp"
#include "gpu_test.hpp"
#include "oracles/exact_sum.hpp"
#include "text.hpp"

namespace rungs::tests::across {
namespace {

using rungs::across::window_options;

using AcrossGpus = OnAGpu;

constexpr window_options small{256 << 10, 16 << 10, 4, 0};

std::vector<bench::across_record> sums_of_floats() {
  std::vector<bench::across_record> found;
  for (const bench::across_record& record : bench::across_records())
    if (record.op == catalog::op::plus && record.type == catalog::scalar::f32) found.push_back(record);
  return found;
}

TEST_F(AcrossGpus, WindowsRefuseWhatTheyCannotBe) {
  rungs::across::windows windows;
  const int devices[9] = {};
  EXPECT_EQ(windows.create(devices, 0), cudaErrorInvalidValue);
  EXPECT_EQ(windows.create(devices, 9), cudaErrorInvalidValue);
  for (const window_options& bad : {window_options{4 << 10, 4 << 10, 8, 0}, window_options{1 << 20, 512, 8, 0},
                                    window_options{4 << 20, 4 << 10, 1025, 0}, window_options{1 << 20, 4 << 10, -1, 0},
                                    window_options{1 << 20, 4 << 10, 8, 1ull << 52}})
    EXPECT_EQ(windows.create(devices, 2, bad), cudaErrorInvalidValue);
  const int absent[] = {0, 1000};
  EXPECT_NE(windows.create(absent, 2), cudaSuccess);
  EXPECT_EQ(windows.num_ranks(), 0);
  cudaGetLastError();
  const auto alone = [](const void* mine, void* all, std::size_t bytes) {
    std::memcpy(all, mine, bytes);
    return cudaSuccess;
  };
  const auto broken = [](const void*, void*, std::size_t) { return cudaErrorUnknown; };
  EXPECT_EQ(windows.create(1, 1, alone), cudaErrorInvalidValue);
  EXPECT_EQ(windows.create(0, 9, alone), cudaErrorInvalidValue);
  EXPECT_EQ(windows.create(0, 1, broken), cudaErrorUnknown);
  EXPECT_EQ(windows.num_ranks(), 0);
  EXPECT_EQ(windows.create(0, 1, alone, small), cudaSuccess);
  EXPECT_EQ(windows.num_ranks(), 1);
}

TEST_F(AcrossGpus, CallsRefuseMembersOfNoWindows) {
  const int devices[] = {0, 0};
  rungs::across::windows windows, moved;
  ASSERT_EQ(windows.create(devices, 2, small), cudaSuccess);
  float* const nothing = nullptr;
  const auto call = [&](const rungs::across::member& member) {
    return rungs::across::all_reduce(member, nothing, nothing, 1, plus{});
  };
  std::size_t bytes = 0;
  for (const int bad : {-1, 2}) {
    EXPECT_EQ(call(windows.member(bad)), cudaErrorInvalidValue);
    EXPECT_EQ(rungs::across::fused_sum::sum(windows.member(bad), nothing, nothing, 1), cudaErrorInvalidValue);
    EXPECT_EQ(rungs::across::exact_sum(nullptr, bytes, windows.member(bad), nothing, nothing, 1),
              cudaErrorInvalidValue);
  }
  auto elsewhere = windows.member(0);
  elsewhere.device = 1;
  EXPECT_EQ(call(elsewhere), cudaErrorInvalidDevice);
  ASSERT_EQ(rungs::across::exact_sum(nullptr, bytes, windows.member(0), nothing, nothing, 1), cudaSuccess);
  const memory storage(bytes);
  std::size_t less = bytes - 1;
  EXPECT_EQ(rungs::across::exact_sum(storage.get(), less, windows.member(0), nothing, nothing, 1),
            cudaErrorInvalidValue);
  moved = std::move(windows);
  EXPECT_EQ(call(windows.member(0)), cudaErrorInvalidValue);
  EXPECT_EQ(moved.num_ranks(), 2);
  EXPECT_EQ(call(moved.member(2)), cudaErrorInvalidValue);
}

TEST_F(AcrossGpus, TheCheckerFindsOneWrongByte) {
  const crew crew({0, 0}, 1000, small);
  std::vector<unsigned char> bytes(1000, 1);
  const memory expected(bytes);
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{999}}) {
    bytes.assign(1000, 1);
    bytes[wrong] = 2;
    crew.fill(1, crew.out(1), 1000);
    check(cudaMemcpyAsync(crew.out(1), bytes.data(), 1000, cudaMemcpyHostToDevice, crew.streams[1]));
    EXPECT_EQ(crew.difference(1, crew.out(1), expected.get(), 1000), text("rank 1: byte ", wrong, " of 1000"));
    EXPECT_FALSE(crew.difference(1, crew.out(1) + 1, expected.get(), 999).empty());
  }
}

// Calls of all rungs one after the other, in which now one rank is late and now another; nobody waits in between, and
// every call has an output of its own.
void run_a_mixture(const crew& crew, int num_calls, std::size_t most_items, bool with_delays) {
  const auto rungs = sums_of_floats();
  const int num_ranks = crew.num_ranks();
  std::vector<std::size_t> counts;
  std::vector<std::vector<memory>> in(num_ranks), out(num_ranks);
  for (int call = 0; call < num_calls; ++call) {
    counts.push_back(1 + mix(call) % (call % 3 == 0 ? 64 : most_items));
    crew.each([&](int r) {
      in[r].emplace_back(across::items_of(catalog::scalar::f32, items::whole, r, counts[call], call));
      out[r].emplace_back(counts[call] * 4 + 2 * crew::margin);
      crew.fill(r, out[r][call].get() + crew::margin, counts[call] * 4);
    });
  }
  crew.wait("before a mixture of calls");
  for (int call = 0; call < num_calls; ++call) {
    const auto& rung = rungs[mix(call + 1000) % rungs.size()];
    if (with_delays && call % 4 == 0)
      crew.each([&](int r) {
        if (mix(call * 8 + r) % 3 == 0) crew.delay(r, 1 + mix(call + r) % 100);
      });
    crew.each([&](int r) {
      check(rung.all_reduce(crew.member(r), in[r][call].get(), out[r][call].get() + crew::margin, counts[call],
                            crew.streams[r]));
    });
  }
  crew.wait("a mixture of calls");
  for (int call = 0; call < num_calls; ++call) {
    const memory expected(
        across::answers_of(catalog::scalar::f32, catalog::op::plus, items::whole, num_ranks, counts[call], call));
    for (int r = 0; r < num_ranks; ++r)
      ASSERT_EQ(crew.difference(r, out[r][call].get() + crew::margin, expected.get(), counts[call] * 4), "")
          << "call " << call << ": " << rungs[mix(call + 1000) % rungs.size()].rung << ", n=" << counts[call];
  }
}

TEST_F(AcrossGpus, CallsOfAllRungsFollowEachOtherWithLateRanks) {
  for (const int num_ranks : {2, 3, 8})
    run_a_mixture(crew(std::vector<int>(num_ranks, 0), 64, small), 200, 20'000, true);
}

// Tags of 32 bits and steps of 52 wrap around: in the middle of the calls, and within one.
TEST_F(AcrossGpus, CountersWrap) {
  for (const unsigned long long end : {0xffffffffull, 0x1fffffffeull, 1ull << 51, 1ull << 52}) {
    for (const int before : {1, 6, 57}) {
      window_options options = small;
      options.first_epoch = end - before;
      run_a_mixture(crew({0, 0, 0}, 64, options), 30, 20'000, false);
    }
  }
}

TEST_F(AcrossGpus, GraphsReplayWithNewItems) {
  const std::size_t num_items = 5001, num_bytes = num_items * 4;
  const crew crew({0, 0, 0}, num_bytes, small);
  std::vector<cudaGraphExec_t> graphs(3);
  crew.each([&](int r) {
    cudaGraph_t graph;
    check(cudaStreamBeginCapture(crew.streams[r], cudaStreamCaptureModeThreadLocal));
    for (const auto& rung : sums_of_floats())  // each in place, so the sums grow
      check(rung.all_reduce(crew.member(r), crew.out(r), crew.out(r), num_items, crew.streams[r]));
    check(cudaStreamEndCapture(crew.streams[r], &graph));
    check(cudaGraphInstantiate(&graphs[r], graph, 0));
    check(cudaGraphUpload(graphs[r], crew.streams[r]));
    check(cudaGraphDestroy(graph));
  });
  const std::size_t num_rungs = sums_of_floats().size();
  for (int replay = 0; replay < 4; ++replay) {
    std::vector<float> sums(num_items);
    crew.each([&](int r) {
      const auto items = across::items_of(catalog::scalar::f32, items::whole, r, num_items, replay);
      for (std::size_t i = 0; i < num_items; ++i) sums[i] += item_of<float>(items::whole, r, i, replay);
      crew.fill(r, crew.out(r), num_bytes);
      check(cudaStreamSynchronize(crew.streams[r]));
      upload(crew.out(r), items.data(), num_bytes);
    });
    crew.each([&](int r) { check(cudaGraphLaunch(graphs[r], crew.streams[r])); });
    crew.wait("a replay");
    for (float& sum : sums) sum = sum == 0 ? 0 : sum * std::pow(3.0f, static_cast<float>(num_rungs - 1));
    std::vector<unsigned char> bytes(num_bytes);
    std::memcpy(bytes.data(), sums.data(), num_bytes);
    const memory expected(bytes);
    for (int r = 0; r < 3; ++r) EXPECT_EQ(crew.difference(r, crew.out(r), expected.get(), num_bytes), "") << replay;
  }
  for (const cudaGraphExec_t graph : graphs) cudaGraphExecDestroy(graph);
}

TEST_F(AcrossGpus, PlannedCallsAreRightOnBothSidesOfEveryChoice) {
  for (const int num_ranks : {1, 2, 4}) {
    const std::size_t border = rungs::across::planned::most_of_one_shot(num_ranks) / 4;
    const crew crew(std::vector<int>(num_ranks, 0), 4 * border + 4096, {});
    for (const std::size_t num_items : {std::size_t{1}, border, border + 1}) {
      if (num_items == 0) continue;
      const memory expected(
          across::answers_of(catalog::scalar::f32, catalog::op::plus, items::rounded, num_ranks, num_items, 1));
      crew.each([&](int r) {
        const auto items = across::items_of(catalog::scalar::f32, items::rounded, r, num_items, 1);
        crew.fill(r, crew.out(r), num_items * 4);
        check(cudaStreamSynchronize(crew.streams[r]));
        upload(crew.in(r), items.data(), items.size());
      });
      crew.each([&](int r) {
        check(rungs::across::all_reduce(crew.member(r), reinterpret_cast<const float*>(crew.in(r)),
                                        reinterpret_cast<float*>(crew.out(r)), num_items, plus{}, crew.streams[r]));
      });
      crew.wait("a planned call");
      for (int r = 0; r < num_ranks; ++r)
        EXPECT_EQ(crew.difference(r, crew.out(r), expected.get(), num_items * 4), "") << num_ranks << ' ' << num_items;
    }
  }
}

// One array, cut for 1, 2, 4 and 8 ranks at odd places, one of which has nothing: the bits of the oracle.
template <class T>
void expect_exact_sums(float_format format) {
  using bits_type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr std::size_t num_items = 20'011;
  std::vector<T> items(num_items);
  exact_total total;
  for (std::size_t i = 0; i < num_items; ++i) {
    const std::uint64_t random = mix(i + 77);
    items[i] = static_cast<T>(std::ldexp(1 + static_cast<double>(random >> 20) * 0x1p-44,
                                         static_cast<int>(random % (sizeof(T) == 8 ? 600 : 160)) - 80));
    if (random >> 10 & 1) items[i] = -items[i];
    bits_type bits;
    std::memcpy(&bits, &items[i], sizeof(T));
    total.add(format, bits);
  }
  const std::uint64_t expected = total.rounded(format);
  for (const int num_ranks : {1, 2, 4, 8}) {
    const crew crew(std::vector<int>(num_ranks, 0), num_items * sizeof(T), small);
    std::vector<memory> storage;
    std::vector<std::size_t> bytes(num_ranks), counts(num_ranks);
    std::size_t before = 0;
    crew.each([&](int r) {
      counts[r] = r + 1 == num_ranks ? num_items - before : r == 1 ? 0 : num_items / num_ranks + 3 * r;
      upload(crew.in(r), items.data() + before, counts[r] * sizeof(T));
      before += counts[r];
      check(rungs::across::exact_sum(nullptr, bytes[r], crew.member(r), reinterpret_cast<const T*>(crew.in(r)),
                                     reinterpret_cast<T*>(crew.out(r)), counts[r], crew.streams[r]));
      storage.emplace_back(bytes[r]);
      check(arrived(cudaMemset(storage.back().get(), 0x5a, bytes[r])));
    });
    check(cudaDeviceSynchronize());
    for (int repeat = 0; repeat < 3; ++repeat) {
      crew.each([&](int r) {
        check(rungs::across::exact_sum(storage[r].get(), bytes[r], crew.member(r),
                                       reinterpret_cast<const T*>(crew.in(r)), reinterpret_cast<T*>(crew.out(r)),
                                       counts[r], crew.streams[r]));
      });
      crew.wait("an exact sum");
      for (int r = 0; r < num_ranks; ++r) {
        bits_type found;
        check(cudaMemcpy(&found, crew.out(r), sizeof(found), cudaMemcpyDeviceToHost));
        EXPECT_EQ(found, static_cast<bits_type>(expected)) << num_ranks << " ranks, rank " << r;
      }
    }
  }
}
TEST_F(AcrossGpus, ExactSumsOfFloatsHaveTheSameBitsOnAnyNumberOfRanks) { expect_exact_sums<float>(f32_format); }
TEST_F(AcrossGpus, ExactSumsOfDoublesHaveTheSameBitsOnAnyNumberOfRanks) { expect_exact_sums<double>(f64_format); }

TEST_F(AcrossGpus, ProcessesReduceThroughIpc) {
  for (const int num_ranks : {2, 3}) EXPECT_EQ(run_processes(job::all_reduce, num_ranks), "") << num_ranks;
}

TEST_F(AcrossGpus, ProcessesWithOtherOptionsAreAllRefused) { EXPECT_EQ(run_processes(job::differing, 2), ""); }

// Every rung over the link, of all GPUs that are there.
TEST_F(AcrossGpus, RanksOnTheirOwnGpus) {
  int num_devices = 0;
  check(cudaGetDeviceCount(&num_devices));
  if (num_devices < 2) GTEST_SKIP() << "one GPU";
  std::vector<int> devices(std::min(num_devices, rungs::across::max_ranks));
  std::iota(devices.begin(), devices.end(), 0);
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (can == 0) GTEST_SKIP() << "no peer access";
  run_a_mixture(crew({0, 1}, 64, small), 300, 20'000, true);
  run_a_mixture(crew(devices, 64, {}), 60, 2 << 20, true);
}

}  // namespace
}  // namespace rungs::tests::across
