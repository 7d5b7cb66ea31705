// CUB's newest calls, one phase with an execution environment, behind the two phases of d_temp_storage: the
// environment's memory resource hands out the caller's storage, so nothing is allocated.
#pragma once

#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include <new>

#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// Without a region it refuses every request, but remembers its size: that is how the first phase learns it.
struct workspace_resource {
  char* region;
  std::size_t bytes;
  std::size_t* asked_bytes;

  void* allocate(cuda::stream_ref, std::size_t num_bytes, std::size_t) { return allocate_sync(num_bytes, 0); }
  void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
  void* allocate_sync(std::size_t num_bytes, std::size_t) {
    *asked_bytes = num_bytes;
    if (region == nullptr || num_bytes > bytes) throw std::bad_alloc();
    return region;
  }
  void deallocate_sync(void*, std::size_t, std::size_t) noexcept {}
  friend bool operator==(const workspace_resource& a, const workspace_resource& b) { return a.region == b.region; }
  friend void get_property(const workspace_resource&, cuda::mr::device_accessible) noexcept {}
};

// call(environment of the stream and the storage) is one call of CUB.
template <class Call>
cudaError_t in_one_phase(void* d_temp_storage, std::size_t& temp_storage_bytes, cudaStream_t stream, Call call) {
  std::size_t asked_bytes = 0;
  const auto with_storage = [&](char* region, std::size_t bytes) {
    return call(cuda::std::execution::env{cuda::stream_ref{stream},
                                          cuda::std::execution::prop{cuda::mr::get_memory_resource_t{},
                                                                     workspace_resource{region, bytes, &asked_bytes}}});
  };
  if (d_temp_storage == nullptr) {
    const cudaError_t refused = with_storage(nullptr, 0);
    if (refused != cudaErrorMemoryAllocation) return refused;
  }
  char* region;
  cudaError_t error;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, asked_bytes, region, error)) return error;
  error = with_storage(region, temp_storage_bytes - rungs::parts::storage_alignment);
  return error == cudaErrorMemoryAllocation ? cudaErrorInvalidValue : error;
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
