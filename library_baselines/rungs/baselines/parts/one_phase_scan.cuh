// CUB's one-phase scans, with what the rung adds to the environment.
#pragma once

#include "rungs/baselines/cub_device_scan.cuh"
#include "rungs/baselines/parts/one_phase.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// A rung derives from one_phase_scan<rung> and answers environment<InputT, AccumulatorT>().
template <class Rung>
struct one_phase_scan {
  static constexpr bool propagates_nan = false;
  // On sm_90 tiles are handed out by an atomic; elsewhere in the order in which the hardware starts blocks.
  static constexpr progress forward_progress = progress::by_block_order;

  // A tile of these kernels is longer than cub_device_scan's, and so is a thread's share: up to 127 items, passed
  // twice.
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (128 * 7) + 512;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    using input = value_of<InputIteratorT>;
    const auto library_op = library_operator<ScanOpT, input, input>(scan_op);
    return in_one_phase(d_temp_storage, temp_storage_bytes, stream, [&](const auto& workspace) {
      const auto env = cuda::std::execution::env{workspace, Rung::template environment<input, input>()};
      return cub::DeviceScan::InclusiveScan(d_in, d_out, library_op, num_items, env);
    });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t stream = nullptr) {
    using input = value_of<InputIteratorT>;
    const auto library_op = library_operator<ScanOpT, input, T>(scan_op);
    return in_one_phase(d_temp_storage, temp_storage_bytes, stream, [&](const auto& workspace) {
      const auto env = cuda::std::execution::env{workspace, Rung::template environment<input, T>()};
      return cub::DeviceScan::InclusiveScanInit(d_in, d_out, library_op, init, num_items, env);
    });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    using input = value_of<InputIteratorT>;
    const auto library_op = library_operator<ScanOpT, input, T>(scan_op);
    return in_one_phase(d_temp_storage, temp_storage_bytes, stream, [&](const auto& workspace) {
      const auto env = cuda::std::execution::env{workspace, Rung::template environment<input, T>()};
      return cub::DeviceScan::ExclusiveScan(d_in, d_out, library_op, init, num_items, env);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines::parts
