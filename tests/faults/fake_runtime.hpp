// A CUDA runtime that runs nothing: linked in with --wrap, it answers for a device that need not exist, keeps a list of
// what was asked and enqueued, and fails the call it is told to fail. Several threads may call it.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <string>
#include <vector>

namespace rungs::tests::fake {

struct call {
  std::string name;
  bool enqueues = false;  // puts work on a stream
  unsigned long long grid_blocks = 0;
  unsigned block_threads = 0;
};

struct runtime {
  // The device.
  int multiprocessors = 132, capability = 90, shared_bytes_optin = 232448, blocks_per_multiprocessor = 8, clusters = 16,
      cluster_blocks = 16;
  // The fault: the failing_call-th call from now on returns `error`; 0: none does.
  int failing_call = 0;
  bool failing_ever_after = false;
  cudaError_t error = cudaErrorUnknown;
  // The record.
  std::vector<call> calls;
  cudaError_t last_error = cudaSuccess;
  std::map<const void*, std::size_t> shared_bytes_allowed;  // of kernels that were allowed more than others have

  bool failed() const { return failing_call > 0 && static_cast<int>(calls.size()) >= failing_call; }
};

runtime& current();

}  // namespace rungs::tests::fake
