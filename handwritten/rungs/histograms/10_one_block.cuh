// Rung 10. One block, for inputs so small that a second block costs more than it saves.
// Against 09_bin_ranges: one launch, which counts in shared memory and stores every counter, so nothing has to be
// cleared before and no atomic meets memory. Bins that shared memory does not hold are counted in memory, which the
// block itself clears.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/edge_table.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/private_bins.cuh"
#include "rungs/parts/sample_rows.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <bool in_shared_memory, class Rows, class CounterT, class Finder>
__global__ void __launch_bounds__(Rows::block_threads)
    one_block_kernel(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram, Finder bins,
                     unsigned finder_at) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const auto shared_counters = reinterpret_cast<unsigned*>(shared_memory);
  const unsigned num_bins = bins.num_bins;
  const parts::private_bins counters{shared_counters, num_bins, 1};
  Rows::for_each(
      d_samples, num_samples, 0, 1,
      [&](auto) {
        if constexpr (in_shared_memory) {
          counters.clear();
        } else {
          for (unsigned bin = threadIdx.x; bin < num_bins; bin += Rows::block_threads) d_histogram[bin] = 0;
        }
        bins.prepare(shared_memory + finder_at);
        __syncthreads();
      },
      [&](const auto& unit, std::size_t) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) {
          const unsigned bin = bins.bin_of(unit[i]);
          if constexpr (in_shared_memory)
            counters.count(shared_counters, bin);
          else if (bin < num_bins)
            atomicAdd(&d_histogram[bin], CounterT(1));
        }
      });
  if constexpr (in_shared_memory) {
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < num_bins; bin += Rows::block_threads)
      d_histogram[bin] = CounterT(counters.total(bin));
  }
}

struct one_block : parts::histogram_calls<one_block> {
  static constexpr auto idea = "one block that stores what it counted, for small inputs";
  static constexpr int block_threads = 1024, rows_in_flight = 2, items_per_thread = 4 * rows_in_flight;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t max_items = 0xffffffff;  // the block's counters are 32 bits wide

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);
};

template <class Bins, class SampleIteratorT, class CounterT>
cudaError_t one_block::count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                             std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
  using rows = parts::sample_rows<block_threads, rows_in_flight, SampleIteratorT>;
  char* unused;
  parts::device_limits limits;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = limits.ask();
  if (error != cudaSuccess) return error;
  std::size_t bytes = parts::private_bins_room(bins.num_bins, 1);
  const std::size_t most_bytes = limits.shared_bytes;
  const bool in_shared_memory = bytes <= most_bytes;
  if (!in_shared_memory) bytes = 0;
  return parts::with_quick_finder(bins, most_bytes - bytes, [&](const auto& finder, std::size_t finder_bytes) {
    using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
    const auto kernel = in_shared_memory ? one_block_kernel<true, rows, CounterT, found>
                                         : one_block_kernel<false, rows, CounterT, found>;
    return parts::launch_with_shared_memory(kernel, 1, block_threads, bytes + finder_bytes, stream, d_samples,
                                            num_samples, d_histogram, finder, static_cast<unsigned>(bytes));
  });
}

}  // namespace rungs::RUNGS_ABI::histograms
