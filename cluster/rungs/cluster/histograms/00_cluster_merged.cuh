// Rung 0. Bins private to each block, merged over the cluster before they go to memory.
// Against histograms/09_bin_ranges: a cluster of eight blocks sends one atomic for each bin that it has met where eight
// blocks sent one each, so with many bins and few samples an eighth of the atomics reach the L2. The price is reading
// the peers' counters, and two barriers of the cluster: one when all have counted, and one behind the reads, because a
// block that has ended has no memory any more. Each block merges its share of the bins, beginning with another peer, so
// that not all ask the same one. More bins than a block has room for are counted range by range, as there.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::cluster::histograms {

// All threads of the cluster: adds what its blocks have counted to memory.
template <class CounterT>
__device__ void send_merged(const unsigned* counters, unsigned num_counters, CounterT* d_histogram) {
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks();
  parts::meet();
  for (unsigned i = rank * blockDim.x + threadIdx.x; i < num_counters; i += cluster_blocks * blockDim.x) {
    unsigned sum = counters[i];
    for (unsigned k = 1; k < cluster_blocks; ++k) sum += *parts::of_rank(counters + i, (rank + k) % cluster_blocks);
    if (sum != 0) atomicAdd(&d_histogram[i], static_cast<CounterT>(sum));
  }
  parts::meet();
}

// Counts bins first_bin to first_bin + num_counters - 1.
template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    cluster_merged_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins bins,
                          unsigned first_bin, unsigned num_counters) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, num_counters);
  __syncthreads();
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    const unsigned counter = bin - first_bin;  // large where the bin is before the range
    if (counter < num_counters) atomicAdd(&counters[counter], 1u);
  });
  send_merged(counters, num_counters, d_histogram + first_bin);
#endif
}

struct cluster_merged : parts::histogram_calls<cluster_merged> {
  static constexpr auto idea = "bins private to a block, merged over the cluster before they go to memory";
  static constexpr int block_threads = 1024, items_per_thread = parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;

  // Returns cudaErrorNotSupported where the device has no clusters.
  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    const auto kernel = cluster_merged_kernel<block_threads, SampleIteratorT, CounterT, Bins>;
    const std::size_t num_tiles = parts::ceil_div(num_samples, block_threads * items_per_thread);
    char* unused;
    std::size_t allowed_bytes, most_clusters;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::most_shared_bytes(allowed_bytes);
    if (error != cudaSuccess) return error;
    const std::size_t num_ranges = parts::ceil_div(bins.num_bins, allowed_bytes / sizeof(unsigned));
    const std::size_t bins_of_range = parts::ceil_div(bins.num_bins, num_ranges);
    parts::cluster_shape shape{0, block_threads, bins_of_range * sizeof(unsigned)};
    error = parts::choose_cluster<parts::any_size>(
        kernel, block_threads, parts::at_most(num_tiles, parts::portable_cluster_blocks), shape.cluster_blocks);
    if (error == cudaSuccess) error = parts::resident_clusters(kernel, shape, most_clusters);
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const std::size_t num_clusters = parts::at_most(parts::ceil_div(num_tiles, shape.cluster_blocks), most_clusters);
    for (std::size_t first = 0; error == cudaSuccess && first < bins.num_bins; first += bins_of_range)
      error = parts::launch_clusters(kernel, num_clusters, shape, stream, d_samples, num_samples, d_histogram, bins,
                                     static_cast<unsigned>(first),
                                     static_cast<unsigned>(parts::at_most(bins_of_range, bins.num_bins - first)));
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::histograms
