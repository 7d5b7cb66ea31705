// Reductions of the rows of a matrix in which one bug can be planted: a block a row, or eight lanes a row.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "wrong/bug.cuh"

namespace rungs::wrong {

template <bug planted, class Input, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_row(const Input* d_in, T* d_out, std::size_t num_columns, Op op, T init) {
  // The text "From many to one" has a barrier in the loop of its first kernel. In its last one the tree stops at 64
  // slots, of which the warp takes 32.
  constexpr bool ragged = planted == bug::barrier_in_a_ragged_loop;
  constexpr int last_stride = planted == bug::half_of_the_row_left_out ? 64 : 32;
  __shared__ T slots[block_threads];
  const Input* const row = d_in + blockIdx.x * num_columns;
  slots[threadIdx.x] = Op::template identity<T>();
  __syncthreads();
  for (std::size_t i = ragged ? block_threads - 1 - threadIdx.x : threadIdx.x; i < num_columns; i += block_threads) {
    if constexpr (ragged) dawdle();
    slots[threadIdx.x] = op(slots[threadIdx.x], T(row[i]));
    if constexpr (ragged) __syncthreads();
  }
  if constexpr (!ragged) __syncthreads();
  for (int stride = block_threads / 2; stride >= last_stride; stride /= 2) {
    if (threadIdx.x < stride) slots[threadIdx.x] = op(slots[threadIdx.x], slots[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  T value = slots[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, parts::shuffle_down(value, offset));
  if (threadIdx.x == 0) d_out[blockIdx.x] = op(init, value);
}

template <bug planted, class Input, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_row_by_lanes(const Input* d_in, T* d_out, std::size_t num_rows, std::size_t num_columns, Op op, T init) {
  constexpr int lanes = 8;
  const std::size_t row = (std::size_t(blockIdx.x) * block_threads + threadIdx.x) / lanes;
  const bool present = planted == bug::absent_row_not_guarded || row < num_rows;
  T value = Op::template identity<T>();
  for (std::size_t i = threadIdx.x % lanes; present && i < num_columns; i += lanes)
    value = op(value, T(d_in[row * num_columns + i]));
  for (int offset = lanes / 2; offset > 0; offset /= 2) value = op(value, parts::shuffle_down(value, offset));
  if (threadIdx.x % lanes == 0 && present) d_out[row] = op(init, value);
}

template <bug planted, bool by_lanes = false>
struct rows_with : variant {
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_columns) { return num_columns; }

  template <class Input, class T, class Op>
  static cudaError_t reduce_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out,
                                 std::size_t num_rows, std::size_t num_columns, Op op, T init,
                                 cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_rows == 0) return error;
    if constexpr (by_lanes)
      return parts::launch(reduce_row_by_lanes<planted, Input, T, Op>, parts::ceil_div(num_rows, block_threads / 8),
                           block_threads, stream, d_in, d_out, num_rows, num_columns, op, init);
    else
      return parts::launch(reduce_row<planted, Input, T, Op>, num_rows, block_threads, stream, d_in, d_out, num_columns,
                           op, init);
  }
};

}  // namespace rungs::wrong
