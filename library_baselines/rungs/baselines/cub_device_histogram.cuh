// CUB's device-wide histogram by its documented call, with counters of 32 bits and an int for a count: for which it has
// its fast paths. Samples of one byte are counted as they are, and their 256 counts distributed over the bins at the
// end; wider ones find their bin one by one, in shared memory up to 256 bins, beyond in a histogram a block in global
// memory.
//
// What it is known to get wrong is left as it is, for the report to show: negative samples of one byte are never
// counted (NVIDIA/cccl issue 10977), counts are lost where the samples' type cannot hold every bin's number (10976:
// int16 beyond 32768 bins, half beyond 2048), and integer levels as far apart as their type allows are refused (10975).
#pragma once

#include <cub/device/device_histogram.cuh>

#include "rungs/baselines/parts/cub_offset.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_device_histogram {
  static constexpr auto idea = "cub::DeviceHistogram::HistogramEven and HistogramRange";
  // For samples of four bytes. Of one byte: 768 threads with 12; of two: 960 with 10; of eight: 384 with 8.
  static constexpr int block_threads = 384, items_per_thread = 16;
  static constexpr bool deterministic = true;

  template <class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                    CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                    std::size_t num_samples, cudaStream_t stream = nullptr) {
    return parts::with_offset(num_samples, [&](auto count) {
      return cub::DeviceHistogram::HistogramEven(d_temp_storage, temp_storage_bytes, d_samples, d_histogram, num_levels,
                                                 lower_level, upper_level, count, stream);
    });
  }

  template <class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t histogram_range(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                     CounterT* d_histogram, int num_levels, const LevelT* d_levels,
                                     std::size_t num_samples, cudaStream_t stream = nullptr) {
    return parts::with_offset(num_samples, [&](auto count) {
      return cub::DeviceHistogram::HistogramRange(d_temp_storage, temp_storage_bytes, d_samples, d_histogram,
                                                  num_levels, d_levels, count, stream);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
