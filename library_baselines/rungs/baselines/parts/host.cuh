// The contract of the host baselines: pointers are host pointers, nothing runs on the device, no byte of workspace is used.
#pragma once

#include <new>

#include "rungs/parts/storage.cuh"

namespace rungs::v0::baselines::parts {

// *d_out = compute(), behind the two phases of d_temp_storage; an exception becomes an error code.
template <class OutputIteratorT, class Compute>
cudaError_t on_host(void* d_temp_storage, std::size_t& temp_storage_bytes, OutputIteratorT d_out, Compute compute) {
  char* unused;
  cudaError_t error;
  if (v0::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  try {
    *d_out = compute();
    return cudaSuccess;
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (...) {
    return cudaErrorUnknown;
  }
}

}  // namespace rungs::v0::baselines::parts
