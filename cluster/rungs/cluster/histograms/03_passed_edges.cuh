// Rung 3. Each block reads a part of the edges, and the copy engine brings that part to all its peers.
// Against 02_staged_edges: a cluster of eight reads each edge from memory once and not eight times, and threads carry
// an eighth of them. The price is a barrier of the cluster before the copies, which says that the peers wait for them.
// One multicast from memory would do the same, but on sm_90, without the a, the assembler advises against it.
#pragma once

#include "rungs/cluster/histograms/00_cluster_merged.cuh"
#include "rungs/cluster/parts/bulk_pass.cuh"
#include "rungs/cluster/parts/near_edges.cuh"
#include "rungs/parts/bulk_copy.cuh"

namespace rungs::RUNGS_ABI::cluster::histograms {

// Brings all edges of `given` to `shared` in every block. All threads of the cluster call it, and may then read there.
template <class SampleT, class LevelT>
__device__ parts::range_bins<SampleT, LevelT> pass_edges(parts::range_bins<SampleT, LevelT> given, void* shared) {
  __shared__ parts::phase_barrier barrier;
  constexpr unsigned vector_levels = 16 / sizeof(LevelT);
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), num_levels = given.num_bins + 1;
  const unsigned num_vectors = (num_levels + vector_levels - 1) / vector_levels;  // the last may be ragged
  const unsigned first = num_vectors * rank / cluster_blocks, last = num_vectors * (rank + 1) / cluster_blocks;
  LevelT* const edges = static_cast<LevelT*>(shared);
  if (threadIdx.x < parts::warp_threads) parts::expect(barrier, (num_vectors - (last - first)) * 16);
  for (unsigned i = first * vector_levels + threadIdx.x; i < min(last * vector_levels, num_levels); i += blockDim.x)
    edges[i] = given.levels[i];
  parts::order_bulk_after_stores();
  parts::meet();
  if (threadIdx.x < cluster_blocks && threadIdx.x != rank && first < last)
    parts::bulk_pass(edges + first * vector_levels, edges + first * vector_levels, (last - first) * 16, barrier,
                     threadIdx.x);
  barrier.wait_for_cluster(0);
  given.levels = edges;
  return given;
}
// Even bins have none.
template <class SampleT, class LevelT>
__device__ parts::even_bins<SampleT, LevelT> pass_edges(parts::even_bins<SampleT, LevelT> given, void*) {
  __syncthreads();
  return given;
}

template <int block_threads, class SampleIteratorT, class CounterT, class Bins>
__global__ void __launch_bounds__(block_threads)
    passed_edges_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram, Bins given,
                        unsigned edges_at) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char shared_memory[];
  unsigned* const counters = reinterpret_cast<unsigned*>(shared_memory);
  parts::clear_counters(counters, given.num_bins);
  const auto bins = pass_edges(given, shared_memory + edges_at);
  parts::for_each_sample<block_threads>(d_samples, num_samples, [&](bool present, auto sample) {
    const unsigned bin = present ? bins.bin_of(sample) : bins.num_bins;
    if (bin < bins.num_bins) atomicAdd(&counters[bin], 1u);
  });
  send_merged(counters, bins.num_bins, d_histogram);
#endif
}

struct passed_edges : parts::near_edge_calls<passed_edges> {
  static constexpr auto idea = "edges read once for a cluster, and copied from block to block";
  template <class SampleIteratorT, class CounterT, class Bins>
  static constexpr auto kernel = passed_edges_kernel<block_threads, SampleIteratorT, CounterT, Bins>;
};

}  // namespace rungs::RUNGS_ABI::cluster::histograms
