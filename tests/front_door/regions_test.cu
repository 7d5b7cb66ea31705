// Histograms of a region of an image: rows of any width that begin at any address, against the samples one by one.
// Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/rungs.cuh>

#include <cuda/std/array>
#include <string>
#include <vector>

#include "front_door/gpu_test.cuh"

namespace rungs::tests {
namespace {

// In samples, or in pixels where there are several channels: rows `width` wide and the rest of `stride` apart; `gap` is
// in samples.
struct region {
  std::size_t first, width, rows, gap;
  std::string text() const {
    return std::to_string(rows) + " rows of " + std::to_string(width) + ", " + std::to_string(gap) + " between, from " +
           std::to_string(first);
  }
};

// One sample a row; less than a vector, a vector and more; rows that share a vector, and rows that follow far behind;
// rows of which blocks take several, and rows that many blocks share.
const std::vector<region> regions{{0, 1, 3, 1},        {3, 1, 5000, 16},    {1, 3, 4001, 2},    {0, 7, 3000, 9},
                                  {5, 15, 1001, 1},    {0, 16, 777, 16},    {7, 17, 2500, 3},   {1, 100, 1200, 28},
                                  {2, 333, 300, 19},   {0, 1000, 40, 24},   {9, 1921, 71, 127}, {0, 6001, 600, 15},
                                  {11, 6001, 301, 4},  {1, 30'000, 31, 16}, {3, 100'003, 7, 1}, {0, 1, 1, 5},
                                  {1, 1'000'001, 3, 2}};

class Regions : public GpuTest {
 protected:
  template <class T>
  static std::vector<T> samples_of(const region& at, std::size_t channels) {
    return items<T>(at.first + at.rows * (at.width * channels + at.gap), 331, -20);
  }
  // Without what lies behind the last sample: compute-sanitizer sees what is read there.
  template <class T>
  static device_array<T> without_end(std::vector<T> host, const region& at) {
    host.resize(host.size() - at.gap);
    return device_array<T>(host);
  }

  // Bins of two numbers each, from -10 on.
  static constexpr int lower = -10;
  template <class T>
  static void count(std::vector<unsigned>& counts, std::size_t first_bin, std::size_t num_bins, T sample) {
    const int offset = static_cast<int>(sample) - lower;
    if (offset >= 0 && static_cast<std::size_t>(offset / 2) < num_bins)
      ++counts[first_bin + static_cast<std::size_t>(offset / 2)];
  }

  template <class T, bool is_range = false>
  void expect_counted() {
    for (const region& at : regions)
      for (const std::size_t num_bins : {std::size_t{5}, std::size_t{100}, std::size_t{3000}, std::size_t{20'000}}) {
        const std::vector<T> host = samples_of<T>(at, 1);
        const std::size_t stride = at.width + at.gap;
        std::vector<unsigned> counts(num_bins);
        for (std::size_t row = 0; row < at.rows; ++row)
          for (std::size_t i = 0; i < at.width; ++i) count(counts, 0, num_bins, host[at.first + row * stride + i]);
        const device_array<T> d_in = without_end(host, at);
        const device_array<unsigned> d_histogram(num_bins);
        const std::string what = at.text() + ", " + std::to_string(num_bins) + " bins";
        const auto width = static_cast<int>(at.width), rows = static_cast<int>(at.rows);
        if constexpr (is_range) {
          std::vector<int> edges;
          for (std::size_t bin = 0; bin <= num_bins; ++bin) edges.push_back(lower + 2 * static_cast<int>(bin));
          const device_array<int> d_edges(edges);
          expect_in_both_forms("range, " + what, counts, d_histogram, [&](auto&... storage) {
            return DeviceHistogram::HistogramRange(storage..., d_in.read() + at.first, d_histogram.get(),
                                                   static_cast<int>(num_bins) + 1, d_edges.read(), width, rows,
                                                   stride * sizeof(T), stream_);
          });
        } else {
          expect_in_both_forms("even, " + what, counts, d_histogram, [&](auto&... storage) {
            return DeviceHistogram::HistogramEven(
                storage..., d_in.read() + at.first, d_histogram.get(), static_cast<int>(num_bins) + 1, lower,
                lower + 2 * static_cast<int>(num_bins), width, rows, stride * sizeof(T), stream_);
          });
        }
      }
  }

  // Three of four channels, with other bins each.
  template <class T>
  void expect_pixels_counted() {
    constexpr std::size_t channels = 4, active = 3;
    for (const region& at : regions) {
      if (at.width > 200'000) continue;
      const std::vector<T> host = samples_of<T>(at, channels);
      const std::size_t stride = at.width * channels + at.gap, num_bins[active] = {100, 7, 60};
      const std::size_t first_bin[active] = {0, num_bins[0], num_bins[0] + num_bins[1]};
      std::vector<unsigned> counts(num_bins[0] + num_bins[1] + num_bins[2]);
      for (std::size_t row = 0; row < at.rows; ++row)
        for (std::size_t i = 0; i < at.width; ++i)
          for (std::size_t channel = 0; channel < active; ++channel)
            count(counts, first_bin[channel], num_bins[channel],
                  host[at.first + row * stride + i * channels + channel]);
      const device_array<T> d_in = without_end(host, at);
      const device_array<unsigned> d_counters(counts.size());
      cuda::std::array<unsigned*, active> d_histogram{};
      cuda::std::array<int, active> num_levels{}, lower_level{}, upper_level{};
      for (std::size_t channel = 0; channel < active; ++channel) {
        d_histogram[channel] = d_counters.get() + first_bin[channel];
        num_levels[channel] = static_cast<int>(num_bins[channel]) + 1;
        lower_level[channel] = lower;
        upper_level[channel] = lower + 2 * static_cast<int>(num_bins[channel]);
      }
      expect_in_both_forms("three channels, " + at.text(), counts, d_counters, [&](auto&... storage) {
        return DeviceHistogram::MultiHistogramEven<channels, active>(
            storage..., d_in.read() + at.first, d_histogram, num_levels, lower_level, upper_level,
            static_cast<int>(at.width), static_cast<int>(at.rows), stride * sizeof(T), stream_);
      });
    }
  }

  // One row of pixels, all samples of which have a bin of their own.
  template <int channels, int active>
  void expect_row_counted(std::size_t first, std::size_t num_pixels) {
    const std::vector<unsigned char> host = items<unsigned char>(first + num_pixels * channels, 251, 0);
    constexpr std::size_t num_bins = 256;
    std::vector<unsigned> counts(active * num_bins);
    for (std::size_t i = 0; i < num_pixels; ++i)
      for (std::size_t channel = 0; channel < active; ++channel)
        ++counts[channel * num_bins + host[first + i * channels + channel]];
    const device_array<unsigned char> d_in(host);
    const device_array<unsigned> d_counters(counts.size());
    cuda::std::array<unsigned*, active> d_histogram{};
    cuda::std::array<int, active> num_levels{}, lower_level{}, upper_level{};
    for (std::size_t channel = 0; channel < active; ++channel) {
      d_histogram[channel] = d_counters.get() + channel * num_bins;
      num_levels[channel] = num_bins + 1;
      upper_level[channel] = num_bins;
    }
    const std::string what = std::to_string(num_pixels) + " pixels from " + std::to_string(first) + ", " +
                             std::to_string(active) + " channels of " + std::to_string(channels);
    expect_in_both_forms(what, counts, d_counters, [&](auto&... storage) {
      return DeviceHistogram::MultiHistogramEven<channels, active>(storage..., d_in.read() + first, d_histogram,
                                                                   num_levels, lower_level, upper_level,
                                                                   static_cast<int>(num_pixels), stream_);
    });
  }
};

TEST_F(Regions, OfBytes) { expect_counted<unsigned char>(); }
TEST_F(Regions, OfBytesAmongEdges) { expect_counted<unsigned char, true>(); }
TEST_F(Regions, OfSignedBytes) { expect_counted<signed char>(); }
TEST_F(Regions, OfShorts) { expect_counted<unsigned short>(); }
TEST_F(Regions, OfIntsAmongEdges) { expect_counted<int, true>(); }
TEST_F(Regions, OfDoubles) { expect_counted<double>(); }
TEST_F(Regions, OfChannelsOfBytes) { expect_pixels_counted<unsigned char>(); }
TEST_F(Regions, OfChannelsOfInts) { expect_pixels_counted<int>(); }

// Vectors begin in any of three channels. The last size is beyond 2^24 samples.
TEST_F(Regions, OfOneRowOfPixels) {
  for (const std::size_t num_pixels : {1, 5, 16, 1000, 360'449, 700'001, 6'000'001})
    for (const std::size_t first : {0, 1, 2, 15}) {
      expect_row_counted<3, 3>(first, num_pixels);
      if (num_pixels > 1'000'000) continue;
      expect_row_counted<3, 1>(first, num_pixels);
      expect_row_counted<3, 2>(first, num_pixels);
      expect_row_counted<2, 2>(first, num_pixels);
      expect_row_counted<4, 3>(first, num_pixels);
    }
}

// Rows that overlap, and one row over and over.
TEST_F(Regions, OfRowsThatOverlap) {
  constexpr std::size_t width = 37, rows = 500, num_bins = 256;
  for (const std::size_t stride : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{16}, std::size_t{36}}) {
    const std::vector<unsigned char> host = items<unsigned char>(1 + width + (rows - 1) * stride, 251, 0);
    std::vector<unsigned> counts(num_bins);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < width; ++i) ++counts[host[1 + row * stride + i]];
    const device_array<unsigned char> d_in(host);
    const device_array<unsigned> d_histogram(num_bins);
    expect_in_both_forms("stride " + std::to_string(stride), counts, d_histogram, [&](auto&... storage) {
      return DeviceHistogram::HistogramEven(storage..., d_in.read() + 1, d_histogram.get(), 257, 0, 256,
                                            static_cast<int>(width), static_cast<int>(rows), stride, stream_);
    });
  }
}

}  // namespace
}  // namespace rungs::tests
