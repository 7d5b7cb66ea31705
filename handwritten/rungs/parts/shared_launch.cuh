// Launches with dynamic shared memory, of which a block has to be allowed what is more than 48 KB, and what of the
// device decides about them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/capability.cuh"
#include "rungs/parts/launch.cuh"

namespace rungs::RUNGS_ABI::parts {

// What a block has without asking for more.
inline constexpr std::size_t plain_shared_bytes = 48 * 1024;

// Most bytes of shared memory that a block of the current device can be allowed.
inline cudaError_t most_shared_bytes(std::size_t& bytes) {
  int device = 0, most = 0;
  if (const auto error = cudaGetDevice(&device)) return error;
  const cudaError_t error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  bytes = static_cast<std::size_t>(most);
  return error;
}

// What of the current device decides a launch that fills its shared memory, or overlaps with another.
struct device_limits {
  int multiprocessors = 0, cc = 0;  // cc: of the code that it runs
  std::size_t shared_bytes = 0;     // most that a block can be allowed

  cudaError_t ask() {
    int device = 0, most_shared = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
      error = cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess) error = code_capability(cc);
    shared_bytes = static_cast<std::size_t>(most_shared);
    return error;
  }
  bool overlaps() const { return cc >= 90; }
};

// `overlapping` lets it start while the launch before it still runs (programmatic dependent launch). Shared memory is
// refused where the device has less.
template <class... Parameters, class... Arguments>
cudaError_t launch_overlapped(void (*kernel)(Parameters...), std::size_t grid_blocks, int block_threads,
                              std::size_t dynamic_bytes, bool overlapping, cudaStream_t stream,
                              Arguments... arguments) {
  if (dynamic_bytes > plain_shared_bytes)
    if (const cudaError_t error = allow_shared_memory(kernel, dynamic_bytes)) return error;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  return launch_as(overlapping ? &overlap : nullptr, kernel, grid_blocks, block_threads, dynamic_bytes, stream,
                   arguments...);
}

template <class... Parameters, class... Arguments>
cudaError_t launch_with_shared_memory(void (*kernel)(Parameters...), std::size_t grid_blocks, int block_threads,
                                      std::size_t dynamic_bytes, cudaStream_t stream, Arguments... arguments) {
  return launch_overlapped(kernel, grid_blocks, block_threads, dynamic_bytes, false, stream, arguments...);
}

}  // namespace rungs::RUNGS_ABI::parts
