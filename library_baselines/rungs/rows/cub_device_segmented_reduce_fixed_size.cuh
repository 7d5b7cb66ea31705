// CUB's reduction of segments of one size, since release 3.2.
#pragma once

#include <cub/device/device_segmented_reduce.cuh>

#include <limits>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::rows {

struct cub_device_segmented_reduce_fixed_size {
  static constexpr auto idea = "cub::DeviceSegmentedReduce::Reduce for segments of one size";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = false;  // as between offsets
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_columns) { return num_columns / 16 + 64; }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                 OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                                 ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    if (num_columns > std::size_t{std::numeric_limits<int>::max()}) return cudaErrorNotSupported;  // its own limit
    const auto library_op =
        baselines::parts::library_operator<ReductionOpT, baselines::parts::value_of<InputIteratorT>, T>(reduction_op);
    const cudaError_t error = cub::DeviceSegmentedReduce::Reduce(
        d_temp_storage, temp_storage_bytes, d_in, d_out, static_cast<long long>(num_rows),
        static_cast<int>(num_columns), library_op, init, stream);
    if (d_temp_storage == nullptr && temp_storage_bytes == 0) temp_storage_bytes = 1;  // of no rows it answers 0
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::rows
