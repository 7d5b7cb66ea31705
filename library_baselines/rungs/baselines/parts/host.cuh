// The contract of the host baselines: pointers are host pointers, nothing runs on the device, no byte of workspace is
// used.
#pragma once

#include <new>

#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// Calls run() behind the two phases of d_temp_storage; an exception becomes an error code.
template <class Run>
cudaError_t run_on_host(void* d_temp_storage, std::size_t& temp_storage_bytes, Run run) {
  char* unused;
  cudaError_t error;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  try {
    run();
    return cudaSuccess;
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (...) {
    return cudaErrorUnknown;
  }
}

// *d_out = compute(), likewise.
template <class OutputIteratorT, class Compute>
cudaError_t on_host(void* d_temp_storage, std::size_t& temp_storage_bytes, OutputIteratorT d_out, Compute compute) {
  return run_on_host(d_temp_storage, temp_storage_bytes, [=] { *d_out = compute(); });
}

// An operator of two T, given an item that is yet to become one.
template <class T, class ScanOpT>
auto widening(ScanOpT scan_op) {
  return [scan_op](const T& so_far, const auto& item) { return scan_op(so_far, static_cast<T>(item)); };
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
