// CUB's device-wide histogram of samples that come in pixels of several channels, of which the first few are counted.
// A file of its own beside cub_device_histogram, because it is enrolled for fewer types.
#pragma once

#include <cub/device/device_histogram.cuh>
#include <cuda/std/array>

#include "rungs/baselines/parts/cub_offset.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_device_multi_histogram {
  static constexpr auto idea = "cub::DeviceHistogram::MultiHistogramEven";
  static constexpr int block_threads = 384, items_per_thread = 5;  // pixels
  static constexpr bool deterministic = true;

  template <int num_channels, int num_active_channels, class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t multi_histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                          SampleIteratorT d_samples, CounterT* const* d_histogram,
                                          const int* num_levels, const LevelT* lower_level, const LevelT* upper_level,
                                          std::size_t num_pixels, cudaStream_t stream = nullptr) {
    cuda::std::array<CounterT*, num_active_channels> histograms;
    cuda::std::array<int, num_active_channels> level_counts;
    cuda::std::array<LevelT, num_active_channels> lower_levels, upper_levels;
    for (int channel = 0; channel < num_active_channels; ++channel) {
      histograms[channel] = d_histogram[channel];
      level_counts[channel] = num_levels[channel];
      lower_levels[channel] = lower_level[channel];
      upper_levels[channel] = upper_level[channel];
    }
    // CUB counts pixels, and steps over samples.
    return parts::with_offset(num_pixels * num_channels, [&](auto num_samples) {
      return cub::DeviceHistogram::MultiHistogramEven<num_channels, num_active_channels>(
          d_temp_storage, temp_storage_bytes, d_samples, histograms, level_counts, lower_levels, upper_levels,
          num_samples / num_channels, stream);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
