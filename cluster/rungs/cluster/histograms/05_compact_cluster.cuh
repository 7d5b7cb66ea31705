// One cluster that one multiprocessor can hold, so that it can be placed wherever an ordinary block can.
// Against 04_one_cluster: eight blocks at most, of 128 threads with 64 registers each, and the hardware may put several
// on one multiprocessor (../parts/launch.cuh). It does so only beside kernels that hold the others. Bins whose counters
// and inboxes one multiprocessor does not hold eight times, more than about 3,000, are counted by
// histograms/13_split_bins. The price: fewer threads, so inputs beyond 16 Ki words take longer than a grid.
#pragma once

#include "rungs/cluster/histograms/04_one_cluster.cuh"
#include "rungs/histograms/13_split_bins.cuh"

namespace rungs::RUNGS_ABI::cluster::histograms {

struct compact_cluster : parts::histogram_calls<compact_cluster> {
  static constexpr auto idea = "one cluster that one multiprocessor can hold, so that it can be placed anywhere";
  static constexpr int block_threads = 128, rows_in_flight = 4, items_per_thread = 4 * rows_in_flight;
  static constexpr std::size_t own_bytes = 1088;  // of shared memory that each block takes besides
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t max_items = 0xffffffff;  // the blocks' counters are 32 bits wide

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);
};

template <class Bins, class SampleIteratorT, class CounterT>
cudaError_t compact_cluster::count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                   std::size_t num_samples, CounterT* d_histogram, const Bins& bins,
                                   cudaStream_t stream) {
  using rows = parts::sample_rows<block_threads, rows_in_flight, SampleIteratorT>;
  char* unused;
  std::size_t shared_bytes;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = parts::require(min_cc);
  if (error == cudaSuccess) error = parts::most_shared_bytes(shared_bytes);
  if (error != cudaSuccess) return error;
  const std::size_t most_bytes = shared_bytes / parts::blocks_on_one_multiprocessor - own_bytes;
  if (cluster_storage(bins.num_bins).most_bytes() > most_bytes)
    return rungs::histograms::split_bins::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram,
                                                bins, stream);
  return count_by_cluster<rows, parts::blocks_on_one_multiprocessor>(d_samples, num_samples, d_histogram, bins,
                                                                     most_bytes, stream);
}

}  // namespace rungs::RUNGS_ABI::cluster::histograms
