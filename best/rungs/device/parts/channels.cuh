// Histograms of pixels with several channels, of any samples, levels and numbers of channels: every sample is read
// once, and counted in bins of its block's own where shared memory holds those of all channels, else in memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/counters.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/multi_histogram_calls.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::device {

// Channels is parts::active_channels. A thread takes a pixel at a time.
template <bool in_shared_memory, int num_channels, class SampleIteratorT, class Channels>
__global__ void __launch_bounds__(512)
    channels_kernel(SampleIteratorT d_samples, std::size_t num_pixels, Channels channels) {
  using counter = typename Channels::counter;
  extern __shared__ unsigned counters[];
  unsigned first[Channels::num_active + 1] = {};  // counter of each channel
#pragma unroll
  for (int channel = 0; channel < Channels::num_active; ++channel)
    first[channel + 1] = first[channel] + channels.bins[channel].num_bins;
  if constexpr (in_shared_memory) {
    parts::clear_counters(counters, first[Channels::num_active]);
    __syncthreads();
  }
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t pixel = thread; pixel < num_pixels; pixel += num_threads) {
#pragma unroll
    for (int channel = 0; channel < Channels::num_active; ++channel) {
      const auto& bins = channels.bins[channel];
      const unsigned bin = bins.bin_of(static_cast<parts::item_of<SampleIteratorT>>(
          d_samples[static_cast<std::ptrdiff_t>(pixel * num_channels + channel)]));
      if (bin >= bins.num_bins) continue;
      if constexpr (in_shared_memory)
        atomicAdd(&counters[first[channel] + bin], 1u);
      else
        atomicAdd(&channels.d_histograms[channel][bin], counter(1));
    }
  }
  if constexpr (in_shared_memory) {
    __syncthreads();
#pragma unroll
    for (int channel = 0; channel < Channels::num_active; ++channel)
      parts::send_counters(counters + first[channel], channels.bins[channel].num_bins, channels.d_histograms[channel]);
  }
}

template <int num_channels, class SampleIteratorT, class Channels>
cudaError_t count_pixels(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                         std::size_t num_pixels, const Channels& channels, cudaStream_t stream) {
  constexpr int block_threads = 512, blocks_per_multiprocessor = 4;
  static_assert(Channels::num_active >= 1 && Channels::num_active <= num_channels);
  char* unused;
  int num_multiprocessors;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = parts::multiprocessors(num_multiprocessors);
  if (error == cudaSuccess) error = channels.launch_clear(stream);
  if (error != cudaSuccess || num_pixels == 0) return error;
  std::size_t num_counters = 0;
  for (const auto& bins : channels.bins) num_counters += bins.num_bins;
  const bool in_shared_memory = num_counters <= parts::plain_counters;
  const auto kernel = in_shared_memory ? channels_kernel<true, num_channels, SampleIteratorT, Channels>
                                       : channels_kernel<false, num_channels, SampleIteratorT, Channels>;
  const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_pixels, block_threads),
                                                 std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
  return parts::launch_with_shared_memory(kernel, grid_blocks, block_threads,
                                          in_shared_memory ? num_counters * sizeof(unsigned) : 0, stream, d_samples,
                                          num_pixels, channels);
}

}  // namespace rungs::RUNGS_ABI::device
