// What a call knows of the device and of itself before it looks into a table.
#pragma once

#include <cuda_runtime.h>

#include "rungs/operators.cuh"
#include "rungs/parts/capability.cuh"
#include "rungs/tuning/table.cuh"

namespace rungs::RUNGS_ABI::device {

// The greatest compute capability that the caller's file is being compiled for.
inline constexpr int greatest_cc = parts::compiled_for(1 << 20);

// Of the code that the current device runs; below 90 where it has no clusters to offer, as a part of a device may.
inline cudaError_t capability(int& cc) {
  cudaError_t error = parts::code_capability(cc);
  if (error == cudaSuccess && cc >= 90) {
    int device = 0, has_clusters = 0;
    error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device);
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

}  // namespace rungs::RUNGS_ABI::device
