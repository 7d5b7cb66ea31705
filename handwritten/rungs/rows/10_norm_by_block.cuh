// Rung 10. Root-mean-square norm: a block a row adds up squares, then reads the row again and scales it (claim D5).
// Against 03_final_warp: the same sum with shuffles, but the block goes on with it: one thread makes the factor, shared
// memory hands it to all. The second read mostly comes from caches, and no second launch is needed.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::rows {

// 1 / sqrt(mean square + epsilon) in all threads, of what each of them has added up.
template <int block_threads>
__device__ float norm_factor(float squares, std::size_t num_columns, float epsilon) {
  __shared__ float factor;
  squares = rungs::parts::block_reduce<block_threads>(squares, plus{});
  if (threadIdx.x == 0) factor = 1 / sqrtf(squares / static_cast<float>(num_columns) + epsilon);
  __syncthreads();
  return factor;
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads)
    norm_by_block_kernel(const T* d_in, const T* d_weight, T* d_out, std::size_t num_columns, float epsilon) {
  const T* const row = d_in + blockIdx.x * num_columns;
  T* const out = d_out + blockIdx.x * num_columns;
  float squares = 0;
  for (std::size_t column = threadIdx.x; column < num_columns; column += block_threads)
    squares += row[column] * row[column];
  const float factor = norm_factor<block_threads>(squares, num_columns, epsilon);
  for (std::size_t column = threadIdx.x; column < num_columns; column += block_threads)
    out[column] = row[column] * factor * d_weight[column];
}

struct norm_by_block {
  static constexpr auto idea = "a block a row adds up its squares, reads it again and scales it";
  static constexpr int block_threads = 256, items_per_thread = 8;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t most_rows = 0x7fffffff;  // of a launch
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, block_threads) + 8;
  }

  // d_out[row][column] = d_in[row][column] * d_weight[column] / sqrt(mean square of the row + epsilon), of T float.
  // Rows stand one behind the other. d_out may be d_in.
  template <class T>
  static cudaError_t rms_norm(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, const T* d_weight,
                              T* d_out, std::size_t num_rows, std::size_t num_columns, float epsilon,
                              cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_columns == 0) return error;
    const auto kernel = norm_by_block_kernel<block_threads, T>;
    for (std::size_t first = 0; error == cudaSuccess && first < num_rows; first += most_rows)
      error =
          rungs::parts::launch(kernel, rungs::parts::at_most(num_rows - first, most_rows), block_threads, stream,
                               d_in + first * num_columns, d_weight, d_out + first * num_columns, num_columns, epsilon);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::rows
