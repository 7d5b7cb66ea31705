// Kinds of histograms. Integers are binned exactly, whatever the levels. Floats are multiples of a quarter, and their
// bins as wide as a power of two, so that the formula of the header is exact.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/items.cuh"
#include "fuzz/kind.hpp"
#include "rungs/device/device_histogram.cuh"

namespace rungs::fuzz {

// Of integers in ones, of floats in quarters: samples are low + [0, width), or any bits where width is 0.
struct sample_recipe {
  unsigned long long seed, pattern, width;
  long long low;
};

template <class Sample>
__host__ __device__ Sample make(const sample_recipe& recipe, unsigned long long i) {
  unsigned long long bits = scrambled(recipe.seed, i);
  bool is_any = recipe.width == 0;
  switch (recipe.pattern) {
    case small_values:
      bits = bits % 8 == 0 ? bits : bits >> 61;
      break;
    case constant_values:
      bits = recipe.seed;
      break;
    case one_spike:
      bits = bits % 1024 == 0 ? bits : recipe.seed;
      break;
    case ascending_values:
      bits = i;
      break;
    case special_values:
      is_any = true;
      break;
    default:
      break;
  }
  if constexpr (is_float<Sample>) {
    if (is_any) {
      Sample sample;
      memcpy(static_cast<void*>(&sample), &bits, sizeof sample);
      return sample;
    }
    const long long quarters = recipe.low + static_cast<long long>(bits % recipe.width);
    return static_cast<Sample>(static_cast<float>(quarters) * 0.25f);
  } else {
    return static_cast<Sample>(is_any ? bits : static_cast<unsigned long long>(recipe.low) + bits % recipe.width);
  }
}

// Ascending levels, of integers in ones, of floats in quarters. Whole levels: they fit the samples and the level type.
template <class Sample, class Level>
struct levels_drawn {
  __int128 lower, upper;
  int num_bins;

  levels_drawn(const fuzz_case& one, unsigned channel, bool is_range) {
    const u64 drawn_by = mixed(one.seed, 5000) % 4 == 0 ? channel : 0;  // usually near each other
    const u64 bits = mixed(one.seed, 2000 + drawn_by), more = mixed(one.seed, 3000 + drawn_by);
    num_bins = static_cast<int>(std::max<u64>(1, one.bins - std::min<u64>(one.bins - 1, 7 * channel)));
    if constexpr (is_float<Sample> || is_float<Level>) {
      const __int128 width = __int128{1} << bits % 6;  // of a bin, in quarters
      lower = static_cast<__int128>(more % 1024) - 512;
      upper = lower + width * num_bins;
    } else {
      const __int128 least =
          std::max<__int128>(std::numeric_limits<Sample>::lowest(), std::numeric_limits<Level>::lowest());
      const __int128 most =
          std::min<__int128>(__int128{std::numeric_limits<Sample>::max()} + 1, std::numeric_limits<Level>::max());
      const __int128 range = most - least;
      __int128 span = num_bins;
      if (one.levels == 1) span <<= bits % 12;
      if (one.levels == 2) span = bits % 4 == 0 ? range : num_bins + static_cast<__int128>(bits >> bits % 60);
      span = std::clamp<__int128>(span, 1, range);
      if (is_range) num_bins = static_cast<int>(std::min<__int128>(num_bins, span));
      lower = more % 3 == 0 ? std::clamp<__int128>(0, least, most - span)
                            : least + static_cast<__int128>(more) % (range - span + 1);
      upper = lower + span;
    }
  }
  // Level i of a range.
  __int128 edge(const fuzz_case& one, int i) const {
    const __int128 step = (upper - lower) / num_bins;
    if (i == num_bins) return upper;
    return lower + step * i +
           (step > 1 ? static_cast<__int128>(mixed(one.seed, 4000 + static_cast<u64>(i))) % step : 0);
  }
  static Level level(__int128 value) {
    if constexpr (is_float<Sample> || is_float<Level>)
      return static_cast<Level>(static_cast<double>(value) * 0.25);
    else
      return static_cast<Level>(value);
  }
};

// `channels` samples make a pixel; all but the last of several channels count.
template <class Sample, class Level, class Counter, bool is_range, int channels, bool has_rows>
class histogram final : public kind {
 public:
  using kind::kind;
  using drawn_levels = levels_drawn<Sample, Level>;
  static constexpr int num_active = channels == 1 ? 1 : channels - 1;

  std::size_t row_samples(const fuzz_case& one) const { return one.n * channels + one.gap; }
  std::size_t in_items(const fuzz_case& one) const override { return row_samples(one) * one.rows; }
  std::size_t out_bytes(const fuzz_case& one) const override {
    std::size_t bins = 0;
    for (unsigned c = 0; c < num_active; ++c) bins += static_cast<std::size_t>(drawn_levels(one, c, is_range).num_bins);
    return bins * sizeof(Counter);
  }
  std::size_t extra_bytes(const fuzz_case& one) const override {
    return is_range ? num_active * (one.bins + 1) * sizeof(Level) : 256;
  }

  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const override {
    if (is_range && (shot == 0 || shot >= first_shot_before))  // a replay finds the same levels
      for (unsigned c = 0; c < num_active; ++c) {
        const std::vector<Level> levels = range_of(one, c);
        const cudaError_t error = cudaMemcpyAsync(d_levels(one, at, c), levels.data(), levels.size() * sizeof(Level),
                                                  cudaMemcpyHostToDevice, stream);
        if (error != cudaSuccess) return error;
      }
    return prepare_items<Sample>(at.d_in, in_items(one), recipe_for(one, shot), stream);
  }
  cudaError_t count_changes(const fuzz_case& one, u64 shot, const places& at, unsigned* d_num_changed,
                            cudaStream_t stream) const override {
    return count_changes_of<Sample>(at.d_in, in_items(one), recipe_for(one, shot), d_num_changed, stream);
  }

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    return with_storage(by, [&](auto&... storage) { return call_with(one, at, stream, storage...); });
  }

  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char) const override {
    const sample_recipe recipe = recipe_for(one, shot);
    std::vector<Counter> counters(out_bytes(one) / sizeof(Counter));
    std::size_t first = 0;
    for (unsigned c = 0; c < num_active; ++c) {
      const drawn_levels levels(one, c, is_range);
      const std::vector<Level> range = is_range ? range_of(one, c) : std::vector<Level>{};
      for (u64 row = 0; row < one.rows; ++row)
        for (u64 i = 0; i < one.n; ++i) {
          const Sample sample = make<Sample>(recipe, row * row_samples(one) + i * channels + c);
          const long long bin = is_range ? bin_in_range(range, sample) : bin_of_even(levels, sample);
          if (bin >= 0) ++counters[first + static_cast<std::size_t>(bin)];
        }
      first += static_cast<std::size_t>(levels.num_bins);
    }
    std::vector<unsigned char> bytes(counters.size() * sizeof(Counter));
    if (!bytes.empty()) std::memcpy(bytes.data(), counters.data(), bytes.size());
    return bytes;
  }
  void settle(unsigned char*, std::size_t) const override {}

 private:
  sample_recipe recipe_for(const fuzz_case& one, u64 shot) const {
    const drawn_levels levels(one, 0, is_range);
    const __int128 span = levels.upper - levels.lower, margin = span / 8 + 2;
    sample_recipe recipe{mixed(one.seed, shot), one.values, 0, 0};
    if (span < __int128{1} << 61) {
      recipe.width = static_cast<unsigned long long>(span + 2 * margin);
      recipe.low = static_cast<long long>(static_cast<unsigned long long>(levels.lower - margin));
    }
    return recipe;
  }
  std::vector<Level> range_of(const fuzz_case& one, unsigned channel) const {
    const drawn_levels levels(one, channel, true);
    std::vector<Level> edges;
    for (int i = 0; i <= levels.num_bins; ++i) edges.push_back(drawn_levels::level(levels.edge(one, i)));
    return edges;
  }
  static Level* d_levels(const fuzz_case& one, const places& at, unsigned channel) {
    return static_cast<Level*>(at.d_extra) + channel * (one.bins + 1);
  }

  static long long bin_in_range(const std::vector<Level>& edges, Sample sample) {
    const auto value = widened(sample);
    if (value != value) return -1;
    const auto above = std::upper_bound(edges.begin(), edges.end(), value, [](const auto& value, const Level& edge) {
      if constexpr (is_float<Sample> || is_float<Level>)
        return static_cast<double>(value) < static_cast<double>(edge);
      else
        return static_cast<__int128>(value) < static_cast<__int128>(edge);
    });
    return above == edges.begin() || above == edges.end() ? -1 : above - edges.begin() - 1;
  }
  static long long bin_of_even(const drawn_levels& levels, Sample sample) {
    if constexpr (is_float<Sample> || is_float<Level>) {
      using real = std::conditional_t<std::is_same_v<Sample, double> || std::is_same_v<Level, double>, double, float>;
      const real value = static_cast<real>(widened(sample));
      const real lower = static_cast<real>(static_cast<double>(levels.lower) * 0.25);
      const real upper = static_cast<real>(static_cast<double>(levels.upper) * 0.25);
      if (!(value >= lower && value < upper)) return -1;
      const real offset = value - lower, scale = static_cast<real>(levels.num_bins) / (upper - lower);
      return std::min<long long>(static_cast<long long>(offset * scale), levels.num_bins - 1);
    } else {
      const __int128 value = static_cast<__int128>(sample);
      if (value < levels.lower || value >= levels.upper) return -1;
      const auto offset = static_cast<unsigned __int128>(value - levels.lower);
      const auto span = static_cast<unsigned __int128>(levels.upper - levels.lower);
      const auto bins = static_cast<unsigned>(levels.num_bins);
      if (span < 1u << 30)  // a division of words
        return static_cast<long long>(static_cast<u64>(offset) * bins / static_cast<u64>(span));
      return static_cast<long long>(offset * bins / span);
    }
  }

  template <class... Storage>
  cudaError_t call_with(const fuzz_case& one, const places& at, cudaStream_t stream, Storage&... by) const {
    const auto samples = static_cast<const Sample*>(at.d_in);
    const auto n = static_cast<long long>(one.n), rows = static_cast<long long>(one.rows);
    const std::size_t stride = row_samples(one) * sizeof(Sample);
    std::array<Counter*, num_active> d_histograms;
    std::array<int, num_active> num_levels;
    std::array<Level, num_active> lower, upper;
    std::array<const Level*, num_active> levels;
    Counter* d_next = static_cast<Counter*>(at.d_out);
    for (unsigned c = 0; c < num_active; ++c) {
      const drawn_levels drawn(one, c, is_range);
      d_histograms[c] = d_next;
      d_next += drawn.num_bins;
      num_levels[c] = drawn.num_bins + 1;
      lower[c] = drawn_levels::level(drawn.lower);
      upper[c] = drawn_levels::level(drawn.upper);
      levels[c] = d_levels(one, at, c);
    }
    const auto call_of = [&](auto... size) {
      if constexpr (channels == 1 && is_range)
        return DeviceHistogram::HistogramRange(by..., samples, d_histograms[0], num_levels[0], levels[0], size...,
                                               stream);
      else if constexpr (channels == 1)
        return DeviceHistogram::HistogramEven(by..., samples, d_histograms[0], num_levels[0], lower[0], upper[0],
                                              size..., stream);
      else if constexpr (is_range)
        return DeviceHistogram::MultiHistogramRange<channels, num_active>(by..., samples, d_histograms, num_levels,
                                                                          levels, size..., stream);
      else
        return DeviceHistogram::MultiHistogramEven<channels, num_active>(by..., samples, d_histograms, num_levels,
                                                                         lower, upper, size..., stream);
    };
    if constexpr (has_rows)
      if (one.rows > 1 || one.gap > 0) return call_of(n, rows, stride);
    return call_of(n);
  }
};

template <class Sample, class Level, class Counter, bool is_range, int channels = 1, bool has_rows = false>
void add_histogram(kind_table& table, const char* name) {
  traits about;
  about.name = name;
  about.family = family::histogram;
  about.in_bytes = sizeof(Sample);
  about.out_bytes = sizeof(Counter);
  about.has_special_values = true;
  about.has_rows = has_rows;
  about.channels = channels;
  table.push_back(std::make_unique<histogram<Sample, Level, Counter, is_range, channels, has_rows>>(about));
}

}  // namespace rungs::fuzz
