// What the catalog's records cannot say of histograms: samples from iterators that are no pointers, counters of other
// types, levels of another type than the samples, and 64-bit integers.
#include <gtest/gtest.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "generic/support.cuh"
#include "rungs/cluster/histograms/00_cluster_merged.cuh"
#include "rungs/cluster/histograms/01_distributed_bins.cuh"
#include "rungs/histograms/00_global_atomics.cuh"
#include "rungs/histograms/04_vector_loads.cuh"
#include "rungs/histograms/09_bin_ranges.cuh"
#include "rungs/histograms/10_one_block.cuh"
#include "rungs/histograms/11_overlapped_clear.cuh"
#include "rungs/histograms/12_lane_private.cuh"
#include "rungs/histograms/13_split_bins.cuh"
#include "rungs/histograms/14_hot_bins.cuh"
#include "rungs/workspace.cuh"

namespace {

using namespace rungs::tests;
namespace h = rungs::histograms;

// The first without anything clever, and those that a user would take.
using variants =
    ::testing::Types<h::global_atomics, h::vector_loads, h::bin_ranges, h::one_block, h::overlapped_clear,
                     h::lane_private, h::split_bins, h::hot_bins, rungs::cluster::histograms::cluster_merged,
                     rungs::cluster::histograms::distributed_bins>;

constexpr std::size_t sizes[] = {0, 1, 31, 4097, 60000, 700'001};

// Bins of even integers, exactly; -1 for none.
int even_bin(__int128 sample, __int128 lower, __int128 upper, int num_bins) {
  if (sample < lower || sample >= upper) return -1;
  return static_cast<int>((sample - lower) * num_bins / (upper - lower));
}
// Of floats, by the documented formula.
template <class T>
int even_bin_of_floats(T sample, T lower, T upper, int num_bins) {
  if (!(sample >= lower && sample < upper)) return -1;
  return std::min(static_cast<int>((sample - lower) * (static_cast<T>(num_bins) / (upper - lower))), num_bins - 1);
}

template <class Histogram>
class GenericHistogram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_not_here<Histogram>(); !why.empty()) GTEST_SKIP() << why;
  }

  // The samples of the iterator, whose bins bin_of(i) says, or -1 for none.
  template <class Counter, class Iterator, class Level, class BinOf>
  void expect_even(Iterator d_samples, int num_bins, Level lower, Level upper, std::size_t n, const BinOf& bin_of) {
    const auto bins = static_cast<std::size_t>(num_bins);
    std::vector<Counter> expected(bins, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (const int bin = bin_of(i); bin >= 0) ++expected[static_cast<std::size_t>(bin)];
    device_vector<Counter> d_histogram(std::vector<Counter>(bins + 1, Counter(77)));
    const auto call = [&](void* d_temp_storage, std::size_t& bytes) {
      return Histogram::histogram_even(d_temp_storage, bytes, d_samples, d_histogram.items, num_bins + 1, lower, upper,
                                       n);
    };
    if (num_bins > most_bins()) {
      EXPECT_EQ(workspace_.template run<Histogram>(call), cudaErrorInvalidValue) << num_bins << " bins";
      expected.assign(bins, Counter(77));  // and nothing is touched
    } else {
      expect_success(call);
    }
    expect_counters(d_histogram, expected, n);
  }
  template <class Counter, class Iterator, class Level, class BinOf>
  void expect_range(Iterator d_samples, const std::vector<Level>& levels, std::size_t n, const BinOf& bin_of) {
    const std::size_t bins = levels.size() - 1;
    std::vector<Counter> expected(bins, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (const int bin = bin_of(i); bin >= 0) ++expected[static_cast<std::size_t>(bin)];
    device_vector<Counter> d_histogram(std::vector<Counter>(bins + 1, Counter(77)));
    device_vector<Level> d_levels(levels);
    expect_success([&](void* d_temp_storage, std::size_t& bytes) {
      return Histogram::histogram_range(d_temp_storage, bytes, d_samples, d_histogram.items,
                                        static_cast<int>(levels.size()), static_cast<const Level*>(d_levels.items), n);
    });
    expect_counters(d_histogram, expected, n);
    EXPECT_TRUE(d_levels.read(levels.size()) == levels);
  }

  // Samples in memory.
  template <class Counter, class Sample, class Level>
  void expect_even(const std::vector<Sample>& samples, int num_bins, Level lower, Level upper) {
    device_vector<Sample> d_samples(samples);
    expect_even<Counter>(static_cast<const Sample*>(d_samples.items), num_bins, lower, upper, samples.size(),
                         [&](std::size_t i) { return even_bin(samples[i], lower, upper, num_bins); });
  }

  rungs::workspace workspace_;

 private:
  static constexpr int most_bins() {
    if constexpr (requires { Histogram::max_bins; }) return Histogram::max_bins;
    return std::numeric_limits<int>::max();
  }
  template <class Call>
  void expect_success(Call call) {
    ASSERT_EQ(workspace_.template run<Histogram>(call), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  template <class Counter>
  void expect_counters(const device_vector<Counter>& d_histogram, std::vector<Counter> expected, std::size_t n) {
    expected.push_back(Counter(77));
    const auto got = d_histogram.read(expected.size());
    for (std::size_t bin = 0; bin < expected.size(); ++bin)
      ASSERT_EQ(got[bin], expected[bin]) << "bin " << bin << " of " << expected.size() - 1 << ", n = " << n;
  }
};
TYPED_TEST_SUITE(GenericHistogram, variants);

template <class T>
std::vector<T> whole_type(std::size_t n, unsigned seed) {
  std::vector<T> samples(n);
  std::mt19937_64 random(seed);
  for (T& sample : samples) sample = static_cast<T>(random());
  return samples;
}

struct scattered {
  __host__ __device__ int operator()(long long i) const { return static_cast<int>(i * 7919 % 5003) - 2500; }
};

TYPED_TEST(GenericHistogram, SamplesFromIteratorsThatAreNoPointers) {
  const auto samples = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), scattered{});
  const std::vector<int> levels{-2600, -1000, -999, 0, 0, 7, 2000};
  for (const std::size_t n : sizes) {
    this->template expect_even<unsigned>(samples, 300, -2000, 2001, n, [&](std::size_t i) {
      return even_bin(scattered{}(static_cast<long long>(i)), -2000, 2001, 300);
    });
    this->template expect_even<unsigned>(thrust::counting_iterator<int>(-100), 17, 0, 4000, n, [&](std::size_t i) {
      return even_bin(static_cast<long long>(i) - 100, 0, 4000, 17);
    });
    this->template expect_range<unsigned>(samples, levels, n, [&](std::size_t i) {
      const int sample = scattered{}(static_cast<long long>(i));
      if (sample < levels.front() || sample >= levels.back()) return -1;
      return static_cast<int>(std::upper_bound(levels.begin(), levels.end(), sample) - levels.begin()) - 1;
    });
  }
}

TYPED_TEST(GenericHistogram, CountersOfOtherTypes) {
  for (const std::size_t n : sizes) {
    const auto samples = whole_type<unsigned char>(n, 1);
    this->template expect_even<int>(samples, 256, 0, 256);
    this->template expect_even<unsigned long long>(samples, 256, 0, 256);
    this->template expect_even<unsigned long long>(samples, 100, 3, 200);
    const auto words = whole_type<int>(n, 2);
    this->template expect_even<int>(words, 5000, -2'000'000'000, 2'000'000'000);
    this->template expect_even<unsigned long long>(words, 70000, -2'000'000'000, 2'000'000'000);
  }
}

TYPED_TEST(GenericHistogram, UnsignedSamplesWithSignedLevels) {
  for (const std::size_t n : sizes) {
    const auto samples = whole_type<unsigned>(n, 3);
    this->template expect_even<unsigned>(samples, 257, -1'000'000, std::numeric_limits<int>::max());
    this->template expect_even<unsigned>(samples, 64, -5, 5'000'000);
    std::vector<unsigned char> bytes = whole_type<unsigned char>(n, 4);
    this->template expect_even<unsigned>(bytes, 1000, static_cast<short>(-300), static_cast<short>(300));
  }
}

TYPED_TEST(GenericHistogram, SignedSamplesWithUnsignedLevels) {
  for (const std::size_t n : sizes) {
    this->template expect_even<unsigned>(whole_type<int>(n, 5), 100, 7u, 4'000'000'000u);
    this->template expect_even<unsigned>(whole_type<signed char>(n, 6), 128, 0u, 128u);
    device_vector<long long> d_samples(whole_type<long long>(n, 7));
    const auto samples = d_samples.read(n);
    const unsigned long long lower = 1ull << 40, upper = ~0ull;
    this->template expect_even<unsigned>(static_cast<const long long*>(d_samples.items), 1000, lower, upper, n,
                                         [&](std::size_t i) { return even_bin(samples[i], lower, upper, 1000); });
  }
}

TYPED_TEST(GenericHistogram, IntegersOf64Bits) {
  using limits = std::numeric_limits<long long>;
  for (const std::size_t n : sizes) {
    const auto whole = whole_type<long long>(n, 8);
    this->template expect_even<unsigned>(whole, 1000, limits::min(), limits::max());
    this->template expect_even<unsigned>(whole, 3, -(1ll << 62), 5ll);
    const auto large = whole_type<unsigned long long>(n, 9);
    this->template expect_even<unsigned>(large, 1000, 0ull, ~0ull);
    this->template expect_even<unsigned>(large, 77777, 1ull << 63, ~0ull);
    device_vector<unsigned long long> d_samples(large);
    const std::vector<unsigned long long> levels{0, 5, 1ull << 62, 1ull << 63, ~0ull};
    this->template expect_range<unsigned>(
        static_cast<const unsigned long long*>(d_samples.items), levels, n, [&](std::size_t i) {
          if (large[i] >= levels.back()) return -1;
          return static_cast<int>(std::upper_bound(levels.begin(), levels.end(), large[i]) - levels.begin()) - 1;
        });
  }
}

TYPED_TEST(GenericHistogram, IntegersWithLevelsOfFloats) {
  for (const std::size_t n : sizes) {
    std::vector<int> samples(n);
    for (std::size_t i = 0; i < n; ++i) samples[i] = static_cast<int>(i * 7919 % 100003) - 50000;
    device_vector<int> d_samples(samples);
    const auto in = static_cast<const int*>(d_samples.items);
    this->template expect_even<unsigned>(in, 1000, -30000.5f, 40000.25f, n, [&](std::size_t i) {
      return even_bin_of_floats(static_cast<float>(samples[i]), -30000.5f, 40000.25f, 1000);
    });
    this->template expect_even<unsigned>(in, 777, -1e5, 1.5e4, n, [&](std::size_t i) {
      return even_bin_of_floats(static_cast<double>(samples[i]), -1e5, 1.5e4, 777);
    });
    const std::vector<float> levels{-40000.f, -0.5f, 0.5f, 1e9f};
    this->template expect_range<unsigned>(in, levels, n, [&](std::size_t i) {
      return samples[i] < -40000 ? -1 : samples[i] < 0 ? 0 : samples[i] == 0 ? 1 : 2;
    });
  }
}

TYPED_TEST(GenericHistogram, FloatsWithLevelsOfDoubles) {
  for (const std::size_t n : sizes) {
    std::vector<float> samples(n);
    std::mt19937 random(11);
    for (float& sample : samples) sample = static_cast<float>(random()) / 1e9f - 1.f;
    if (n > 5)
      samples[3] = std::numeric_limits<float>::quiet_NaN(), samples[4] = -std::numeric_limits<float>::infinity();
    device_vector<float> d_samples(samples);
    this->template expect_even<unsigned>(
        static_cast<const float*>(d_samples.items), 300, 0.1, 2.9, n,
        [&](std::size_t i) { return even_bin_of_floats(static_cast<double>(samples[i]), 0.1, 2.9, 300); });
  }
}

// One counter takes them all; the next call begins from nothing, whatever the one before has left.
TYPED_TEST(GenericHistogram, OneWorkspaceServesCallsOfAnyKind) {
  for (const std::size_t n : {std::size_t{4097}, std::size_t{700'001}})
    for (int round = 0; round < 4; ++round) {
      this->template expect_even<unsigned>(std::vector<unsigned char>(n, static_cast<unsigned char>(round)), 256, 0,
                                           256);
      this->template expect_even<unsigned>(whole_type<int>(n / 3, static_cast<unsigned>(round)), 20000, -2'000'000'000,
                                           2'000'000'000);
      this->template expect_even<unsigned long long>(std::vector<int>(n, 5 * round), 1, 0, 100);
    }
}

}  // namespace
