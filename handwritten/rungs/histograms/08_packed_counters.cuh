// Rung 8. Two counters a word: 65536 bins fit a block's 128 KB of shared memory.
// Against 07_matched_lanes: half the bytes a bin, and all the shared memory that the device allows, so that eight times
// as many bins stay near the threads. The price is an atomic that answers: whoever sees a counter reach 2^15 moves that
// much of it to memory. Between two barriers a block counts fewer than 2^15 samples, so no counter reaches 2^16
// before that is done. Nothing merges additions that answer: samples that are all alike queue up.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/histograms/00_global_atomics.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    packed_counters_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins) {
  constexpr unsigned half = 1u << 15;
  static_assert(block_threads * parts::samples_per_thread < half);
  extern __shared__ unsigned counters[];
  const unsigned num_words = (bins.num_bins + 1) / 2;
  parts::clear_counters(counters, num_words);
  __syncthreads();
  const auto count = [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    if (bin >= bins.num_bins) return;
    const unsigned shift = bin % 2 * 16;
    const unsigned before = atomicAdd(&counters[bin / 2], 1u << shift);
    if ((before >> shift & 0xffff) == half - 1) {
      atomicSub(&counters[bin / 2], half << shift);
      atomicAdd(&d_histogram[bin], static_cast<CounterT>(half));
    }
  };
  parts::for_each_sample<block_threads>(d_samples, num_samples, count, [] { __syncthreads(); });
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < bins.num_bins; bin += block_threads) {
    const unsigned counted = counters[bin / 2] >> bin % 2 * 16 & 0xffff;
    if (counted != 0) atomicAdd(&d_histogram[bin], static_cast<CounterT>(counted));
  }
}

struct packed_counters : parts::histogram_calls<packed_counters> {
  static constexpr auto idea = "two 16-bit counters a word, so that 65536 bins fit in shared memory";
  static constexpr int block_threads = 1024, items_per_thread = parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr int max_bins = 65536;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  // Where the device allows a block too little shared memory, the counters in memory do.
  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    const std::size_t shared_bytes = (bins.num_bins + 1) / 2 * sizeof(unsigned);
    char* unused;
    std::size_t grid_blocks, allowed_bytes;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::most_shared_bytes(allowed_bytes);
    if (error == cudaSuccess && shared_bytes > allowed_bytes)
      return global_atomics::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins,
                                   stream);
    if (error == cudaSuccess)
      error = parts::plan_sample_grid(num_samples, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    return parts::launch_with_shared_memory(packed_counters_kernel<block_threads, SampleIteratorT, CounterT, Bins>,
                                            grid_blocks, block_threads, shared_bytes, stream, d_samples, num_samples,
                                            d_histogram, bins);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
