// Rung 6. A thread counts equal neighbours in a register, and sends a run to shared memory when the next bin is
// another. Against 05_replicated_bins: a compare and an addition in registers instead of an atomic wherever a thread
// meets the same bin again; constant, sorted and run-like samples hardly touch shared memory. Random ones pay for the
// compare, and for more: additions of 1 are what the hardware merges and counts fastest, and a run's length is not
// known to be 1.
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
    merged_runs_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins,
                       unsigned num_replicas) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, num_replicas * bins.num_bins);
  __syncthreads();
  unsigned* const replica = counters + (threadIdx.x & (num_replicas - 1));
  unsigned run_bin = bins.num_bins, run_length = 0;
  const auto end_run = [&] {
    if (run_bin < bins.num_bins) atomicAdd(&replica[run_bin * num_replicas], run_length);
  };
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    if (bin != run_bin) {
      end_run();
      run_bin = bin;
      run_length = 0;
    }
    ++run_length;
  });
  end_run();
  __syncthreads();
  parts::send_replicas(counters, num_replicas, bins.num_bins, d_histogram);
}

struct merged_runs : parts::histogram_calls<merged_runs> {
  static constexpr auto idea = "equal neighbours of a thread merged in a register";
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
    return parts::launch_with_shared_memory(merged_runs_kernel<block_threads, SampleIteratorT, CounterT, Bins>,
                                            grid_blocks, block_threads, num_replicas * bins.num_bins * sizeof(unsigned),
                                            stream, d_samples, num_samples, d_histogram, bins, num_replicas);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
