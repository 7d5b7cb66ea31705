// CUB's newest call: one phase with an execution environment, told that no order of additions is asked for. Then CUB clears
// the output and adds each block's aggregate to it by an atomic, where cub_device_reduce starts a second kernel.
// The environment's memory resource hands out the caller's d_temp_storage, so nothing is allocated.
#pragma once

#include <cub/device/device_reduce.cuh>
#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include <new>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::v0::baselines {

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

struct cub_device_reduce_not_guaranteed {
  static constexpr auto idea = "cub::DeviceReduce::Reduce in one phase, no order guaranteed: an atomic per block";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, parts::value_of<InputIteratorT>, T>(reduction_op);
    std::size_t asked_bytes = 0;
    const auto call = [&](char* region, std::size_t bytes) {
      const auto env = cuda::std::execution::env{
          cuda::stream_ref{stream}, cuda::execution::require(cuda::execution::determinism::not_guaranteed),
          cuda::std::execution::prop{cuda::mr::get_memory_resource_t{}, workspace_resource{region, bytes, &asked_bytes}}};
      return cub::DeviceReduce::Reduce(d_in, d_out, num_items, library_op, init, env);
    };
    if (d_temp_storage == nullptr) {
      const cudaError_t refused = call(nullptr, 0);
      if (refused != cudaErrorMemoryAllocation) return refused;
    }
    char* region;
    cudaError_t error;
    if (v0::parts::answered(d_temp_storage, temp_storage_bytes, asked_bytes, region, error)) return error;
    error = call(region, temp_storage_bytes - v0::parts::storage_alignment);
    return error == cudaErrorMemoryAllocation ? cudaErrorInvalidValue : error;
  }
};

}  // namespace rungs::v0::baselines
