// Rung 2. As many blocks as stay resident, each of which counts every num_threads-th sample a thread.
// Against 01_block_private: the bins are cleared and sent once a block that lives through the whole call, not once
// every 1024 samples. At 256 bins and 16 Mi samples that is 0.1 Mi atomics in memory instead of 4 Mi.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <class SampleIteratorT, class CounterT, class Bins>
__global__ void grid_stride_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram,
                                   Bins bins) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, bins.num_bins);
  __syncthreads();
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = thread; i < num_samples; i += num_threads) {
    const unsigned bin = bins.bin_of(d_samples[i]);
    if (bin < bins.num_bins) atomicAdd(&counters[bin], 1u);
  }
  __syncthreads();
  parts::send_counters(counters, bins.num_bins, d_histogram);
}

struct grid_stride : parts::histogram_calls<grid_stride> {
  static constexpr auto idea = "blocks that stay, so that their bins are cleared and sent once";
  static constexpr int block_threads = 512, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 4;
  static constexpr int max_bins = parts::plain_counters;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    char* unused;
    int num_multiprocessors;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::multiprocessors(num_multiprocessors);
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_samples, block_threads),
                                                   std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
    return parts::launch_with_shared_memory(grid_stride_kernel<SampleIteratorT, CounterT, Bins>, grid_blocks,
                                            block_threads, bins.num_bins * sizeof(unsigned), stream, d_samples,
                                            num_samples, d_histogram, bins);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
