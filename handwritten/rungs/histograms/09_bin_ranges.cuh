// Rung 9. Bins that do not fit are counted range by range: a launch over all samples for each range that fits.
// Against 08_packed_counters: whole words that count without an answer, so equal lanes merge again, and any number of
// bins; the price is that the samples are read once a range. An H200 allows 56 Ki counters a block: 4096 bins, which is
// 16 KB, are one range, 65536 are two, and 1 Mi are nineteen.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

// Counts bins first_bin to first_bin + num_counters - 1.
template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    bin_ranges_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins,
                      unsigned first_bin, unsigned num_counters) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, num_counters);
  __syncthreads();
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    const unsigned counter = bin - first_bin;  // large where the bin is before the range
    if (counter < num_counters) atomicAdd(&counters[counter], 1u);
  });
  __syncthreads();
  parts::send_counters(counters, num_counters, d_histogram + first_bin);
}

struct bin_ranges : parts::histogram_calls<bin_ranges> {
  static constexpr auto idea = "a pass over the samples for each range of bins that fits in shared memory";
  static constexpr int block_threads = 1024, items_per_thread = parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    char* unused;
    std::size_t grid_blocks, allowed_bytes;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::most_shared_bytes(allowed_bytes);
    if (error == cudaSuccess)
      error = parts::plan_sample_grid(num_samples, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const std::size_t num_ranges = parts::ceil_div(bins.num_bins, allowed_bytes / sizeof(unsigned));
    const std::size_t bins_of_range = parts::ceil_div(bins.num_bins, num_ranges);
    for (std::size_t first = 0; error == cudaSuccess && first < bins.num_bins; first += bins_of_range) {
      const auto num_counters = static_cast<unsigned>(parts::at_most(bins_of_range, bins.num_bins - first));
      error = parts::launch_with_shared_memory(bin_ranges_kernel<block_threads, SampleIteratorT, CounterT, Bins>,
                                               grid_blocks, block_threads, num_counters * sizeof(unsigned), stream,
                                               d_samples, num_samples, d_histogram, bins, static_cast<unsigned>(first),
                                               num_counters);
    }
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
