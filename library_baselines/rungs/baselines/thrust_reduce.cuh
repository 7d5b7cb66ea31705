// thrust::reduce as an expert calls it: no allocation (it takes its scratch from d_temp_storage), no synchronisation
// beyond the one that it needs, because its result is a value on the host. That value then travels back to d_out.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/system_error.h>
#include <cub/device/device_reduce.cuh>

#include <cstdint>
#include <new>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct thrust_reduce {
  static constexpr auto idea = "thrust::reduce, scratch from the caller's workspace, the result fetched by the host";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = false;  // runs cub::DeviceReduce: see cub_device_reduce
  static constexpr bool propagates_nan = false;
  static constexpr bool waits_for_host = true;

  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (5 * 128) + 256;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, parts::value_of<InputIteratorT>, T>(reduction_op);
    // Thrust asks for what CUB asks for and room for the result, both rounded up by the allocator. It takes 32-bit
    // offsets where they do, and that kernel's grid, and so its scratch, is of another size.
    std::size_t cub_bytes = 0, cub_bytes_32 = 0;
    cudaError_t error = cub::DeviceReduce::Reduce(nullptr, cub_bytes, d_in, d_out, num_items, library_op, init, stream);
    if (error == cudaSuccess)
      error = cub::DeviceReduce::Reduce(nullptr, cub_bytes_32, d_in, d_out, static_cast<std::uint32_t>(num_items),
                                        library_op, init, stream);
    if (error != cudaSuccess) return error;
    const std::size_t bytes =
        (cub_bytes > cub_bytes_32 ? cub_bytes : cub_bytes_32) + sizeof(T) + 2 * rungs::parts::storage_alignment;
    char* region;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    try {
      parts::workspace_allocator allocator{region, bytes};
      const T result =
          thrust::reduce(thrust::cuda::par_nosync(allocator).on(stream), d_in, d_in + num_items, init, library_op);
      return cudaMemcpyAsync(d_out, &result, sizeof(T), cudaMemcpyHostToDevice, stream);
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
