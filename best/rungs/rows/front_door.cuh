// The front door of reductions by row: rungs::DeviceSegmentedReduce's call for segments of one size, with the arguments
// of a rung, so that it is tested and measured like one.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/device/device_segmented_reduce.cuh"

namespace rungs::RUNGS_ABI::rows {

struct front_door {
  static constexpr auto idea = "rungs::DeviceSegmentedReduce for segments of one size";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;
  // A thread adds up at most eight pieces until a row has 256 threads.
  static constexpr std::size_t summation_height(std::size_t num_columns) { return num_columns / 256 + 48; }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                 OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                                 ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    return DeviceSegmentedReduce::Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_rows, num_columns,
                                         reduction_op, init, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
