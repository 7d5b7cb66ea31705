// cub::BlockHistogram by sorting: a block sorts its tile by radix, and the length of each run is a count. Costs the
// same whatever the samples are, and much.
#pragma once

#include "rungs/baselines/parts/block_histogram.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_block_histogram_sort : rungs::parts::histogram_calls<cub_block_histogram_sort> {
  static constexpr auto idea = "cub::BlockHistogram, each tile sorted and its runs measured";
  static constexpr int block_threads = parts::block_histogram_threads;
  static constexpr int items_per_thread = parts::block_histogram_items;
  static constexpr int blocks_per_multiprocessor = parts::block_histogram_blocks;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    return parts::count_in_blocks<cub::BLOCK_HISTO_SORT>(d_temp_storage, temp_storage_bytes, d_samples, num_samples,
                                                         d_histogram, bins, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
