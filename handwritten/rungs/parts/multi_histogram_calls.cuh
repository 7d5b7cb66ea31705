// Histograms of pixels of several channels: what is counted, and CUB's call for even bins, made of another.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/bins.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// What is counted of pixels of several channels: the first ones of each pixel, each with its own bins and counters.
template <int num_active_, class Bins, class CounterT>
struct active_channels {
  using counter = CounterT;
  static constexpr int num_active = num_active_;
  Bins bins[num_active];
  CounterT* d_histograms[num_active];

  // Levels of each channel, as Bins::set takes them; answers what it says of the first ones that it refuses.
  template <class... Levels>
  cudaError_t set(CounterT* const (&d_histogram)[num_active], const Levels (&... levels)[num_active]) {
    for (int i = 0; i < num_active; ++i) {
      d_histograms[i] = d_histogram[i];
      if (const cudaError_t error = bins[i].set(levels[i]...)) return error;
    }
    return cudaSuccess;
  }
  cudaError_t launch_clear(cudaStream_t stream) const {
    counters_to_clear<CounterT, num_active> to_clear{};
    for (int i = 0; i < num_active; ++i) {
      to_clear.d_histograms[i] = d_histograms[i];
      to_clear.num_bins[i] = bins[i].num_bins;
    }
    return parts::launch_clear(to_clear, stream);
  }
};

// A rung derives from multi_histogram_calls<rung> and writes one function,
//
//   template <int num_channels, class SampleIteratorT, class Channels>
//   static cudaError_t count_pixels(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
//                                   std::size_t num_pixels, const Channels& channels, cudaStream_t stream);
//
// which counts pixels of num_channels samples into `channels`, some active_channels.
template <class Rung>
struct multi_histogram_calls {
  // CUB's call for pixels of num_channels samples, of which the first num_active are counted.
  template <int num_channels, int num_active, class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t multi_histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                          SampleIteratorT d_samples, CounterT* const (&d_histogram)[num_active],
                                          const int (&num_levels)[num_active], const LevelT (&lower_level)[num_active],
                                          const LevelT (&upper_level)[num_active], std::size_t num_pixels,
                                          cudaStream_t stream = nullptr) {
    static_assert(num_active <= num_channels);
    active_channels<num_active, even_bins<item_of<SampleIteratorT>, LevelT>, CounterT> channels{};
    if (const cudaError_t error = channels.set(d_histogram, num_levels, lower_level, upper_level)) return error;
    return Rung::template count_pixels<num_channels>(d_temp_storage, temp_storage_bytes, d_samples, num_pixels,
                                                     channels, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
