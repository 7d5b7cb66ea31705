// Counters of a block in shared memory, and the launch that gives them room.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::v0::parts {

// What a block has without asking for more.
inline constexpr std::size_t plain_shared_bytes = 48 * 1024;
inline constexpr int plain_counters = plain_shared_bytes / sizeof(unsigned);

// One launch with dynamic shared memory. What is more than plain_shared_bytes is allowed first, and refused where the
// device has less.
template <class... Parameters, class... Arguments>
cudaError_t launch_with_shared(void (*kernel)(Parameters...), std::size_t grid_blocks, int block_threads,
                               std::size_t dynamic_bytes, cudaStream_t stream, Arguments... arguments) {
  if (grid_blocks > 0x7fffffff) return cudaErrorInvalidConfiguration;
  if (dynamic_bytes > plain_shared_bytes)
    if (const cudaError_t error = allow_shared_memory(kernel, dynamic_bytes)) return error;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid_blocks));
  config.blockDim = dim3(block_threads);
  config.dynamicSmemBytes = dynamic_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

// Most bytes of shared memory that a block of the current device can be allowed.
inline cudaError_t most_shared_bytes(std::size_t& bytes) {
  int device = 0, most = 0;
  if (const auto error = cudaGetDevice(&device)) return error;
  const cudaError_t error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  bytes = static_cast<std::size_t>(most);
  return error;
}

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

}  // namespace rungs::v0::parts
