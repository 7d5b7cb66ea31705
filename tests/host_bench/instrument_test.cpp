// Proof that the instrument works: kernels of known duration, differences planted and absent. Needs a GPU; skipped
// without one.
#include <gtest/gtest.h>

#include <cstring>

#include "check.hpp"
#include "fake_records.hpp"
#include "instruments.hpp"
#include "places.hpp"
#include "right_scans.hpp"
#include "statistics.hpp"

namespace rungs::bench {
namespace {

// Spins for num_items nanoseconds.
cudaError_t spin_for(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  if (fakes::only_size(workspace, num_bytes)) return cudaSuccess;
  return device_work::spin(a.num_items, nullptr, stream);
}

cudaError_t spin_twice(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  const cudaError_t error = spin_for(workspace, num_bytes, a, stream);
  return workspace == nullptr || error != cudaSuccess ? error : spin_for(workspace, num_bytes, a, stream);
}

class Instrument : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string why_not;
    facts() = find_device(why_not);
    if (!facts()) return;
    where() = std::make_unique<device_place>(*facts(), std::size_t{128} << 20, std::size_t{128} << 20);
    where()->warm_up();
  }
  static void TearDownTestSuite() { where().reset(); }
  void SetUp() override {
    if (!facts()) GTEST_SKIP() << "no usable GPU";
  }

  static std::optional<device_facts>& facts() {
    static std::optional<device_facts> found;
    return found;
  }
  static std::unique_ptr<device_place>& where() {
    static std::unique_ptr<device_place> place;
    return place;
  }

  // One series for each duration, sampled together.
  std::vector<series> sample_spins(mode how, const std::vector<std::size_t>& nanoseconds, stop_rule rule = {}) {
    std::vector<contender> contenders;
    for (const std::size_t duration : nanoseconds) {
      contender one;
      one.record = &spin_;
      one.arguments.num_items = duration;
      contenders.push_back(one);
    }
    for (const cudaError_t error : where()->bind(contenders)) check(error);
    std::vector<const contender*> pointers;
    for (const contender& one : contenders) {
      check(where()->call(one));
      pointers.push_back(&one);
    }
    const auto clock = where()->clock(how, pointers);
    return sample(*clock, static_cast<int>(contenders.size()), rule, clocks_, seconds_now, [] { return false; });
  }

  catalog::record spin_ = fakes::record("spin", spin_for, catalog::scalar::i32, executor::device);
  clock_guard clocks_;
};

TEST_F(Instrument, AMillisecondIsMeasuredWithinOnePercent) {
  const auto all = sample_spins(mode::cold, {1'000'000});
  EXPECT_NEAR(median(all[0].accepted), 1000, 10);
}

TEST_F(Instrument, TwentyMicrosecondsAreMeasuredWithinThreePercentAboveTheFloor) {
  for (const mode how : {mode::cold, mode::warm, mode::dirty}) {
    const auto all = sample_spins(how, {0, 20'000});
    EXPECT_NEAR(median(all[1].accepted) - median(all[0].accepted), 20, 0.6) << name(how);
  }
}

TEST_F(Instrument, AGraphsTimeIsDividedByItsCalls) {
  const auto all = sample_spins(mode::graph, {0, 20'000});
  EXPECT_NEAR(median(all[1].accepted) - median(all[0].accepted), 20, 0.6);
}

TEST_F(Instrument, APlantedSlowdownOfThreePercentIsCalledSlower) {
  const auto all = sample_spins(mode::cold, {100'000, 103'000});
  EXPECT_EQ(verdict(ratio_of_medians(all[0].accepted, all[1].accepted, ratio_confidence), 0.006), "SLOWER");
}

TEST_F(Instrument, OfTwoHundredPairsOfTheSameCodeAtMostTwoAreDifferent) {
  std::vector<ratio> twins;
  std::vector<double> ratios;
  for (int i = 0; i < 200; ++i) {
    const auto all = sample_spins(mode::cold, {20'000, 20'000}, {.enough = 30, .most = 30});
    twins.push_back(ratio_of_medians(all[0].accepted, all[1].accepted, ratio_confidence));
    ratios.push_back(twins.back().value);
  }
  const double floor = noise_floor(ratios);
  EXPECT_LT(floor, 0.02);  // the floor is no excuse: a difference of 3 % would still be called
  int different = 0, apart = 0;
  for (const ratio& twin : twins) {
    different += verdict(twin, floor) != "SAME";
    apart += twin.low > 1 || twin.high < 1;
  }
  EXPECT_LE(different, 2);
  EXPECT_LE(apart, 2);  // by their intervals alone
}

TEST_F(Instrument, TheClockIsRead) {
  sample_spins(mode::cold, {1'000});
  EXPECT_GT(clocks_.fastest_mhz(), 100);
  EXPECT_LT(clocks_.fastest_mhz(), 10'000);
}

TEST_F(Instrument, KernelsOfACallAreCounted) {
  auto twice = fakes::record("spin_twice", spin_twice, catalog::scalar::i32, executor::device);
  contender one;
  one.record = &twice;
  one.arguments.num_items = 1'000;
  ASSERT_EQ(where()->bind({&one, 1})[0], cudaSuccess);
  check(where()->call(one));
  const auto seen = launches_of(one, where()->stream());
  ASSERT_TRUE(seen && seen->largest);
  EXPECT_EQ(seen->kernels, 2);
  EXPECT_EQ(seen->largest->blocks, 1u);
  EXPECT_EQ(seen->largest->block_threads, 1u);
  EXPECT_EQ(seen->largest->cluster_blocks, 1u);
  EXPECT_FALSE(seen->largest->cooperative);
  ASSERT_TRUE(seen->largest->needs);
  EXPECT_GT(seen->largest->needs->registers, 0);
  EXPECT_EQ(seen->largest->needs->shared_bytes, 0u);
  EXPECT_GT(seen->largest->needs->occupancy, 0);  // blocks of one thread: as many as there is room for
  EXPECT_LE(seen->largest->needs->occupancy, 1);
  twice.waits_for_host = true;
  EXPECT_FALSE(launches_of(one, where()->stream()));
}

TEST_F(Instrument, TheDevicesItemsAndSummariesAreTheHosts) {
  using catalog::scalar;
  for (const scalar type : {scalar::i8, scalar::u8, scalar::i32, scalar::u32, scalar::i64, scalar::u64, scalar::f16,
                            scalar::bf16, scalar::f32, scalar::f64}) {
    for (const bool whole : {false, true}) {
      const workload from{type, 300'007, 11, whole};
      where()->fill({}, from, 0);
      const auto& device = where()->facts();
      host_place here;
      here.fill({}, from, 0);
      const auto& host = here.facts();
      EXPECT_EQ(device.sum, host.sum) << name(type);
      EXPECT_EQ(device.least_key, host.least_key) << name(type);
      EXPECT_EQ(device.greatest_key, host.greatest_key) << name(type);
      EXPECT_EQ(device.least, host.least) << name(type);
      EXPECT_EQ(device.greatest, host.greatest) << name(type);
      EXPECT_EQ(device.high + device.low, host.high + host.low) << name(type);
      EXPECT_NEAR(device.magnitudes, host.magnitudes, 1e-9 * host.magnitudes + 1e-300) << name(type);
    }
  }
}

// Samples and counts are a pure function of few numbers, compiled by two compilers.
TEST_F(Instrument, TheDevicesSamplesAndCountsAreTheHosts) {
  using catalog::operation, catalog::scalar;
  constexpr std::size_t n = 300'007;
  const device_memory memory(n * sizeof(double)), counters((65536 * 3 + 1) * 8), edges_there(65537 * 8);
  for (const scalar type : {scalar::u8, scalar::i8, scalar::u16, scalar::i16, scalar::i32, scalar::u32, scalar::f16,
                            scalar::f32, scalar::f64}) {
    for (const distribution from : all_distributions) {
      for (const bool even : {true, false}) {
        for (const std::size_t bins : {std::size_t{2}, std::size_t{256}, std::size_t{1000}, std::size_t{65536}}) {
          const auto context = std::string(name(type)) + " " + std::string(name(from)) + " " + std::to_string(bins) +
                               (even ? " even" : " range");
          const auto source = samples_from(type, n, 11, from, edges_of(type, bins, even));
          std::vector<unsigned char> here(n * catalog::size_of(type)), there(here.size());
          generate(source, here.data());
          check(device_work::generate(source, memory.get(), where()->stream()));
          check(cudaMemcpyAsync(there.data(), memory.get(), there.size(), cudaMemcpyDeviceToHost, where()->stream()));
          check(cudaStreamSynchronize(where()->stream()));
          EXPECT_EQ(std::memcmp(here.data(), there.data(), here.size()), 0) << context;

          catalog::record about;
          about.input_type = type;
          if (type == scalar::u8) about.num_channels = 4, about.num_active_channels = 3;
          auto of = question_of(about, source);
          const auto edges = edges_for(of, source);
          of.edges = edges.data();
          const counted expected = count_samples(of, here.data());
          if (!even)
            check(cudaMemcpyAsync(edges_there.get(), edges.data(), edges.size() * sizeof(double),
                                  cudaMemcpyHostToDevice, where()->stream()));
          of.edges = static_cast<const double*>(edges_there.get());
          std::vector<std::uint64_t> copies(device_work::num_copies(of) * of.num_counters() + 1);
          check(cudaMemsetAsync(counters.get(), 0, copies.size() * 8, where()->stream()));
          check(device_work::count_samples(of, memory.get(), static_cast<std::uint64_t*>(counters.get()),
                                           where()->stream()));
          check(cudaMemcpyAsync(copies.data(), counters.get(), copies.size() * 8, cudaMemcpyDeviceToHost,
                                where()->stream()));
          check(cudaStreamSynchronize(where()->stream()));
          counted found{.counters = std::vector<std::uint64_t>(of.num_counters()), .inside = copies.back()};
          for (std::size_t i = 0; i + 1 < copies.size(); ++i) found.counters[i % of.num_counters()] += copies[i];
          EXPECT_EQ(found.inside, expected.inside) << context;
          EXPECT_EQ(found.counters, expected.counters) << context;
        }
      }
    }
  }
}

TEST_F(Instrument, WholeOutputsOfScansAreCheckedOnTheDevice) { fakes::expect_outputs_to_be_checked(*where()); }

// The flush evicts: data that was just written must be read from memory again, which takes longer than from the cache.
TEST_F(Instrument, AColdSampleIsColderThanAWarmOne) {
  contender one;
  auto summary = fakes::record(
      "summarise",
      [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
        if (workspace == nullptr) {
          num_bytes = device_work::max_summaries * sizeof(summary_of_items);
          return cudaSuccess;
        }
        return device_work::summarise(catalog::scalar::i32, a.d_in, a.num_items,
                                      static_cast<summary_of_items*>(workspace), stream);
      },
      catalog::scalar::i32, executor::device);
  one.record = &summary;
  one.arguments.num_items = std::size_t{4} << 20;
  ASSERT_EQ(where()->bind({&one, 1})[0], cudaSuccess);
  const auto time = [&](mode how) {
    const auto clock = where()->clock(how, {&one});
    return median(sample(*clock, 1, {}, clocks_, seconds_now, [] { return false; })[0].accepted);
  };
  EXPECT_GT(time(mode::cold), time(mode::warm));
}

}  // namespace
}  // namespace rungs::bench
