// Norms of rows, in which one bug can be planted: a block a row.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/launch.cuh"
#include "wrong/bug.cuh"

namespace rungs::wrong {

template <bug planted>
__global__ void __launch_bounds__(block_threads)
    norms_kernel(const float* d_in, const float* d_weight, float* d_out, std::size_t num_columns, float epsilon) {
  __shared__ float factor;
  const float* const row = d_in + blockIdx.x * num_columns;
  const std::size_t end = num_columns - (planted == bug::tail_mask_off_by_one && num_columns > block_threads);
  float squares = 0;
  for (std::size_t column = threadIdx.x; column < end; column += block_threads) squares += row[column] * row[column];
  if (threadIdx.x == 0) factor = 0;
  squares = parts::block_reduce<block_threads>(squares, plus{});
  if (planted == bug::missing_barrier && threadIdx.x == 0) dawdle();
  if (threadIdx.x == 0) factor = 1 / sqrtf(squares / static_cast<float>(num_columns) + epsilon);
  if constexpr (planted != bug::missing_barrier) __syncthreads();
  for (std::size_t column = threadIdx.x; column < num_columns; column += block_threads)
    d_out[blockIdx.x * num_columns + column] = row[column] * factor * d_weight[column];
}

template <bug planted>
struct norms_with : variant {
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t rms_norm(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, const T* d_weight,
                              T* d_out, std::size_t num_rows, std::size_t num_columns, float epsilon,
                              cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    if (num_rows == 0 || num_columns == 0) return cudaSuccess;
    return parts::launch(norms_kernel<planted>, num_rows, block_threads, stream, d_in, d_weight, d_out, num_columns,
                         epsilon);
  }
};

}  // namespace rungs::wrong
