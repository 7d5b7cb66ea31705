// CUB's device-wide histogram as an expert feeds it, so that a win over the naive call is not sold as a win over CUB.
//   integers      CUB divides 64-bit numbers once a sample. With levels of float it multiplies instead; that is done
//                 where it is exact: levels within 2^24, and bins whose width is a power of two or a unit fraction.
//   signed bytes  CUB never counts the negative ones. Samples and levels 128 higher are unsigned bytes.
//   i16, f16      CUB loses counts where a sample cannot hold the number of a bin: those are widened as they are read.
// Considered and left: other types of counters (only 32-bit ones have tuned policies), vectors of bytes (CUB loads four
// at once itself), a policy of one's own (the call takes none). f32, f64, u8 and all ranges: nothing to improve on
// cub_device_histogram.
#pragma once

#include <cuda_fp16.h>
#include <thrust/iterator/transform_iterator.h>

#include <limits>
#include <type_traits>

#include "rungs/baselines/cub_device_histogram.cuh"

namespace rungs::RUNGS_ABI::baselines {

// A sample as a type that holds the number of every bin.
template <class To>
struct widened {
  template <class SampleT>
  __host__ __device__ To operator()(SampleT sample) const {
    return static_cast<To>(sample);
  }
};

// A signed byte, 128 higher.
struct raised {
  __host__ __device__ unsigned char operator()(signed char sample) const {
    return static_cast<unsigned char>(sample + 128);
  }
};

struct cub_device_histogram_expert {
  static constexpr auto idea =
      "cub::DeviceHistogram::HistogramEven on float levels where that is exact, and on types that CUB counts rightly";
  static constexpr int block_threads = cub_device_histogram::block_threads;
  static constexpr int items_per_thread = cub_device_histogram::items_per_thread;
  static constexpr bool deterministic = true;

  template <class SampleT, class CounterT, class LevelT>
  static cudaError_t histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                                    CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                    std::size_t num_samples, cudaStream_t stream = nullptr) {
    const auto count = [&](auto samples, auto lower, auto upper) {
      return cub_device_histogram::histogram_even(d_temp_storage, temp_storage_bytes, samples, d_histogram, num_levels,
                                                  lower, upper, num_samples, stream);
    };
    if constexpr (std::is_same_v<SampleT, __half>) {
      if (num_levels - 1 > 2048)
        return count(thrust::make_transform_iterator(d_samples, widened<float>{}), lower_level, upper_level);
      return count(d_samples, lower_level, upper_level);
    } else if constexpr (sizeof(SampleT) == 1 && std::is_signed_v<SampleT>) {
      static_assert(sizeof(LevelT) > 1, "there must be room for levels 128 higher");
      constexpr LevelT distance = 128;
      if (lower_level > std::numeric_limits<LevelT>::max() - distance ||
          upper_level > std::numeric_limits<LevelT>::max() - distance)
        return count(d_samples, lower_level, upper_level);
      return count(thrust::make_transform_iterator(d_samples, raised{}), static_cast<LevelT>(lower_level + distance),
                   static_cast<LevelT>(upper_level + distance));
    } else {
      static_assert(std::is_integral_v<SampleT> && std::is_integral_v<LevelT> && sizeof(LevelT) <= 4);
      if constexpr (sizeof(SampleT) == 2 && std::is_signed_v<SampleT>)
        if (num_levels - 1 > 32768)
          return count(thrust::make_transform_iterator(d_samples, widened<int>{}), lower_level, upper_level);
      if (parts::fits_int(num_samples) && exact_in_float(num_levels - 1, lower_level, upper_level))
        return cub::DeviceHistogram::HistogramEven(
            d_temp_storage, temp_storage_bytes, d_samples, d_histogram, num_levels, static_cast<float>(lower_level),
            static_cast<float>(upper_level), static_cast<int>(num_samples), stream);
      return count(d_samples, lower_level, upper_level);
    }
  }

 private:
  // Whether (sample - lower) * (num_bins / (upper - lower)) in float has the bin for its integral part, for every
  // sample between the levels, and no sample from outside is rounded into them.
  static bool exact_in_float(long long num_bins, long long lower, long long upper) {
    constexpr long long limit = 1 << 24;
    const long long range = upper - lower;
    if (lower <= -limit || upper > limit || range <= 0 || range > limit || num_bins < 1 || num_bins > limit)
      return false;
    const long long width = range / num_bins;
    return num_bins % range == 0 || (range % num_bins == 0 && (width & (width - 1)) == 0);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
