// CUB's device-wide scan as most people call it: a pointer, a size_t, the library's operator. InclusiveSum and
// ExclusiveSum are these calls with plus: same kernels, same policy.
//
// CUB accumulates in what the operator returns for an init and an item: float for a float and a __half. Without an init
// (InclusiveScan) that is the items' own type.
#pragma once

#include <cub/device/device_scan.cuh>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct cub_device_scan {
  static constexpr auto idea = "cub::DeviceScan::InclusiveScan and its relatives on a pointer and a size_t";
  // CUB's choice for sums in 4 bytes on sm_90. Sums in 8 bytes: 224 threads with 12 items.
  static constexpr int block_threads = 128, items_per_thread = 24;
  // A block adds up what it finds when it looks back: an aggregate here, a prefix there, as the other blocks got on.
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;
  // Block b takes tile b and waits for the tiles before it: they must have started.
  static constexpr progress forward_progress = progress::by_block_order;

  // At worst each tile's prefix is the one before it and an aggregate. CUB's smallest tile: 128 threads with 7 doubles.
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (128 * 7) + 128;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    using input = parts::value_of<InputIteratorT>;
    return cub::DeviceScan::InclusiveScan(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                          parts::library_operator<ScanOpT, input, input>(scan_op), num_items, stream);
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ScanOpT, parts::value_of<InputIteratorT>, T>(scan_op);
    return cub::DeviceScan::InclusiveScanInit(d_temp_storage, temp_storage_bytes, d_in, d_out, library_op, init,
                                              num_items, stream);
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ScanOpT, parts::value_of<InputIteratorT>, T>(scan_op);
    return cub::DeviceScan::ExclusiveScan(d_temp_storage, temp_storage_bytes, d_in, d_out, library_op, init, num_items,
                                          stream);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
