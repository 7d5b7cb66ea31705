// Counters cleared by a launch of their own, with which the launch that counts overlaps: it starts while the counters
// are being cleared, and waits for that only before it adds to them (programmatic dependent launch, sm_90 and later;
// elsewhere the second launch follows the first one).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr int clearing_threads = 256, counters_per_clearing_thread = 4;

// Counters of one or more channels.
template <class CounterT, int num_channels>
struct counters_to_clear {
  CounterT* d_histograms[num_channels];
  unsigned num_bins[num_channels];
};

template <class CounterT, int num_channels>
__global__ void __launch_bounds__(clearing_threads) clear_kernel(counters_to_clear<CounterT, num_channels> channels) {
  let_next_launch_start();
  const unsigned first = blockIdx.x * (clearing_threads * counters_per_clearing_thread) + threadIdx.x;
#pragma unroll
  for (int channel = 0; channel < num_channels; ++channel)
#pragma unroll
    for (int i = 0; i < counters_per_clearing_thread; ++i)
      if (first + i * clearing_threads < channels.num_bins[channel])
        channels.d_histograms[channel][first + i * clearing_threads] = 0;
}

// All threads of a launch that overlaps call it before they touch the counters.
__device__ inline void wait_until_cleared() { wait_for_launch_before(); }

// Clears the counters in an ordinary launch, which begins when all earlier work of the stream is done. The next launch
// may overlap with it where limits.overlaps().
template <class CounterT, int num_channels>
cudaError_t launch_clear(const counters_to_clear<CounterT, num_channels>& channels, cudaStream_t stream) {
  unsigned most_bins = 0;
  for (const unsigned num_bins : channels.num_bins) most_bins = num_bins > most_bins ? num_bins : most_bins;
  return launch(clear_kernel<CounterT, num_channels>,
                ceil_div(most_bins, clearing_threads * counters_per_clearing_thread), clearing_threads, stream,
                channels);
}
template <class CounterT>
cudaError_t launch_clear(CounterT* d_histogram, unsigned num_bins, cudaStream_t stream) {
  return launch_clear(counters_to_clear<CounterT, 1>{{d_histogram}, {num_bins}}, stream);
}

}  // namespace rungs::RUNGS_ABI::parts
