// What a program of tests asks before it runs on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace rungs::tests {

// Ends the program where there is a GPU and a quick build (RUNGS_QUICK_BUILD) has left out the kernels to run on it.
inline bool has_gpu() {
  int count = 0;
  const bool has_one = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
#ifdef RUNGS_QUICK_BUILD
  if (has_one) {
    std::fputs("This is a quick build, without kernels: configure with -DRUNGS_QUICK_BUILD=OFF to use the GPU.\n",
               stderr);
    std::exit(2);
  }
#endif
  return has_one;
}

}  // namespace rungs::tests
