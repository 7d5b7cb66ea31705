// Rung 5. Each bin has up to 32 counters side by side, and a lane always counts in the same one of them.
// Against 04_vector_loads: copies used to lie one behind the other, so lanes whose bins differ by a multiple of 32 met
// in a bank of shared memory. Now bin b's counters fill consecutive banks; with 32 of them each lane has a bank to
// itself, and no two lanes ever wait for one another. 384 bins can have that in 48 KB; above, 16 counters a bin, 8 and
// so on.
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
    replicated_bins_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins,
                           unsigned num_replicas) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, num_replicas * bins.num_bins);
  __syncthreads();
  unsigned* const replica = counters + (threadIdx.x & (num_replicas - 1));
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    if (bin < bins.num_bins) atomicAdd(&replica[bin * num_replicas], 1u);
  });
  __syncthreads();
  parts::send_replicas(counters, num_replicas, bins.num_bins, d_histogram);
}

struct replicated_bins : parts::histogram_calls<replicated_bins> {
  static constexpr auto idea = "up to 32 counters a bin side by side, so that lanes keep to banks of their own";
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
    const unsigned num_replicas = parts::replicas_that_fit(bins.num_bins);
    return parts::launch_with_shared_memory(replicated_bins_kernel<block_threads, SampleIteratorT, CounterT, Bins>,
                                            grid_blocks, block_threads, num_replicas * bins.num_bins * sizeof(unsigned),
                                            stream, d_samples, num_samples, d_histogram, bins, num_replicas);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
