// Rung 9. Several blocks a row where rows are long, and a second launch that folds what they leave.
// Against 04_vector_loads: 16 rows of a million items keep 1024 blocks busy instead of 16. The parts follow from the
// length of a row alone, so that a row has the same bits however many there are. The price is the second launch.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/rows/05_warp_a_row.cuh"

namespace rungs::RUNGS_ABI::rows {

template <int block_threads, class InputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    split_rows_kernel(InputIteratorT d_in, T* d_aggregates, unsigned num_parts, std::size_t part_items,
                      std::size_t num_columns, ReductionOpT reduction_op) {
  const std::size_t begin = blockIdx.x % num_parts * part_items;
  const InputIteratorT part = d_in + blockIdx.x / num_parts * num_columns + begin;
  T value = fold_row<block_threads, T>(part, rungs::parts::at_most(num_columns - begin, part_items), threadIdx.x,
                                       reduction_op);
  value = fold_block<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) d_aggregates[blockIdx.x] = value;
}

struct split_rows {
  static constexpr auto idea = "several blocks a row, and a second launch for what they leave";
  static constexpr int block_threads = 512, items_per_thread = 16;
  static constexpr std::size_t part_bytes = 64 * 1024;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return vector_loads::summation_height(part_bytes) + warp_a_row::summation_height(num_columns / 1024);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                 OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                                 ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    const std::size_t part_items = part_bytes / sizeof(*d_in);
    const std::size_t num_parts = rungs::parts::ceil_div(num_columns, part_items);
    if (num_parts <= 1)
      return vector_loads::reduce_rows(d_temp_storage, temp_storage_bytes, d_in, d_out, num_rows, num_columns,
                                       reduction_op, init, stream);
    char* region;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, num_rows * num_parts * sizeof(T), region, error))
      return error;
    if (num_rows == 0) return cudaSuccess;
    T* const aggregates = reinterpret_cast<T*>(region);
    error = rungs::parts::launch(split_rows_kernel<block_threads, InputIteratorT, ReductionOpT, T>,
                                 num_rows * num_parts, block_threads, stream, d_in, aggregates,
                                 static_cast<unsigned>(num_parts), part_items, num_columns, reduction_op);
    if (error != cudaSuccess) return error;
    return warp_a_row::enqueue(static_cast<const T*>(aggregates), d_out, num_rows, num_parts, reduction_op, init,
                               stream);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
