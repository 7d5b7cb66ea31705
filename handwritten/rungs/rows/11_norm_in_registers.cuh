// Rung 11. A thread keeps its part of the row in registers, so the row is read once.
// Against 10_norm_by_block: all loads of a thread are on their way at once, and the second read goes: of the first 8192
// columns. What a longer row has behind them is read twice, as there.
#pragma once

#include "rungs/rows/10_norm_by_block.cuh"

namespace rungs::RUNGS_ABI::rows {

template <int block_threads, int items_per_thread, class T>
__global__ void __launch_bounds__(block_threads)
    norm_in_registers_kernel(const T* d_in, const T* d_weight, T* d_out, std::size_t num_columns, float epsilon) {
  constexpr std::size_t held_columns = std::size_t(block_threads) * items_per_thread;
  const T* const row = d_in + blockIdx.x * num_columns;
  T* const out = d_out + blockIdx.x * num_columns;
  T held[items_per_thread];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < items_per_thread; ++i) {
    const std::size_t column = std::size_t(i) * block_threads + threadIdx.x;
    held[i] = column < num_columns ? row[column] : T{};
  }
#pragma unroll
  for (int i = 0; i < items_per_thread; ++i) squares += held[i] * held[i];
  for (std::size_t column = held_columns + threadIdx.x; column < num_columns; column += block_threads)
    squares += row[column] * row[column];
  const float factor = norm_factor<block_threads>(squares, num_columns, epsilon);
#pragma unroll
  for (int i = 0; i < items_per_thread; ++i) {
    const std::size_t column = std::size_t(i) * block_threads + threadIdx.x;
    if (column < num_columns) out[column] = held[i] * factor * d_weight[column];
  }
  for (std::size_t column = held_columns + threadIdx.x; column < num_columns; column += block_threads)
    out[column] = row[column] * factor * d_weight[column];
}

struct norm_in_registers {
  static constexpr auto idea = "a thread keeps its part of the row in registers: one read";
  // Few of rows up to 2048 columns, so that more blocks fit.
  static constexpr int block_threads = 256, items_per_thread = 32, few_items_per_thread = 8;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t most_rows = norm_by_block::most_rows;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, block_threads) + items_per_thread + 8;
  }

  // As norm_by_block::rms_norm.
  template <class T>
  static cudaError_t rms_norm(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, const T* d_weight,
                              T* d_out, std::size_t num_rows, std::size_t num_columns, float epsilon,
                              cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_columns == 0) return error;
    const auto kernel = num_columns <= std::size_t(block_threads) * few_items_per_thread
                            ? norm_in_registers_kernel<block_threads, few_items_per_thread, T>
                            : norm_in_registers_kernel<block_threads, items_per_thread, T>;
    for (std::size_t first = 0; error == cudaSuccess && first < num_rows; first += most_rows)
      error =
          rungs::parts::launch(kernel, rungs::parts::at_most(num_rows - first, most_rows), block_threads, stream,
                               d_in + first * num_columns, d_weight, d_out + first * num_columns, num_columns, epsilon);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::rows
