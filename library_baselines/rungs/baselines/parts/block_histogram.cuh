// The frame around cub::BlockHistogram: a grid-stride kernel in which each block counts into 256 counters of its own in
// shared memory, and adds them to the bins at the end. For samples of one byte: what is counted are their bits, and
// each of the 256 counts finds its bin at the end, so that any levels and any number of bins will do.
#pragma once

#include <cub/block/block_histogram.cuh>

#include <cstdint>

#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

inline constexpr int block_histogram_threads = 256, block_histogram_items = 16, block_histogram_blocks = 8;

template <cub::BlockHistogramAlgorithm algorithm, class SampleT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_histogram_threads)
    block_histogram_kernel(const SampleT* d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins) {
  constexpr int threads = block_histogram_threads, items = block_histogram_items, values = 256;
  using block_histogram = cub::BlockHistogram<unsigned char, threads, items, values, algorithm>;
  __shared__ typename block_histogram::TempStorage temp_storage;
  __shared__ unsigned counts[values];
  block_histogram block(temp_storage);
  block.InitHistogram(counts);
  __syncthreads();

  const auto bytes = reinterpret_cast<const unsigned char*>(d_samples);
  const bool aligned = reinterpret_cast<std::uintptr_t>(d_samples) % items == 0;
  constexpr std::size_t tile = std::size_t(threads) * items;
  const std::size_t num_tiles = num_samples / tile;
  for (std::size_t i = blockIdx.x; i < num_tiles; i += gridDim.x) {
    struct alignas(items) vector {
      unsigned char items[block_histogram_items];
    } loaded;
    const unsigned char* const first = bytes + i * tile + threadIdx.x * items;
    if (aligned) {
      loaded = *reinterpret_cast<const vector*>(first);
    } else {
#pragma unroll
      for (int k = 0; k < items; ++k) loaded.items[k] = first[k];
    }
    block.Composite(loaded.items, counts);
    __syncthreads();
  }
  // What fills no tile.
  if (blockIdx.x == gridDim.x - 1)
    for (std::size_t i = num_tiles * tile + threadIdx.x; i < num_samples; i += threads)
      atomicAdd(&counts[bytes[i]], 1u);
  __syncthreads();

  for (int value = threadIdx.x; value < values; value += threads) {
    const unsigned count = counts[value];
    const unsigned bin = bins.bin_of(static_cast<SampleT>(value));
    if (count != 0 && bin < bins.num_bins) atomicAdd(&d_histogram[bin], static_cast<CounterT>(count));
  }
}

// What rungs/parts/histogram_calls.cuh asks a rung for.
template <cub::BlockHistogramAlgorithm algorithm, class Bins, class SampleT, class CounterT>
cudaError_t count_in_blocks(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                            std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
  static_assert(sizeof(SampleT) == 1, "a counter a value: for samples of one byte");
  char* unused;
  cudaError_t error;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = rungs::parts::clear(d_histogram, bins.num_bins, stream);
  if (error != cudaSuccess || num_samples == 0) return error;
  int num_multiprocessors = 0;
  error = rungs::parts::multiprocessors(num_multiprocessors);
  if (error != cudaSuccess) return error;
  const std::size_t num_tiles = rungs::parts::ceil_div(num_samples, block_histogram_threads * block_histogram_items);
  return rungs::parts::launch(
      block_histogram_kernel<algorithm, SampleT, CounterT, Bins>,
      rungs::parts::at_most(num_tiles, std::size_t(num_multiprocessors) * block_histogram_blocks),
      block_histogram_threads, stream, d_samples, num_samples, d_histogram, bins);
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
