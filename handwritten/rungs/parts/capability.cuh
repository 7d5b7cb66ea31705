// What a device must have for a rung that has no other way.
#pragma once

#include <cuda_runtime_api.h>

#include "rungs/version.cuh"

namespace rungs::v0::parts {

// cudaErrorNotSupported where the current device is older than min_cc, which is 10 * major + minor.
inline cudaError_t require(int min_cc) {
  int device = 0, major = 0, minor = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error == cudaSuccess && 10 * major + minor < min_cc) error = cudaErrorNotSupported;
  return error;
}

}  // namespace rungs::v0::parts
