// cub::BlockHistogram by atomic additions in shared memory: one a sample, whatever the samples are.
#pragma once

#include "rungs/baselines/parts/block_histogram.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_block_histogram_atomic : rungs::parts::histogram_calls<cub_block_histogram_atomic> {
  static constexpr auto idea = "cub::BlockHistogram, an atomic addition in shared memory for each sample";
  static constexpr int block_threads = parts::block_histogram_threads;
  static constexpr int items_per_thread = parts::block_histogram_items;
  static constexpr int blocks_per_multiprocessor = parts::block_histogram_blocks;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    return parts::count_in_blocks<cub::BLOCK_HISTO_ATOMIC>(d_temp_storage, temp_storage_bytes, d_samples, num_samples,
                                                           d_histogram, bins, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
