// Counters of a block in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr int plain_counters = plain_shared_bytes / sizeof(unsigned);

// All threads of the block; they meet at a barrier before they count.
__device__ inline void clear_counters(unsigned* counters, unsigned num_counters) {
  for (unsigned i = threadIdx.x; i < num_counters; i += blockDim.x) counters[i] = 0;
}

// All threads of the block, after a barrier: sends what was counted to memory, an atomic for each counter that is not
// 0.
template <class CounterT>
__device__ void send_counters(const unsigned* counters, unsigned num_counters, CounterT* d_histogram) {
  for (unsigned i = threadIdx.x; i < num_counters; i += blockDim.x)
    if (counters[i] != 0) atomicAdd(&d_histogram[i], static_cast<CounterT>(counters[i]));
}

// send_counters for num_copies copies of all counters, which lie one behind the other.
template <class CounterT>
__device__ void send_copies(const unsigned* counters, unsigned num_copies, unsigned num_bins, CounterT* d_histogram) {
  for (unsigned bin = threadIdx.x; bin < num_bins; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned copy = 0; copy < num_copies; ++copy) sum += counters[copy * num_bins + bin];
    if (sum != 0) atomicAdd(&d_histogram[bin], static_cast<CounterT>(sum));
  }
}

// Counters of a bin that lie side by side, replica r of bin b at b * num_replicas + r: as many as fit without asking
// for more shared memory, a power of two, at most one a lane.
inline unsigned replicas_that_fit(unsigned num_bins) {
  unsigned num_replicas = warp_threads;
  while (num_replicas > 1 && std::size_t(num_replicas) * num_bins > plain_counters) num_replicas /= 2;
  return num_replicas;
}

// send_counters for replicated ones. Each lane begins with another replica, so that the lanes read different banks.
template <class CounterT>
__device__ void send_replicas(const unsigned* counters, unsigned num_replicas, unsigned num_bins,
                              CounterT* d_histogram) {
  for (unsigned bin = threadIdx.x; bin < num_bins; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned r = 0; r < num_replicas; ++r)
      sum += counters[bin * num_replicas + ((r + threadIdx.x) & (num_replicas - 1))];
    if (sum != 0) atomicAdd(&d_histogram[bin], static_cast<CounterT>(sum));
  }
}

}  // namespace rungs::RUNGS_ABI::parts
