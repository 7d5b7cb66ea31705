// thrust::min_element and max_element as an expert calls them: they take their scratch from d_temp_storage. What they
// answer is an iterator on the host, from which the item and the index travel back.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/system_error.h>

#include <new>
#include <type_traits>

#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::extrema {

struct thrust_extremum_element {
  static constexpr auto idea =
      "thrust::min_element and max_element, scratch from the caller's workspace, the place fetched by the host";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr bool propagates_nan = false;
  // More than a pair of 16 bytes for each of 16 blocks on each of 256 multiprocessors.
  static constexpr std::size_t scratch_bytes = 1 << 18;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT,
                                  cudaStream_t stream = nullptr) {
    char* region;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, scratch_bytes, region, error)) return error;
    try {
      baselines::parts::workspace_allocator scratch{region, scratch_bytes};
      const auto policy = thrust::cuda::par_nosync(scratch).on(stream);
      const T* found;
      if constexpr (std::is_same_v<ReductionOpT, minimum>)
        found = thrust::min_element(policy, d_in, d_in + num_items);
      else
        found = thrust::max_element(policy, d_in, d_in + num_items);
      const long long index = found - d_in;
      error = cudaMemcpyAsync(d_item, found, sizeof(T), cudaMemcpyDeviceToDevice, stream);
      if (error != cudaSuccess) return error;
      return cudaMemcpyAsync(d_index, &index, sizeof index, cudaMemcpyHostToDevice, stream);
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
