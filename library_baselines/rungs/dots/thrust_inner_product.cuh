// thrust::inner_product as an expert calls it: it takes its scratch from d_temp_storage. Its result is a value on the
// host, which then travels back to d_out.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/inner_product.h>
#include <thrust/system_error.h>

#include <new>

#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::dots {

struct thrust_inner_product {
  static constexpr auto idea =
      "thrust::inner_product, scratch from the caller's workspace, the result fetched by the host";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = false;  // as CUB's
  static constexpr bool waits_for_host = true;
  // More than a partial sum of 16 bytes for each of 16 blocks on each of 256 multiprocessors.
  static constexpr std::size_t scratch_bytes = 1 << 18;

  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (5 * 128) + 256;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    char* region;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, scratch_bytes, region, error)) return error;
    try {
      baselines::parts::workspace_allocator scratch{region, scratch_bytes};
      const T result =
          thrust::inner_product(thrust::cuda::par_nosync(scratch).on(stream), d_x, d_x + num_items, d_y, T{});
      return cudaMemcpyAsync(d_out, &result, sizeof(T), cudaMemcpyHostToDevice, stream);
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::dots
