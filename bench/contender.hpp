// A record bound to its buffers: everything a call needs, allocated before any clock runs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

#include "catalog.hpp"

namespace rungs::bench {

struct contender {
  const catalog::record* record = nullptr;
  catalog::arguments arguments;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  bool twin = false;  // CUB's second entry

  cudaError_t call(cudaStream_t stream) const {
    std::size_t num_bytes = workspace_bytes;
    return record->call(workspace, num_bytes, arguments, stream);
  }
};

// What a variant answers where the hardware lacks something; every other error is a defect.
inline bool cannot_run_here(cudaError_t error) {
  return error == cudaErrorNotSupported || error == cudaErrorCooperativeLaunchTooLarge ||
         error == cudaErrorNoKernelImageForDevice;
}

// What a kernel takes of a multiprocessor, as the runtime says it.
struct kernel_needs {
  int registers = 0;             // of a thread
  std::size_t shared_bytes = 0;  // of a block: what is declared and what the launch adds
  double occupancy = 0;          // warps that fit a multiprocessor at once, of the most that it holds
};

// How a kernel was launched.
struct launch_shape {
  std::size_t blocks = 0;
  std::size_t block_threads = 0;
  std::size_t cluster_blocks = 1;
  bool cooperative = false;
  std::optional<kernel_needs> needs = {};  // empty where the runtime does not tell
};

// What one call launches; empty where the call cannot be captured.
struct launched {
  int kernels = 0;
  std::optional<launch_shape> largest;  // of the kernel with most blocks; empty where the runtime does not tell
};
std::optional<launched> launches_of(const contender& one, cudaStream_t stream);

}  // namespace rungs::bench
