// Rung 14. Bins that no few blocks can hold: those that a block meets first get counters of the block's own.
// Against 13_split_bins: samples are read once, whatever the number of bins. A bin's counter is in memory, but a block
// keeps a table of bins that its first samples named, in shared memory, and counts those there. Where few bins take
// most samples, few atomics meet memory; where all bins are alike, atomics on memory are spread, which it takes well.
// The table is filled once: a bin that becomes hot later is counted in memory, once for all lanes of a warp that have
// it (sorted samples, 1 Mi bins, 1 GiB on an H200: 0.36 ms against 4.4 ms without).
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/edge_table.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/sample_rows.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

// A table of 2^log2_slots bins and their counters.
struct hot_table {
  static constexpr unsigned nobody = 0xffffffff;
  unsigned *bins, *counters;
  unsigned factor;
  int log2_slots;

  static constexpr std::size_t bytes(int log2_slots) { return (2 * sizeof(unsigned)) << log2_slots; }

  __device__ hot_table(void* shared_memory, int log2_slots)
      : bins(static_cast<unsigned*>(shared_memory)),
        counters(bins + (1u << log2_slots)),
        factor(0x9e3779b1u * (2 * blockIdx.x + 1)),  // bins that share a slot of one block do not in the next
        log2_slots(log2_slots) {}
  __device__ unsigned slot_of(unsigned bin) const { return bin * factor >> (32 - log2_slots); }
};

// One count in memory for all lanes of a warp that have come here with the same bin.
template <class CounterT>
__device__ void count_in_memory(CounterT* d_histogram, unsigned bin) {
  const unsigned same = __match_any_sync(__activemask(), bin);
  if ((same & ((1u << threadIdx.x % 32) - 1)) == 0) atomicAdd(&d_histogram[bin], CounterT(__popc(same)));
}

template <class Rows, class CounterT, class Finder>
__global__ void __launch_bounds__(Rows::block_threads, 1)
    hot_bins_kernel(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram, Finder bins,
                    int log2_slots, unsigned finder_at) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const hot_table hot(shared_memory, log2_slots);
  const unsigned num_slots = 1u << log2_slots, num_bins = bins.num_bins;
  Rows::for_each(
      d_samples, num_samples, blockIdx.x, gridDim.x,
      [&](auto see) {
        for (unsigned i = threadIdx.x; i < num_slots; i += Rows::block_threads) {
          hot.bins[i] = hot_table::nobody;
          hot.counters[i] = 0;
        }
        bins.prepare(shared_memory + finder_at);
        __syncthreads();
        see([&](const auto& unit) {
#pragma unroll
          for (int i = 0; i < unit.num_items; ++i) {
            const unsigned bin = bins.bin_of(unit[i]);
            if (bin < num_bins) atomicExch(&hot.bins[hot.slot_of(bin)], bin);  // the more often, the likelier it stays
          }
        });
        __syncthreads();
        parts::wait_until_cleared();
      },
      [&](const auto& unit, std::size_t) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) {
          const unsigned bin = bins.bin_of(unit[i]), slot = hot.slot_of(bin);
          if (hot.bins[slot] == bin)
            atomicAdd(&hot.counters[slot], 1u);
          else if (bin < num_bins)
            count_in_memory(d_histogram, bin);
        }
      });
  __syncthreads();
  for (unsigned i = threadIdx.x; i < num_slots; i += Rows::block_threads)
    if (hot.counters[i] != 0) atomicAdd(&d_histogram[hot.bins[i]], CounterT(hot.counters[i]));
}

struct hot_bins : parts::histogram_calls<hot_bins> {
  static constexpr auto idea = "a block counts the bins that it met first in shared memory, and all others in memory";
  static constexpr int block_threads = 1024, rows_in_flight = 4, items_per_thread = 4 * rows_in_flight;
  static constexpr int small_block_threads = 512;  // with one row, where there is no more than that for each block
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr int log2_slots = 14, small_log2_slots = 12;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);
};

template <class Bins, class SampleIteratorT, class CounterT>
cudaError_t hot_bins::count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                            std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
  using small_rows = parts::sample_rows<small_block_threads, 1, SampleIteratorT>;
  using large_rows = parts::sample_rows<block_threads, rows_in_flight, SampleIteratorT>;
  char* unused;
  parts::device_limits limits;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = limits.ask();
  if (error != cudaSuccess) return error;
  error = parts::launch_clear(d_histogram, bins.num_bins, stream);
  if (error != cudaSuccess || num_samples == 0) return error;
  const bool is_small = num_samples <= std::size_t(limits.multiprocessors) * small_rows::row_samples;
  // A multiprocessor without the room keeps fewer.
  const bool has_room = hot_table::bytes(log2_slots) + parts::finder_bytes<Bins> <= std::size_t(limits.shared_bytes);
  const int slots = is_small || !has_room ? small_log2_slots : log2_slots;
  const std::size_t bytes = hot_table::bytes(slots), room = limits.shared_bytes - bytes;
  const auto launch_counting = [&](auto rows_type, const auto& finder, std::size_t finder_bytes) {
    using rows = typename decltype(rows_type)::named;
    using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
    const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_samples, rows::row_samples),
                                                   std::size_t(limits.multiprocessors) * blocks_per_multiprocessor);
    return parts::launch_overlapped(hot_bins_kernel<rows, CounterT, found>, grid_blocks, rows::block_threads,
                                    bytes + finder_bytes, limits.overlaps(), stream, d_samples, num_samples,
                                    d_histogram, finder, slots, static_cast<unsigned>(bytes));
  };
  return parts::with_rows_and_finder<small_rows, large_rows>(is_small, bins, room, launch_counting);
}

}  // namespace rungs::RUNGS_ABI::histograms
