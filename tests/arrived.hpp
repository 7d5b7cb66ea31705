// Filling and copying on the legacy stream, done when the call returns.
#pragma once

#include <cuda_runtime_api.h>

namespace rungs::tests {

// Of a cudaMemset, or of a cudaMemcpy from the host: both may return before the bytes are there, and streams that do
// not wait for the legacy stream would read, or be overwritten.
inline cudaError_t arrived(cudaError_t begun) {
  return begun == cudaSuccess ? cudaStreamSynchronize(cudaStreamLegacy) : begun;
}

}  // namespace rungs::tests
