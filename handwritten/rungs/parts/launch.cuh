// One launch that returns its own error and leaves an earlier one of the caller alone, as `<<<>>>` cannot.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

// `arguments` points to one argument of the kernel after the other. No template: what all launches share is compiled
// once.
inline cudaError_t launch_untyped(cudaLaunchAttribute* attributes, unsigned num_attributes, const void* kernel,
                                  void** arguments, std::size_t grid_blocks, int block_threads,
                                  std::size_t dynamic_bytes, cudaStream_t stream) {
  if (grid_blocks > 0x7fffffff) return cudaErrorInvalidConfiguration;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid_blocks));
  config.blockDim = dim3(block_threads);
  config.dynamicSmemBytes = dynamic_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = num_attributes;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

template <class... Parameters, class... Arguments>
cudaError_t launch_with(cudaLaunchAttribute* attributes, unsigned num_attributes, void (*kernel)(Parameters...),
                        std::size_t grid_blocks, int block_threads, std::size_t dynamic_bytes, cudaStream_t stream,
                        Arguments... arguments) {
  const auto launch_converted = [=](Parameters... values) {
    void* pointers[] = {&values..., nullptr};
    return launch_untyped(attributes, num_attributes, reinterpret_cast<const void*>(kernel), pointers, grid_blocks,
                          block_threads, dynamic_bytes, stream);
  };
  return launch_converted(Parameters(arguments)...);
}

// With one attribute, or none where it is null.
template <class... Parameters, class... Arguments>
cudaError_t launch_as(cudaLaunchAttribute* attribute, void (*kernel)(Parameters...), std::size_t grid_blocks,
                      int block_threads, std::size_t dynamic_bytes, cudaStream_t stream, Arguments... arguments) {
  return launch_with(attribute, attribute != nullptr, kernel, grid_blocks, block_threads, dynamic_bytes, stream,
                     arguments...);
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), std::size_t grid_blocks, int block_threads, cudaStream_t stream,
                   Arguments... arguments) {
  return launch_as(nullptr, kernel, grid_blocks, block_threads, 0, stream, arguments...);
}

// The same, with all blocks resident at once, or not at all (cudaErrorCooperativeLaunchTooLarge).
template <class... Parameters, class... Arguments>
cudaError_t launch_cooperatively(void (*kernel)(Parameters...), std::size_t grid_blocks, int block_threads,
                                 std::size_t dynamic_bytes, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  return launch_as(&cooperative, kernel, grid_blocks, block_threads, dynamic_bytes, stream, arguments...);
}

// More than 48 KB of dynamic shared memory have to be allowed, and are refused where the device has less. A kernel is
// allowed all that the device has: were it just what a call needs, another thread could lower it before the launch.
template <class... Parameters>
cudaError_t allow_shared_memory(void (*kernel)(Parameters...), std::size_t bytes) {
  cudaFuncAttributes about{};
  int device = 0, most_bytes = 0;
  cudaError_t error = cudaFuncGetAttributes(&about, kernel);
  if (error != cudaSuccess || std::size_t(about.maxDynamicSharedSizeBytes) >= bytes) return error;
  error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  most_bytes -= static_cast<int>(about.sharedSizeBytes);
  if (bytes > std::size_t(most_bytes)) return cudaErrorInvalidValue;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
}

__host__ __device__ constexpr std::size_t at_most(std::size_t a, std::size_t b) { return a < b ? a : b; }
__host__ __device__ constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

// Multiprocessors of the current device.
inline cudaError_t multiprocessors(int& count) {
  int device = 0;
  if (const auto error = cudaGetDevice(&device)) return error;
  return cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
}

}  // namespace rungs::RUNGS_ABI::parts
