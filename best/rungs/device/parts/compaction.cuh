// What all calls on selections and runs share.
#pragma once

#include <cuda_runtime.h>

#include "rungs/device/parts/storages.cuh"

namespace rungs::RUNGS_ABI::device {

// Items of any type, compared as they compare themselves.
struct equal_items {
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    return static_cast<bool>(a == b);
  }
};

// The storage of these calls may hold anything, in both forms.
struct compaction {};

}  // namespace rungs::RUNGS_ABI::device
