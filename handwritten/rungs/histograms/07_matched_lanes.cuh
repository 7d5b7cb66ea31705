// Rung 7. The lanes of a warp that hold the same bin find each other, and one of them counts for all.
// Against 06_merged_runs: equal samples are merged across a warp, where they stand side by side in memory, and no
// replicas are needed, because no two lanes of a warp ever address one counter. The price is a __match_any_sync for
// each sample, which takes as long as the warp has different bins; hardware that merges additions of 1 does the same
// for less.
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
    matched_lanes_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, bins.num_bins);
  __syncthreads();
  const unsigned lower_lanes = (1u << threadIdx.x % parts::warp_threads) - 1;
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    const unsigned peers = __match_any_sync(parts::full_mask, bin);
    const bool is_first = (peers & lower_lanes) == 0;
    if (is_first && bin < bins.num_bins) atomicAdd(&counters[bin], static_cast<unsigned>(__popc(peers)));
  });
  __syncthreads();
  parts::send_counters(counters, bins.num_bins, d_histogram);
}

struct matched_lanes : parts::histogram_calls<matched_lanes> {
  static constexpr auto idea = "equal lanes of a warp merged by __match_any_sync, one atomic for all of them";
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
    return parts::launch_with_shared_memory(matched_lanes_kernel<block_threads, SampleIteratorT, CounterT, Bins>,
                                            grid_blocks, block_threads, bins.num_bins * sizeof(unsigned), stream,
                                            d_samples, num_samples, d_histogram, bins);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
