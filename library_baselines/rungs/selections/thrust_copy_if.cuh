// thrust::copy_if as an expert calls it: it takes its scratch from d_temp_storage. What it answers is an iterator on
// the host, from which the count travels back.
#pragma once

#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/system_error.h>

#include <new>

#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::selections {

struct thrust_copy_if {
  static constexpr auto idea = "thrust::copy_if, scratch from the caller's workspace, the count fetched by the host";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;

  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    // More than 16 bytes for a tile of 512 items, and the count.
    const std::size_t scratch_bytes = num_items / 32 + (std::size_t{1} << 16);
    char* region;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, scratch_bytes, region, error)) return error;
    try {
      baselines::parts::workspace_allocator scratch{region, scratch_bytes};
      const auto policy = thrust::cuda::par_nosync(scratch).on(stream);
      const long long count = thrust::copy_if(policy, d_in, d_in + num_items, d_out, select_op) - d_out;
      return cudaMemcpyAsync(d_num_selected_out, &count, sizeof count, cudaMemcpyHostToDevice, stream);
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::selections
