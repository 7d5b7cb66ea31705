// From a sample to its bin, on the host: the rules of rungs/parts/bins.cuh as one writes them there. bin_of(sample)
// answers num_bins for a sample that belongs to no bin.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "rungs/baselines/parts/host.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// Halves are compared and scaled as floats.
template <class SampleT>
using host_number = std::conditional_t<std::is_same_v<SampleT, __half>, float, SampleT>;

template <class SampleT, class LevelT>
struct host_even_bins {
  LevelT lower, upper;
  std::size_t num_bins;

  std::size_t bin_of(SampleT sample) const {
    const auto value = static_cast<host_number<SampleT>>(sample);
    if constexpr (std::is_integral_v<SampleT>) {
      static_assert(std::is_integral_v<LevelT> && sizeof(SampleT) <= 4 && sizeof(LevelT) <= 4);
      const long long from_lower = static_cast<long long>(value) - lower;
      const long long range = static_cast<long long>(upper) - lower;
      if (from_lower < 0 || from_lower >= range) return num_bins;
      if (static_cast<unsigned long long>(range) == num_bins) return static_cast<std::size_t>(from_lower);
      return static_cast<unsigned long long>(from_lower) * num_bins / static_cast<unsigned long long>(range);
    } else {
      if (!(value >= lower && value < upper)) return num_bins;
      const LevelT scale = static_cast<LevelT>(num_bins) / (upper - lower);
      return std::min(static_cast<std::size_t>((value - lower) * scale), num_bins - 1);
    }
  }
};

template <class SampleT, class LevelT>
struct host_range_bins {
  const LevelT* levels;
  std::size_t num_bins;

  std::size_t bin_of(SampleT sample) const {
    using number = std::conditional_t<std::is_integral_v<SampleT>, long long, LevelT>;
    const auto value = static_cast<number>(static_cast<host_number<SampleT>>(sample));
    if (!(value >= static_cast<number>(levels[0]) && value < static_cast<number>(levels[num_bins]))) return num_bins;
    const auto above = std::upper_bound(levels, levels + num_bins, value, [](number wanted, LevelT level) {
      return wanted < static_cast<number>(level);
    });
    return static_cast<std::size_t>(above - levels) - 1;
  }
};

// A rung derives from host_histogram_calls<rung> and writes
//   template <class Bins, class SampleT, class CounterT>
//   static void count(const SampleT* samples, std::size_t num_samples, CounterT* histogram, Bins bins);
// which adds to counters that are zero.
template <class Rung>
struct host_histogram_calls {
  template <class SampleT, class CounterT, class LevelT>
  static cudaError_t histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                                    CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                    std::size_t num_samples, cudaStream_t = nullptr) {
    if (num_levels < 2 || !(lower_level < upper_level)) return cudaErrorInvalidValue;
    return run(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram,
               host_even_bins<SampleT, LevelT>{lower_level, upper_level, std::size_t(num_levels) - 1});
  }

  template <class SampleT, class CounterT, class LevelT>
  static cudaError_t histogram_range(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                                     CounterT* d_histogram, int num_levels, const LevelT* d_levels,
                                     std::size_t num_samples, cudaStream_t = nullptr) {
    if (num_levels < 2) return cudaErrorInvalidValue;
    return run(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram,
               host_range_bins<SampleT, LevelT>{d_levels, std::size_t(num_levels) - 1});
  }

 private:
  template <class Bins, class SampleT, class CounterT>
  static cudaError_t run(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* samples,
                         std::size_t num_samples, CounterT* histogram, const Bins& bins) {
    return run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      std::fill_n(histogram, bins.num_bins, CounterT(0));
      Rung::count(samples, num_samples, histogram, bins);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines::parts
