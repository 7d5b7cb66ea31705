// Rung 0. A thread a sample, and an atomic addition on the bin in memory for each.
// The histogram as one would first write it. All atomics of all blocks meet in the L2, and those on one bin come one
// after the other: what a histogram costs then depends on the samples, and is worst where they are all alike.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <class SampleIteratorT, class CounterT, class Bins>
__global__ void global_atomics_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram,
                                      Bins bins) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= num_samples) return;
  const unsigned bin = bins.bin_of(d_samples[i]);
  if (bin < bins.num_bins) atomicAdd(&d_histogram[bin], CounterT(1));
}

struct global_atomics : parts::histogram_calls<global_atomics> {
  static constexpr auto idea = "a thread a sample, and an atomic addition in memory for each";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    return parts::launch(global_atomics_kernel<SampleIteratorT, CounterT, Bins>,
                         parts::ceil_div(num_samples, block_threads), block_threads, stream, d_samples, num_samples,
                         d_histogram, bins);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
