// thrust::inclusive_scan and thrust::exclusive_scan as an expert calls them: no allocation (scratch comes from
// d_temp_storage) and, by par_nosync, no wait for the device. What runs is cub_device_scan_expert's 32-bit kernel.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/system_error.h>
#include <cub/device/device_scan.cuh>

#include <cstdint>
#include <new>

#include "rungs/baselines/cub_device_scan.cuh"
#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct thrust_scan {
  static constexpr auto idea = "thrust::inclusive_scan and thrust::exclusive_scan, scratch from the caller's workspace";
  static constexpr int block_threads = cub_device_scan::block_threads;
  static constexpr int items_per_thread = cub_device_scan::items_per_thread;
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;
  static constexpr progress forward_progress = progress::by_block_order;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return cub_device_scan::summation_height(num_items);
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    using input = parts::value_of<InputIteratorT>;
    const auto library_op = parts::library_operator<ScanOpT, input, input>(scan_op);
    return run(
        d_temp_storage, temp_storage_bytes, num_items, stream,
        [=](std::size_t& bytes, auto count) {
          return cub::DeviceScan::InclusiveScan(nullptr, bytes, d_in, d_out, library_op, count, stream);
        },
        [=](const auto& policy) { thrust::inclusive_scan(policy, d_in, d_in + num_items, d_out, library_op); });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ScanOpT, parts::value_of<InputIteratorT>, T>(scan_op);
    return run(
        d_temp_storage, temp_storage_bytes, num_items, stream,
        [=](std::size_t& bytes, auto count) {
          return cub::DeviceScan::InclusiveScanInit(nullptr, bytes, d_in, d_out, library_op, init, count, stream);
        },
        [=](const auto& policy) { thrust::inclusive_scan(policy, d_in, d_in + num_items, d_out, init, library_op); });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ScanOpT, parts::value_of<InputIteratorT>, T>(scan_op);
    return run(
        d_temp_storage, temp_storage_bytes, num_items, stream,
        [=](std::size_t& bytes, auto count) {
          return cub::DeviceScan::ExclusiveScan(nullptr, bytes, d_in, d_out, library_op, init, count, stream);
        },
        [=](const auto& policy) { thrust::exclusive_scan(policy, d_in, d_in + num_items, d_out, init, library_op); });
  }

 private:
  // Thrust asks for what CUB asks for, rounded up by the allocator; which of CUB's offset types it takes follows the
  // count.
  template <class CubBytes, class Scan>
  static cudaError_t run(void* d_temp_storage, std::size_t& temp_storage_bytes, std::size_t num_items,
                         cudaStream_t stream, CubBytes cub_bytes, Scan scan) {
    std::size_t bytes_64 = 0, bytes_32 = 0;
    cudaError_t error = cub_bytes(bytes_64, num_items);
    if (error == cudaSuccess) error = cub_bytes(bytes_32, static_cast<std::uint32_t>(num_items));
    if (error != cudaSuccess) return error;
    const std::size_t bytes = (bytes_64 > bytes_32 ? bytes_64 : bytes_32) + rungs::parts::storage_alignment;
    char* region;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error) || num_items == 0)
      return error;
    try {
      parts::workspace_allocator allocator{region, bytes};
      scan(thrust::cuda::par_nosync(allocator).on(stream));
      return cudaSuccess;
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
