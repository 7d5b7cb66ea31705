// histograms/07_matched_lanes with cooperative groups: the lanes of a warp that hold the same bin are a group of
// cg::labeled_partition, whose first lane adds the group's size to the block's counter. It is the same match and the
// same atomic as there: the vote by which a partition also numbers its groups is dropped where nobody asks for the
// number.
#pragma once

#include <cooperative_groups.h>

#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    cg_labeled_histogram_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins) {
  namespace cg = cooperative_groups;
  extern __shared__ unsigned counters[];
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  rungs::parts::clear_counters(counters, bins.num_bins);
  block.sync();
  rungs::parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    const auto peers = cg::labeled_partition(tile, bin);
    if (peers.thread_rank() == 0 && bin < bins.num_bins) atomicAdd(&counters[bin], peers.num_threads());
  });
  block.sync();
  rungs::parts::send_counters(counters, bins.num_bins, d_histogram);
}

struct cg_labeled_histogram : rungs::parts::histogram_calls<cg_labeled_histogram> {
  static constexpr auto idea = "equal lanes of a warp form a cg::labeled_partition, one atomic for each group";
  static constexpr int block_threads = 512, items_per_thread = rungs::parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 4;
  static constexpr int max_bins = rungs::parts::plain_counters;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    char* unused;
    std::size_t grid_blocks;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = rungs::parts::plan_sample_grid(num_samples, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = rungs::parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    return rungs::parts::launch_with_shared_memory(
        cg_labeled_histogram_kernel<block_threads, SampleIteratorT, CounterT, Bins>, grid_blocks, block_threads,
        bins.num_bins * sizeof(unsigned), stream, d_samples, num_samples, d_histogram, bins);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
