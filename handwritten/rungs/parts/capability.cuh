// What a device must have for a rung that has no other way, and what the code that it runs was compiled for.
#pragma once

#include <cuda_runtime_api.h>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

// The compute capabilities that the caller's file is being compiled for, 10 * major + minor, and the greatest that a
// device can run. A kernel behaves as the capability it was compiled for, which may be below the device's: code of an
// older one, compiled anew by the driver, has no clusters and no waiting for the launch before.
#ifdef __CUDA_ARCH_LIST__
inline constexpr int compiled_capabilities[] = {__CUDA_ARCH_LIST__};
#else
inline constexpr int compiled_capabilities[] = {0};
#endif
constexpr int compiled_for(int device_cc) {
  int greatest = 0;
  for (const int each : compiled_capabilities)
    if (each / 10 <= device_cc && each / 10 > greatest) greatest = each / 10;
  return greatest;
}

// Of the code that the current device runs. The runtime answers attributes from memory, so nothing is kept here, and
// nothing can be shared by threads or go stale.
inline cudaError_t code_capability(int& cc) {
  int device = 0, major = 0, minor = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  cc = compiled_for(10 * major + minor);
  return error;
}

// cudaErrorNotSupported where the code is for less than min_cc.
inline cudaError_t require(int min_cc) {
  int cc = 0;
  const cudaError_t error = code_capability(cc);
  return error == cudaSuccess && cc < min_cc ? cudaErrorNotSupported : error;
}

// Whether a launch may begin while the one before it still runs (programmatic dependent launch).
inline cudaError_t overlaps_launches(bool& overlaps) {
  int cc = 0;
  const cudaError_t error = code_capability(cc);
  overlaps = cc >= 90;
  return error;
}

}  // namespace rungs::RUNGS_ABI::parts
