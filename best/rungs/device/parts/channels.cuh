// Histograms of pixels with several channels, of any samples, levels and numbers of channels: every sample is read
// once, and counted in bins of its block's own where shared memory holds those of all channels, else in memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/device/parts/pitched.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/multi_histogram_calls.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::device {

// Channels is parts::active_channels. A thread has several pixels on their way, and takes them one by one.
template <bool in_shared_memory, int num_channels, int pixels_in_flight, class SampleIteratorT, class Channels>
__global__ void __launch_bounds__(1024)
    channels_kernel(SampleIteratorT d_samples, std::size_t num_pixels, Channels channels) {
  using counter = typename Channels::counter;
  using sample = parts::item_of<SampleIteratorT>;
  constexpr int num_active = Channels::num_active;
  extern __shared__ unsigned counters[];
  unsigned first[num_active + 1] = {};  // counter of each channel
#pragma unroll
  for (int channel = 0; channel < num_active; ++channel)
    first[channel + 1] = first[channel] + channels.bins[channel].num_bins;
  if constexpr (in_shared_memory)
    parts::clear_counters(counters, first[num_active]);
  else
    parts::wait_until_cleared();
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  bool counters_are_clear = !in_shared_memory;
#pragma unroll 1
  for (std::size_t pixel = thread - threadIdx.x; pixel < num_pixels; pixel += pixels_in_flight * num_threads) {
    const std::size_t mine = pixel + threadIdx.x;
    sample samples[pixels_in_flight][num_active];
#pragma unroll
    for (int i = 0; i < pixels_in_flight; ++i) {
      if (mine + i * num_threads >= num_pixels) continue;
      const auto from = pixel_at(d_samples, (mine + i * num_threads) * num_channels);
#pragma unroll
      for (int channel = 0; channel < num_active; ++channel) samples[i][channel] = static_cast<sample>(from[channel]);
    }
    if (!counters_are_clear) __syncthreads();
    counters_are_clear = true;
#pragma unroll
    for (int i = 0; i < pixels_in_flight; ++i) {
      if (mine + i * num_threads >= num_pixels) continue;
#pragma unroll
      for (int channel = 0; channel < num_active; ++channel) {
        const auto& bins = channels.bins[channel];
        const unsigned bin = bins.bin_of(samples[i][channel]);
        if (bin >= bins.num_bins) continue;
        if constexpr (in_shared_memory)
          atomicAdd(&counters[first[channel] + bin], 1u);
        else
          atomicAdd(&channels.d_histograms[channel][bin], counter(1));
      }
    }
  }
  if constexpr (in_shared_memory) {
    __syncthreads();
    parts::wait_until_cleared();
#pragma unroll
    for (int channel = 0; channel < num_active; ++channel)
      parts::send_counters(counters + first[channel], channels.bins[channel].num_bins, channels.d_histograms[channel]);
  }
}

template <int num_channels, class SampleIteratorT, class Channels>
cudaError_t count_pixels(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                         std::size_t num_pixels, const Channels& channels, cudaStream_t stream) {
  constexpr int small_block_threads = 512, block_threads = 1024;
  constexpr int active_bytes = Channels::num_active * static_cast<int>(sizeof(parts::item_of<SampleIteratorT>));
  constexpr int pixels_in_flight = active_bytes <= 16 ? 4 : active_bytes <= 32 ? 2 : 1;
  static_assert(Channels::num_active >= 1 && Channels::num_active <= num_channels);
  char* unused;
  parts::device_limits limits;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = limits.ask();
  if (error == cudaSuccess) error = channels.launch_clear(stream);
  if (error != cudaSuccess || num_pixels == 0) return error;
  std::size_t num_counters = 0;
  for (const auto& bins : channels.bins) num_counters += bins.num_bins;
  const bool in_shared_memory = num_counters <= parts::plain_counters;
  const auto kernel = in_shared_memory
                          ? channels_kernel<true, num_channels, pixels_in_flight, SampleIteratorT, Channels>
                          : channels_kernel<false, num_channels, pixels_in_flight, SampleIteratorT, Channels>;
  // Each block sends its counters, so there is one a multiprocessor; where it has none, as many as run at once.
  const std::size_t num_multiprocessors = limits.multiprocessors;
  const int threads = num_pixels <= num_multiprocessors * small_block_threads ? small_block_threads : block_threads;
  const std::size_t grid_blocks =
      parts::at_most(parts::ceil_div(num_pixels, threads), num_multiprocessors * (in_shared_memory ? 1 : 2));
  return parts::launch_overlapped(kernel, grid_blocks, threads, in_shared_memory ? num_counters * sizeof(unsigned) : 0,
                                  limits.overlaps(), stream, d_samples, num_pixels, channels);
}

}  // namespace rungs::RUNGS_ABI::device
