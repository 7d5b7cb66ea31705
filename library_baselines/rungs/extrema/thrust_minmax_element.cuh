// thrust::minmax_element as an expert calls it: it takes its scratch from d_temp_storage. What it answers are two
// iterators on the host, from which the items and the indices travel back.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/system_error.h>

#include <new>

#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct thrust_minmax_element {
  static constexpr auto idea =
      "thrust::minmax_element, scratch from the caller's workspace, the places fetched by the host";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr bool propagates_nan = false;
  // More than two pairs of 16 bytes for each of 16 blocks on each of 256 multiprocessors.
  static constexpr std::size_t scratch_bytes = 1 << 19;

  template <class T>
  static cudaError_t arg_extrema(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_min_item,
                                 long long* d_min_index, T* d_max_item, long long* d_max_index, std::size_t num_items,
                                 cudaStream_t stream = nullptr) {
    char* region;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, scratch_bytes, region, error)) return error;
    try {
      baselines::parts::workspace_allocator scratch{region, scratch_bytes};
      const auto found = thrust::minmax_element(thrust::cuda::par_nosync(scratch).on(stream), d_in, d_in + num_items);
      error = fetch(found.first, found.first - d_in, d_min_item, d_min_index, stream);
      return error != cudaSuccess ? error : fetch(found.second, found.second - d_in, d_max_item, d_max_index, stream);
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }

 private:
  template <class T>
  static cudaError_t fetch(const T* found, long long index, T* d_item, long long* d_index, cudaStream_t stream) {
    const cudaError_t error = cudaMemcpyAsync(d_item, found, sizeof(T), cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(d_index, &index, sizeof index, cudaMemcpyHostToDevice, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
