// CUB's reduction of segments between offsets, which it has had the longest. The offsets of rows come from an iterator
// that computes them, so that none are read.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_segmented_reduce.cuh>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::rows {

struct cub_device_segmented_reduce {
  static constexpr auto idea = "cub::DeviceSegmentedReduce::Reduce between offsets";
  static constexpr int block_threads = 256, items_per_thread = 16;
  // The same bits run to run, but not at every address: vectors are loaded where rows are aligned, and items meet in
  // another order there.
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;
  static constexpr std::size_t summation_height(std::size_t num_columns) { return num_columns / 128 + 64; }

  struct offset_of_row {
    long long num_columns;
    __host__ __device__ long long operator()(long long row) const { return row * num_columns; }
  };

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                 OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                                 ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    const auto offsets = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0),
                                                         offset_of_row{static_cast<long long>(num_columns)});
    const auto library_op =
        baselines::parts::library_operator<ReductionOpT, baselines::parts::value_of<InputIteratorT>, T>(reduction_op);
    const cudaError_t error = cub::DeviceSegmentedReduce::Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                                 static_cast<long long>(num_rows), offsets, offsets + 1,
                                                                 library_op, init, stream);
    if (d_temp_storage == nullptr && temp_storage_bytes == 0) temp_storage_bytes = 1;  // of no rows it answers 0
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::rows
