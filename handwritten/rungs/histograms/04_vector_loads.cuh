// Rung 4. Sixteen samples a thread at a time, by 16-byte loads that are all in flight before the first is counted.
// Against 03_warp_private: a sixteenth of the load instructions for bytes, a quarter for 4-byte samples, and 16 to 64
// bytes in flight per thread instead of 1 to 4, which is what DRAM latency asks for. Any address will do: vectors are
// counted from the first aligned one.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    vector_loads_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins,
                        unsigned num_copies) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, num_copies * bins.num_bins);
  __syncthreads();
  unsigned* const copy = counters + threadIdx.x / parts::warp_threads % num_copies * bins.num_bins;
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    if (bin < bins.num_bins) atomicAdd(&copy[bin], 1u);
  });
  __syncthreads();
  parts::send_copies(counters, num_copies, bins.num_bins, d_histogram);
}

struct vector_loads : parts::histogram_calls<vector_loads> {
  static constexpr auto idea = "16-byte loads, sixteen samples a thread at a time";
  static constexpr int block_threads = 512, items_per_thread = parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 4;
  static constexpr int max_bins = parts::plain_counters;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    char* unused;
    std::size_t grid_blocks;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::plan_sample_grid(num_samples, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const auto num_copies =
        static_cast<unsigned>(parts::at_most(block_threads / parts::warp_threads, max_bins / bins.num_bins));
    return parts::launch_with_shared_memory(vector_loads_kernel<block_threads, SampleIteratorT, CounterT, Bins>,
                                            grid_blocks, block_threads, num_copies * bins.num_bins * sizeof(unsigned),
                                            stream, d_samples, num_samples, d_histogram, bins, num_copies);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
