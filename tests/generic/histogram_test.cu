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

namespace {

using namespace rungs::tests;
namespace h = rungs::histograms;

// The first without anything clever, and those that a user would take.
using histogram_variants =
    ::testing::Types<h::global_atomics, h::vector_loads, h::bin_ranges, h::one_block, h::overlapped_clear,
                     h::lane_private, h::split_bins, h::hot_bins, rungs::cluster::histograms::cluster_merged,
                     rungs::cluster::histograms::distributed_bins>;

constexpr std::size_t histogram_sizes[] = {0, 1, 31, 4097, 60000, 700'001};

// The bin of a sample among even levels, or -1: of integers exactly, of floats by the documented formula in the type
// that samples and levels have in common.
template <class Sample, class Level>
int even_bin(Sample sample, Level lower, Level upper, int num_bins) {
  if constexpr (std::is_floating_point_v<Sample> || std::is_floating_point_v<Level>) {
    using T = decltype(Sample{} + Level{});
    const T s = static_cast<T>(sample), first = static_cast<T>(lower), last = static_cast<T>(upper);
    if (!(s >= first && s < last)) return -1;
    return std::min(static_cast<int>((s - first) * (static_cast<T>(num_bins) / (last - first))), num_bins - 1);
  } else {
    const __int128 s = sample, first = lower, last = upper;
    return s < first || s >= last ? -1 : static_cast<int>((s - first) * num_bins / (last - first));
  }
}
// Among any edges, of a type that holds every sample.
template <class Sample, class Level>
int range_bin(Sample sample, const std::vector<Level>& levels) {
  const auto above = std::ranges::upper_bound(levels, static_cast<Level>(sample));
  if (above == levels.begin() || above == levels.end()) return -1;
  return static_cast<int>(above - levels.begin()) - 1;
}

template <class Histogram>
class GenericHistogram : public Generic<Histogram> {
 protected:
  // Samples of the iterator, which are sample(i).
  template <class Counter, class Iterator, class Level, class SampleOf>
  void expect_even(Iterator d_samples, int num_bins, Level lower, Level upper, std::size_t n, const SampleOf& sample) {
    const auto call = [&](Counter* d_histogram) {
      return [=](void* d_temp_storage, std::size_t& bytes) {
        return Histogram::histogram_even(d_temp_storage, bytes, d_samples, d_histogram, num_bins + 1, lower, upper, n);
      };
    };
    expect_counters<Counter>(num_bins, n, call,
                             [&](std::size_t i) { return even_bin(sample(i), lower, upper, num_bins); });
  }
  template <class Counter, class Iterator, class Level, class SampleOf>
  void expect_range(Iterator d_samples, const std::vector<Level>& levels, std::size_t n, const SampleOf& sample) {
    const device_vector<Level> d_levels(levels);
    const int num_levels = static_cast<int>(levels.size());
    const auto call = [&](Counter* d_histogram) {
      return [=, edges = d_levels.in()](void* d_temp_storage, std::size_t& bytes) {
        return Histogram::histogram_range(d_temp_storage, bytes, d_samples, d_histogram, num_levels, edges, n);
      };
    };
    expect_counters<Counter>(num_levels - 1, n, call, [&](std::size_t i) { return range_bin(sample(i), levels); });
    EXPECT_TRUE(d_levels.read(levels.size()) == levels);
  }

  // Samples in memory.
  template <class Counter = unsigned, class Sample, class Level>
  void expect_even(const std::vector<Sample>& samples, int num_bins, Level lower, Level upper) {
    const device_vector<Sample> d_samples(samples);
    expect_even<Counter>(d_samples.in(), num_bins, lower, upper, samples.size(),
                         [&](std::size_t i) { return samples[i]; });
  }
  template <class Sample, class Level>
  void expect_range(const std::vector<Sample>& samples, const std::vector<Level>& levels) {
    const device_vector<Sample> d_samples(samples);
    expect_range<unsigned>(d_samples.in(), levels, samples.size(), [&](std::size_t i) { return samples[i]; });
  }

 private:
  static constexpr int most_bins() {
    if constexpr (requires { Histogram::max_bins; }) return Histogram::max_bins;
    return std::numeric_limits<int>::max();
  }
  template <class Counter, class Call, class BinOf>
  void expect_counters(int num_bins, std::size_t n, const Call& call, const BinOf& bin_of) {
    const auto bins = static_cast<std::size_t>(num_bins);
    std::vector<Counter> expected(bins, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (const int bin = bin_of(i); bin >= 0) ++expected[static_cast<std::size_t>(bin)];
    const device_vector<Counter> d_histogram(std::vector<Counter>(bins + 1, Counter(77)));
    if (num_bins > most_bins()) {
      EXPECT_EQ(this->workspace_.template run<Histogram>(call(d_histogram.items)), cudaErrorInvalidValue)
          << num_bins << " bins";
      expected.assign(bins, Counter(77));  // and nothing is touched
    } else {
      this->expect_success(call(d_histogram.items));
    }
    expected.push_back(Counter(77));
    const auto got = d_histogram.read(expected.size());
    for (std::size_t bin = 0; bin < expected.size(); ++bin)
      ASSERT_EQ(got[bin], expected[bin]) << "bin " << bin << " of " << bins << ", n = " << n;
  }
};
TYPED_TEST_SUITE(GenericHistogram, histogram_variants);

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
  const auto sample = [](std::size_t i) { return scattered{}(static_cast<long long>(i)); };
  const std::vector<int> levels{-2600, -1000, -999, 0, 0, 7, 2000};
  for (const std::size_t n : histogram_sizes) {
    this->template expect_even<unsigned>(samples, 300, -2000, 2001, n, sample);
    this->template expect_even<unsigned>(thrust::counting_iterator<int>(-100), 17, 0, 4000, n,
                                         [](std::size_t i) { return static_cast<int>(i) - 100; });
    this->template expect_range<unsigned>(samples, levels, n, sample);
  }
}

TYPED_TEST(GenericHistogram, CountersOfOtherTypes) {
  for (const std::size_t n : histogram_sizes) {
    const auto samples = whole_type<unsigned char>(n, 1);
    this->template expect_even<int>(samples, 256, 0, 256);
    this->template expect_even<unsigned long long>(samples, 256, 0, 256);
    this->template expect_even<unsigned long long>(samples, 100, 3, 200);
    const auto words = whole_type<int>(n, 2);
    this->template expect_even<int>(words, 5000, -2'000'000'000, 2'000'000'000);
    this->template expect_even<unsigned long long>(words, 70000, -2'000'000'000, 2'000'000'000);
  }
}

TYPED_TEST(GenericHistogram, SamplesAndLevelsOfWhichOneHasASign) {
  for (const std::size_t n : histogram_sizes) {
    const auto samples = whole_type<unsigned>(n, 3);
    this->expect_even(samples, 257, -1'000'000, std::numeric_limits<int>::max());
    this->expect_even(samples, 64, -5, 5'000'000);
    this->expect_even(whole_type<unsigned char>(n, 4), 1000, static_cast<short>(-300), static_cast<short>(300));
    this->expect_even(whole_type<int>(n, 5), 100, 7u, 4'000'000'000u);
    this->expect_even(whole_type<signed char>(n, 6), 128, 0u, 128u);
    this->expect_even(whole_type<long long>(n, 7), 1000, 1ull << 40, ~0ull);
  }
}

TYPED_TEST(GenericHistogram, IntegersOf64Bits) {
  using limits = std::numeric_limits<long long>;
  for (const std::size_t n : histogram_sizes) {
    const auto whole = whole_type<long long>(n, 8);
    this->expect_even(whole, 1000, limits::min(), limits::max());
    this->expect_even(whole, 3, -(1ll << 62), 5ll);
    const auto large = whole_type<unsigned long long>(n, 9);
    this->expect_even(large, 1000, 0ull, ~0ull);
    this->expect_even(large, 77777, 1ull << 63, ~0ull);
    this->expect_range(large, std::vector<unsigned long long>{0, 5, 1ull << 62, 1ull << 63, ~0ull});
  }
}

TYPED_TEST(GenericHistogram, IntegersWithLevelsOfFloats) {
  for (const std::size_t n : histogram_sizes) {
    std::vector<int> samples(n);
    for (std::size_t i = 0; i < n; ++i) samples[i] = static_cast<int>(i * 7919 % 100003) - 50000;
    this->expect_even(samples, 1000, -30000.5f, 40000.25f);
    this->expect_even(samples, 777, -1e5, 1.5e4);
    this->expect_range(samples, std::vector<float>{-40000.f, -0.5f, 0.5f, 1e9f});
  }
}

TYPED_TEST(GenericHistogram, FloatsWithLevelsOfDoubles) {
  for (const std::size_t n : histogram_sizes) {
    std::vector<float> samples(n);
    std::mt19937 random(11);
    for (float& sample : samples) sample = static_cast<float>(random()) / 1e9f - 1.f;
    if (n > 5)
      samples[3] = std::numeric_limits<float>::quiet_NaN(), samples[4] = -std::numeric_limits<float>::infinity();
    this->expect_even(samples, 300, 0.1, 2.9);
  }
}

// One counter takes them all; the next call begins from nothing, whatever the one before has left.
TYPED_TEST(GenericHistogram, OneWorkspaceServesCallsOfAnyKind) {
  for (const std::size_t n : {std::size_t{4097}, std::size_t{700'001}})
    for (int round = 0; round < 4; ++round) {
      this->expect_even(std::vector<unsigned char>(n, static_cast<unsigned char>(round)), 256, 0, 256);
      this->expect_even(whole_type<int>(n / 3, static_cast<unsigned>(round)), 20000, -2'000'000'000, 2'000'000'000);
      this->template expect_even<unsigned long long>(std::vector<int>(n, 5 * round), 1, 0, 100);
    }
}

}  // namespace
