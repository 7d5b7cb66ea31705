// What a program of tests asks before it runs on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>

namespace rungs::tests {

inline bool has_gpu() {
  int count = 0;
  const bool has_one = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  return has_one;
}

// Says so where the kernels were compiled quickly (RUNGS_QUICK_TESTS): on a GPU they prove little of the kernels that a
// user's compiler makes, and their times prove nothing.
inline void tell_if_quick() {
#ifdef RUNGS_QUICK_TESTS
  std::printf(
      "note: these kernels were compiled with -Ofc=max; configure with -DRUNGS_QUICK_TESTS=OFF to run them on a GPU\n");
#endif
}

}  // namespace rungs::tests
