// The call of histograms whose edges are brought into shared memory beside the bins.
#pragma once

#include "rungs/cluster/histograms/00_cluster_merged.cuh"
#include "rungs/cluster/parts/grid.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/samples.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// A rung derives from near_edge_calls<rung> and names its kernel,
//
//   template <class SampleIteratorT, class CounterT, class Bins>
//   static constexpr auto kernel = …;  // of (d_samples, num_samples, d_histogram, bins, edges_at)
//
// which counts all bins in its block's counters, from the beginning of dynamic shared memory on, finds them by the
// edges that it has copied to edges_at bytes behind that (a multiple of 16, with room for the edges and 16 bytes more),
// and merges over the cluster. Where bins and edges do not fit together, the edges stay in memory: cluster_merged. The
// call needs no workspace; it returns cudaErrorNotSupported where the device has no clusters.
template <class Rung>
struct near_edge_calls : rungs::parts::histogram_calls<Rung> {
  static constexpr int block_threads = 1024, items_per_thread = rungs::parts::samples_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    constexpr std::size_t static_bytes = 16;  // at most, for a barrier
    const auto kernel = Rung::template kernel<SampleIteratorT, CounterT, Bins>;
    const std::size_t num_tiles = rungs::parts::ceil_div(num_samples, block_threads * items_per_thread);
    const std::size_t edges_at = (bins.num_bins * sizeof(unsigned) + 15) / 16 * 16;
    cluster_shape shape{0, block_threads, edges_at + bins.edge_bytes() + 16};
    char* unused;
    std::size_t allowed_bytes, most_clusters;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = rungs::parts::most_shared_bytes(allowed_bytes);
    if (error != cudaSuccess) return error;
    if (shape.dynamic_bytes + static_bytes > allowed_bytes)
      return histograms::cluster_merged::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram,
                                               bins, stream);
    error = choose_cluster<any_size>(kernel, block_threads, rungs::parts::at_most(num_tiles, portable_cluster_blocks),
                                     shape.cluster_blocks);
    if (error == cudaSuccess) error = resident_clusters(kernel, shape, most_clusters);
    if (error == cudaSuccess) error = rungs::parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    return launch_clusters(
        kernel, rungs::parts::at_most(rungs::parts::ceil_div(num_tiles, shape.cluster_blocks), most_clusters), shape,
        stream, d_samples, num_samples, d_histogram, bins, static_cast<unsigned>(edges_at));
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::parts
