// Rung 11. A histogram a block in shared memory, while another launch clears the result.
// Against 10_one_block: all multiprocessors, and so atomics on the result, which has to be cleared first; but the
// launch that counts starts while that is being done, and its first loads are on their way. Samples of no bin are
// counted like any other: no branch stands between a load and its atomic. Where bins are few and samples many, copies
// of the bins keep the lanes of a warp out of each other's banks; and edges are then not searched, but found in a table
// (256 bins, 1 GiB of i32 on an H200: 0.35 ms against 1.45 ms).
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

// The finder has what it needs of shared memory finder_at bytes from its beginning.
template <class Rows, class CounterT, class Finder>
__global__ void __launch_bounds__(Rows::block_threads, 1)
    overlapped_clear_kernel(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram,
                            Finder bins, unsigned copies, unsigned finder_at) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const parts::private_bins counters{reinterpret_cast<unsigned*>(shared_memory), bins.num_bins, copies};
  unsigned* const mine = counters.mine();
  Rows::for_each(
      d_samples, num_samples, blockIdx.x, gridDim.x,
      [&](auto) {
        counters.clear();
        bins.prepare(shared_memory + finder_at);
        __syncthreads();
      },
      [&](const auto& unit, std::size_t) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) counters.count(mine, bins.bin_of(unit[i]));
      });
  __syncthreads();
  parts::wait_until_cleared();
  counters.send(blockIdx.x, d_histogram);
}

struct overlapped_clear : parts::histogram_calls<overlapped_clear> {
  static constexpr auto idea = "a histogram a block in shared memory, while another launch clears the result";
  static constexpr int block_threads = 1024, rows_in_flight = 4, items_per_thread = 4 * rows_in_flight;
  static constexpr int small_block_threads = 512;  // with one row, where there is no more than that for each block
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr unsigned most_copies = 8;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);
};

template <class Bins, class SampleIteratorT, class CounterT>
cudaError_t overlapped_clear::count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                    std::size_t num_samples, CounterT* d_histogram, const Bins& bins,
                                    cudaStream_t stream) {
  using small_rows = parts::sample_rows<small_block_threads, 1, SampleIteratorT>;
  // Sixteen samples of a byte are so many to take apart at a time that fewer are on their way.
  constexpr int num_rows = sizeof(parts::item_of<SampleIteratorT>) == 1 ? rows_in_flight / 2 : rows_in_flight;
  using large_rows = parts::sample_rows<block_threads, num_rows, SampleIteratorT>;
  char* unused;
  parts::device_limits limits;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = limits.ask();
  if (error != cudaSuccess) return error;
  const std::size_t most_bytes = limits.shared_bytes - parts::finder_bytes<Bins>;
  if (parts::private_bins_room(bins.num_bins, 1) > most_bytes)
    return global_atomics::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins, stream);
  error = parts::launch_clear(d_histogram, bins.num_bins, stream);
  if (error != cudaSuccess || num_samples == 0) return error;
  const bool is_small = num_samples <= std::size_t(limits.multiprocessors) * small_rows::row_samples;
  unsigned copies = is_small ? 1 : most_copies;
  while (copies > 1 && parts::private_bins_room(bins.num_bins, copies) > 64 * 1024) copies /= 2;
  const std::size_t bytes = parts::private_bins_room(bins.num_bins, copies), room = limits.shared_bytes - bytes;
  const auto launch_counting = [&](auto rows_type, const auto& finder, std::size_t finder_bytes) {
    using rows = typename decltype(rows_type)::named;
    using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
    const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_samples, rows::row_samples),
                                                   std::size_t(limits.multiprocessors) * blocks_per_multiprocessor);
    return parts::launch_overlapped(overlapped_clear_kernel<rows, CounterT, found>, grid_blocks, rows::block_threads,
                                    bytes + finder_bytes, limits.overlaps(), stream, d_samples, num_samples,
                                    d_histogram, finder, copies, static_cast<unsigned>(bytes));
  };
  return parts::with_rows_and_finder<small_rows, large_rows>(is_small, bins, room, launch_counting);
}

}  // namespace rungs::RUNGS_ABI::histograms
