// Rung 1. A block counts in bins of its own, in shared memory, and adds them to the bins in memory at the end.
// Against 00_global_atomics: an atomic crosses to the L2 for each bin that a block has met and not for each sample, so
// 1024 equal samples send one instead of 1024, and 1024 that fall into 256 bins at random send about 250. What collides
// now collides within a multiprocessor, which merges additions of 1 to the same word.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <class SampleIteratorT, class CounterT, class Bins>
__global__ void block_private_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram,
                                     Bins bins) {
  extern __shared__ unsigned counters[];
  for (unsigned i = threadIdx.x; i < bins.num_bins; i += blockDim.x) counters[i] = 0;
  __syncthreads();
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < num_samples) {
    const unsigned bin = bins.bin_of(d_samples[i]);
    if (bin < bins.num_bins) atomicAdd(&counters[bin], 1u);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < bins.num_bins; i += blockDim.x)
    if (counters[i] != 0) atomicAdd(&d_histogram[i], static_cast<CounterT>(counters[i]));
}

struct block_private : parts::histogram_calls<block_private> {
  static constexpr auto idea = "bins private to a block in shared memory, added to those in memory at its end";
  static constexpr int block_threads = 1024, items_per_thread = 1;
  static constexpr int max_bins = parts::plain_counters;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    return parts::launch_with_shared_memory(
        block_private_kernel<SampleIteratorT, CounterT, Bins>, parts::ceil_div(num_samples, block_threads),
        block_threads, bins.num_bins * sizeof(unsigned), stream, d_samples, num_samples, d_histogram, bins);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
