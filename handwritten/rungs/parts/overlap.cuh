// The device's halves of an overlap of two launches (programmatic dependent launch; launch_overlapped has the host's).
// Code for a GPU before Hopper has neither: its launches follow each other.
#pragma once

#include <cuda_runtime.h>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

// In the first kernel: once all of its blocks have come here or ended, the blocks of the next launch may start.
__device__ inline void let_next_launch_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// In the second kernel: what the first one wrote is seen from here on.
__device__ inline void wait_for_launch_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace rungs::RUNGS_ABI::parts
