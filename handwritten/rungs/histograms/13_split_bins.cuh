// Rung 13. Bins that one block cannot hold: several blocks read the same samples, and each counts its part of the bins.
// Against 12_lane_private: back to the samples of 11_overlapped_clear, of which a block counts those of its own bins;
// the others fall on the counter that nobody reads. The blocks of a group run side by side, so samples come from DRAM
// once and from the L2 for the others. With few samples it pays to split further than shared memory asks: what a block
// clears and sends is shorter. Of tens of thousands of bins most are empty in a block, so an empty one costs little.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/histograms/00_global_atomics.cuh"
#include "rungs/parts/edge_table.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/private_bins.cuh"
#include "rungs/parts/sample_rows.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <class Rows, class CounterT, class Finder>
__global__ void __launch_bounds__(Rows::block_threads, 1)
    split_bins_kernel(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram,
                      Finder all_bins, unsigned num_parts, unsigned bins_per_part, unsigned finder_at) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const unsigned first_bin = min(blockIdx.x % num_parts * bins_per_part, all_bins.num_bins);
  const unsigned num_bins = min(bins_per_part, all_bins.num_bins - first_bin);
  const parts::private_bins counters{reinterpret_cast<unsigned*>(shared_memory), num_bins, 1};
  auto bins = all_bins.part(first_bin, num_bins);
  Rows::for_each(
      d_samples, num_samples, blockIdx.x / num_parts, gridDim.x / num_parts,
      [&](auto) {
        counters.clear();
        bins.prepare(shared_memory + finder_at);
        __syncthreads();
      },
      [&](const auto& unit, std::size_t) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) counters.count(counters.counters, bins.bin_of(unit[i]));
      });
  __syncthreads();
  parts::wait_until_cleared();
  counters.send_rows<Rows::block_threads>(blockIdx.x, d_histogram + first_bin);
}

struct split_bins : parts::histogram_calls<split_bins> {
  static constexpr auto idea = "several blocks read the same samples, and each counts its part of the bins";
  static constexpr int block_threads = 1024, rows_in_flight = 4, items_per_thread = 4 * rows_in_flight;
  static constexpr int most_rows_in_flight = 6;
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr unsigned most_parts = 8;     // where samples are few
  static constexpr unsigned least_bins = 2048;  // in a part that shared memory did not ask for
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);
};

template <class Bins, class SampleIteratorT, class CounterT>
cudaError_t split_bins::count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                              std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
  // More rows on their way where there are many; of narrow samples, of which more are taken apart at a time, fewer.
  constexpr std::size_t sample_bytes = sizeof(parts::item_of<SampleIteratorT>);
  constexpr int few = sample_bytes == 1 ? rows_in_flight / 2 : rows_in_flight;
  constexpr int many = sample_bytes < 4 ? few : most_rows_in_flight;
  using few_rows = parts::sample_rows<block_threads, few, SampleIteratorT>;
  using many_rows = parts::sample_rows<block_threads, many, SampleIteratorT>;
  char* unused;
  parts::device_limits limits;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = limits.ask();
  if (error != cudaSuccess) return error;
  // As few parts as shared memory allows, with the edges if there are any; more, if there are multiprocessors left.
  const auto bins_of = [&](unsigned num_parts) {
    return static_cast<unsigned>(parts::ceil_div(bins.num_bins, num_parts));
  };
  const std::size_t most_bytes = limits.shared_bytes - parts::finder_bytes<Bins>;
  const std::size_t num_multiprocessors = limits.multiprocessors;
  const std::size_t num_rows = parts::ceil_div(num_samples, few_rows::row_samples);
  unsigned num_parts = 1;
  while (parts::private_bins_room(bins_of(num_parts), 1) + bins.edge_bytes() / num_parts > most_bytes &&
         num_parts <= num_multiprocessors)
    num_parts *= 2;
  if (num_parts > num_multiprocessors)
    return global_atomics::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins, stream);
  while (num_parts < most_parts && 2 * num_parts <= num_multiprocessors && bins_of(num_parts) > least_bins &&
         num_rows * num_parts < 4 * num_multiprocessors)
    num_parts *= 2;
  error = parts::launch_clear(d_histogram, bins.num_bins, stream);
  if (error != cudaSuccess || num_samples == 0) return error;
  const unsigned bins_per_part = bins_of(num_parts);
  const std::size_t bytes = parts::private_bins_room(bins_per_part, 1);
  const std::size_t num_groups = parts::at_most(num_rows, num_multiprocessors / num_parts);
  const auto launch_counting = [&](auto rows_type, const auto& finder, std::size_t finder_bytes) {
    using rows = typename decltype(rows_type)::named;
    using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
    return parts::launch_overlapped(split_bins_kernel<rows, CounterT, found>, num_groups * num_parts, block_threads,
                                    bytes + finder_bytes, limits.overlaps(), stream, d_samples, num_samples,
                                    d_histogram, finder, num_parts, bins_per_part, static_cast<unsigned>(bytes));
  };
  const bool has_many = num_rows >= 4 * most_rows_in_flight * num_groups;
  return parts::with_fast_finder(bins, bins_per_part, limits.shared_bytes - bytes,
                                 [&](const auto& finder, std::size_t finder_bytes) {
                                   return has_many ? launch_counting(parts::type<many_rows>{}, finder, finder_bytes)
                                                   : launch_counting(parts::type<few_rows>{}, finder, finder_bytes);
                                 });
}

}  // namespace rungs::RUNGS_ABI::histograms
