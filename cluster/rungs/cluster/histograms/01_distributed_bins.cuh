// Rung 1. One histogram a cluster, its bins spread over the shared memory of all blocks, counted by remote atomics.
// Against 00_cluster_merged: a bin has one counter in a cluster and not one in each block, so there is room for as many
// times the bins as the cluster has blocks (on an H200, 56 Ki a block, 908 Ki in a cluster of sixteen) before the
// samples have to be read again, and nothing is merged. But most samples are now counted on another multiprocessor, and
// what is alike in a warp is not merged on the way. The cluster is as small as the bins allow; where it does not hold
// them, they are counted range by range. Nobody counts before all counters are clear, and nobody sends its counters or
// ends before all have counted: a barrier of the cluster each. Source: the histogram of the CUDA programming guide.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::cluster::histograms {

// Where a cluster of 2^log2_blocks blocks counts what. Runs of 32 bins take turns: neighbours, which are often hot
// together, are in different blocks, and a warp still sends a run to one line of memory.
struct bin_places {
  static constexpr unsigned run_bins = 32;
  unsigned log2_blocks;

  __host__ __device__ unsigned rank_of(unsigned bin) const { return bin / run_bins & ((1u << log2_blocks) - 1); }
  __host__ __device__ unsigned counter_of(unsigned bin) const {
    return (bin / run_bins >> log2_blocks) * run_bins + bin % run_bins;
  }
  __host__ __device__ unsigned bin_of(unsigned rank, unsigned counter) const {
    return ((counter / run_bins << log2_blocks) + rank) * run_bins + counter % run_bins;
  }
  // In each block, for num_bins bins.
  __host__ __device__ unsigned num_counters(unsigned num_bins) const {
    return static_cast<unsigned>(parts::ceil_div(num_bins, std::size_t(run_bins) << log2_blocks)) * run_bins;
  }
};

// Counts bins first_bin to first_bin + num_bins - 1.
template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    distributed_bins_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins,
                            unsigned first_bin, unsigned num_bins, bin_places places) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ unsigned counters[];
  const unsigned rank = parts::block_rank(), num_counters = places.num_counters(num_bins);
  parts::clear_counters(counters, num_counters);
  parts::meet();
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned found = present ? bins.bin_of(sample) : bins.num_bins;
    const unsigned bin = found - first_bin;  // large where the bin is before the range
    if (bin < num_bins) parts::count_remote(counters + places.counter_of(bin), places.rank_of(bin));
  });
  parts::meet();
  for (unsigned i = threadIdx.x; i < num_counters; i += block_threads) {
    // What is behind the last bin has counted nothing.
    if (counters[i] != 0) atomicAdd(&d_histogram[first_bin + places.bin_of(rank, i)], CounterT(counters[i]));
  }
#endif
}

struct distributed_bins : parts::histogram_calls<distributed_bins> {
  static constexpr auto idea = "bins spread over the cluster's shared memory, counted by remote atomics";
  static constexpr int block_threads = 1024, items_per_thread = parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;

  // Returns cudaErrorNotSupported where the device has no clusters.
  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    const auto kernel = distributed_bins_kernel<block_threads, SampleIteratorT, CounterT, Bins>;
    char* unused;
    std::size_t allowed_bytes, most_clusters;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::most_shared_bytes(allowed_bytes);
    if (error != cudaSuccess) return error;
    // As few blocks as have room for all bins. Sixteen are asked for last, and eight again where they are refused.
    constexpr std::size_t run_bytes = bin_places::run_bins * sizeof(unsigned);
    const std::size_t most_bins = allowed_bytes / run_bytes * bin_places::run_bins;  // in a block
    bin_places places{1};
    while ((most_bins << places.log2_blocks) < bins.num_bins && places.log2_blocks < 4) ++places.log2_blocks;
    parts::cluster_shape shape;
    std::size_t bins_of_range;
    for (;; --places.log2_blocks) {
      const std::size_t num_ranges = parts::ceil_div(bins.num_bins, most_bins << places.log2_blocks);
      bins_of_range = parts::ceil_div(bins.num_bins, num_ranges);
      shape = {1 << places.log2_blocks, block_threads,
               places.num_counters(static_cast<unsigned>(bins_of_range)) * sizeof(unsigned)};
      error = parts::resident_clusters(kernel, shape, most_clusters);
      if (error != cudaErrorNotSupported || shape.cluster_blocks <= parts::portable_cluster_blocks) break;
    }
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const std::size_t num_tiles = parts::ceil_div(num_samples, block_threads * items_per_thread);
    const std::size_t num_clusters = parts::at_most(parts::ceil_div(num_tiles, shape.cluster_blocks), most_clusters);
    for (std::size_t first = 0; error == cudaSuccess && first < bins.num_bins; first += bins_of_range)
      error = parts::launch_clusters(
          kernel, num_clusters, shape, stream, d_samples, num_samples, d_histogram, bins, static_cast<unsigned>(first),
          static_cast<unsigned>(parts::at_most(bins_of_range, bins.num_bins - first)), places);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::histograms
