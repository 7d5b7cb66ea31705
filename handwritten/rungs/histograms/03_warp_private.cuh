// Rung 3. A warp counts in bins of its own; the block adds its copies up at the end.
// Against 02_grid_stride: warps of a block no longer meet on a bin, at the price of shared memory, of clearing it, and
// of a sum over the copies for each bin that is sent. Where a copy a warp does not fit, several warps share one. It
// helps where the hardware lets the lanes of a warp pass one after the other; where it merges them, there is little
// left to gain.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/counters.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::histograms {

template <class SampleIteratorT, class CounterT, class Bins>
__global__ void warp_private_kernel(SampleIteratorT d_samples, std::size_t num_samples, CounterT* d_histogram,
                                    Bins bins, unsigned num_copies) {
  extern __shared__ unsigned counters[];
  parts::clear_counters(counters, num_copies * bins.num_bins);
  __syncthreads();
  unsigned* const copy = counters + threadIdx.x / parts::warp_threads % num_copies * bins.num_bins;
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = thread; i < num_samples; i += num_threads) {
    const unsigned bin = bins.bin_of(d_samples[i]);
    if (bin < bins.num_bins) atomicAdd(&copy[bin], 1u);
  }
  __syncthreads();
  parts::send_copies(counters, num_copies, bins.num_bins, d_histogram);
}

struct warp_private : parts::histogram_calls<warp_private> {
  static constexpr auto idea = "bins private to a warp, added up by the block at its end";
  static constexpr int block_threads = 512, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 4;
  static constexpr int max_bins = parts::plain_counters;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    char* unused;
    int num_multiprocessors;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::multiprocessors(num_multiprocessors);
    if (error == cudaSuccess) error = parts::clear(d_histogram, bins.num_bins, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_samples, block_threads),
                                                   std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
    const auto num_copies =
        static_cast<unsigned>(parts::at_most(block_threads / parts::warp_threads, max_bins / bins.num_bins));
    return parts::launch_with_shared_memory(warp_private_kernel<SampleIteratorT, CounterT, Bins>, grid_blocks,
                                            block_threads, num_copies * bins.num_bins * sizeof(unsigned), stream,
                                            d_samples, num_samples, d_histogram, bins, num_copies);
  }
};

}  // namespace rungs::RUNGS_ABI::histograms
