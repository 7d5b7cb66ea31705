// Rung 13. Bins that one block cannot hold: several blocks read the same samples, and each counts its part of the bins.
// Against 12_lane_private: back to the samples of 11_overlapped_clear, of which a block counts those of its own bins;
// the others fall on the counter that nobody reads. The blocks of a group run side by side, so samples come from DRAM
// once and from the L2 for the others. With few samples it pays to split further than shared memory asks: what a block
// clears and sends is shorter.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/histograms/00_global_atomics.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/private_bins.cuh"
#include "rungs/parts/sample_rows.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::v0::histograms {

template <class Rows, class CounterT, class Bins>
__global__ void __launch_bounds__(Rows::block_threads, 1)
    split_bins_kernel(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram,
                      Bins given_bins, unsigned num_parts, unsigned bins_per_part, unsigned edges_at) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const parts::private_bins counters{reinterpret_cast<unsigned*>(shared_memory), bins_per_part, 1};
  const unsigned first_bin = blockIdx.x % num_parts * bins_per_part;
  Bins bins = given_bins;
  Rows::for_each(
      d_samples, num_samples, blockIdx.x / num_parts, gridDim.x / num_parts,
      [&](auto) {
        counters.clear();
        if (Bins::has_edges && edges_at > 0) bins = given_bins.staged(shared_memory + edges_at);
        __syncthreads();
      },
      [&](const auto& unit, std::size_t) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) {
          const unsigned bin = bins.bin_of(unit[i]) - first_bin;
          counters.count(counters.counters, bin < bins_per_part ? bin : bins_per_part);
        }
      });
  __syncthreads();
  parts::wait_until_cleared();
  for (unsigned i = threadIdx.x; i < bins_per_part && first_bin + i < bins.num_bins; i += Rows::block_threads) {
    const unsigned total = counters.total(i);
    if (total != 0) atomicAdd(&d_histogram[first_bin + i], CounterT(total));
  }
}

struct split_bins : parts::histogram_calls<split_bins> {
  static constexpr auto idea = "several blocks read the same samples, and each counts its part of the bins";
  static constexpr int block_threads = 1024, rows_in_flight = 4, items_per_thread = 4 * rows_in_flight;
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr unsigned most_parts = 8;     // where samples are few
  static constexpr unsigned least_bins = 8192;  // in a part that shared memory did not ask for
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    using rows = parts::sample_rows<block_threads, rows_in_flight, SampleIteratorT>;
    char* unused;
    parts::device_limits limits;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = limits.ask();
    if (error != cudaSuccess) return error;
    // As few parts as shared memory allows; a group of blocks for each of two rows or more is worth more parts.
    const unsigned num_rows = static_cast<unsigned>(parts::ceil_div(num_samples, rows::row_samples));
    unsigned num_parts = 1;
    const auto bytes_of_part = [&](unsigned parts) {
      return (parts::private_bins_bytes(parts::ceil_div(bins.num_bins, parts), 1) + 15) / 16 * 16;
    };
    while (bytes_of_part(num_parts) > std::size_t(limits.shared_bytes) && num_parts < 1u << 20) num_parts *= 2;
    if (num_parts > unsigned(limits.multiprocessors))
      return global_atomics::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins,
                                   stream);
    while (num_parts < most_parts && bins.num_bins / num_parts > least_bins &&
           std::size_t(num_rows) * num_parts < 2 * std::size_t(limits.multiprocessors))
      num_parts *= 2;
    error = parts::launch_clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    return parts::with_simplest_bins(bins, [&](const auto& simplest) {
      std::size_t bytes = bytes_of_part(num_parts);
      unsigned edges_at = 0;
      if (bins.edge_bytes() > 0 && bytes + bins.edge_bytes() <= std::size_t(limits.shared_bytes)) {
        edges_at = static_cast<unsigned>(bytes);
        bytes += bins.edge_bytes();
      }
      const unsigned bins_per_part = static_cast<unsigned>(parts::ceil_div(bins.num_bins, num_parts));
      const std::size_t groups = parts::at_most(num_rows, unsigned(limits.multiprocessors) / num_parts);
      using simplest_bins = std::remove_cv_t<std::remove_reference_t<decltype(simplest)>>;
      return parts::launch_with_shared_memory(split_bins_kernel<rows, CounterT, simplest_bins>, groups * num_parts,
                                              block_threads, bytes, limits.overlaps(), stream, d_samples, num_samples,
                                              d_histogram, simplest, num_parts, bins_per_part, edges_at);
    });
  }
};

}  // namespace rungs::v0::histograms
