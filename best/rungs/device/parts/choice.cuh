// What a call knows of the device and of itself before it looks into a table.
#pragma once

#include <cuda_runtime.h>

#include "rungs/operators.cuh"
#include "rungs/tuning/table.cuh"

namespace rungs::v0::device {

// The compute capabilities that the caller's program is being compiled for, ascending, and the greatest of them. A
// kernel behaves as the capability it was compiled for, which may be below the device's.
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
inline constexpr int greatest_cc = compiled_for(1 << 20);

// Of the code that the current device runs; below 90 where it has no clusters to offer, as a part of a device may. The
// runtime answers attributes from memory, so nothing is kept here, and nothing can be shared by threads or go stale.
inline cudaError_t capability(int& cc) {
  int device = 0, major = 0, minor = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  cc = compiled_for(10 * major + minor);
  if (error == cudaSuccess && cc >= 90) {
    int has_clusters = 0;
    error = cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device);
    if (!has_clusters) cc = 89;
  }
  return error;
}

// How many items of a measured size hold as many bytes as num_items of item_bytes each, which may be more than any that
// was measured.
constexpr std::size_t measured_items(std::size_t num_items, std::size_t item_bytes) {
  constexpr std::size_t most_bytes = 8;
  return item_bytes > most_bytes ? num_items * ((item_bytes + most_bytes - 1) / most_bytes) : num_items;
}

template <class Op>
inline constexpr tuning::operators class_of =
    std::is_same_v<Op, plus>                                     ? tuning::operators::sum
    : std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum> ? tuning::operators::order
                                                                 : tuning::operators::any;

}  // namespace rungs::v0::device
