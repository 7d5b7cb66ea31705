// CUB's calls for a histogram of one channel, made of one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/bins.cuh"
#include "rungs/parts/iterator_traits.cuh"

namespace rungs::RUNGS_ABI::parts {

// A rung derives from histogram_calls<rung> and writes one function,
//
//   template <class Bins, class SampleIteratorT, class CounterT>
//   static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
//                            std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);
//
// which counts, for each of bins.num_bins bins, the samples for which bins.bin_of(sample) names it. What d_histogram
// held before does not matter. Counters wrap around as their type does.
template <class Rung>
struct histogram_calls {
  // Bin i of num_levels - 1 holds the samples from lower_level + i * width to below lower_level + (i + 1) * width.
  template <class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                    CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                    std::size_t num_samples, cudaStream_t stream = nullptr) {
    even_bins<typename std::iterator_traits<SampleIteratorT>::value_type, LevelT> bins;
    if (const cudaError_t error = bins.set(num_levels, lower_level, upper_level)) return error;
    return Rung::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins, stream);
  }

  // Bin i holds the samples from d_levels[i] to below d_levels[i + 1]; the levels ascend, and lie on the device.
  template <class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t histogram_range(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                     CounterT* d_histogram, int num_levels, const LevelT* d_levels,
                                     std::size_t num_samples, cudaStream_t stream = nullptr) {
    range_bins<typename std::iterator_traits<SampleIteratorT>::value_type, LevelT> bins;
    if (const cudaError_t error = bins.set(num_levels, d_levels)) return error;
    if (d_temp_storage != nullptr && d_levels == nullptr) return cudaErrorInvalidValue;
    return Rung::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins, stream);
  }
};

// The counters of a histogram start at zero, whatever they held.
template <class CounterT>
cudaError_t clear(CounterT* d_histogram, unsigned num_bins, cudaStream_t stream) {
  return cudaMemsetAsync(d_histogram, 0, num_bins * sizeof(CounterT), stream);
}

}  // namespace rungs::RUNGS_ABI::parts
