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

// Kernels that one call launches; empty where the call cannot be captured.
std::optional<int> count_kernels(const contender& one, cudaStream_t stream);

}  // namespace rungs::bench
