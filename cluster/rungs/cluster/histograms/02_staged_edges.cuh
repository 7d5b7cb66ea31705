// Rung 2. Arbitrary edges are copied into each block's shared memory before the samples are searched in them.
// Against 00_cluster_merged: a sample's search goes through shared memory and not through the L1, which the samples
// stream through; each block reads all edges once. Even bins have no edges: for them nothing changes.
#pragma once

#include "rungs/cluster/histograms/00_cluster_merged.cuh"
#include "rungs/cluster/parts/near_edges.cuh"

namespace rungs::RUNGS_ABI::cluster::histograms {

template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    staged_edges_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins given,
                        unsigned edges_at) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char shared_memory[];
  unsigned* const counters = reinterpret_cast<unsigned*>(shared_memory);
  parts::clear_counters(counters, given.num_bins);
  const auto bins = given.staged(shared_memory + edges_at);
  __syncthreads();
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    if (bin < bins.num_bins) atomicAdd(&counters[bin], 1u);
  });
  send_merged(counters, bins.num_bins, d_histogram);
#endif
}

struct staged_edges : parts::near_edge_calls<staged_edges> {
  static constexpr auto idea = "edges copied into the shared memory of each block";
  template <class SampleIteratorT, class CounterT, class Bins>
  static constexpr auto kernel = staged_edges_kernel<block_threads, SampleIteratorT, CounterT, Bins>;
};

}  // namespace rungs::RUNGS_ABI::cluster::histograms
