// Rows of more than 2 Ki and up to 8 Ki columns that are read or written as codes. A block holds a row as floats:
// eight neighbouring columns a piece, four pieces a thread.
//
// Rows of fewer or more columns have the kernel of all operations on rows (row_kernel.cuh). It holds what it has read,
// so that it converts codes or multiplies by weights twice. An operation has, besides what that kernel asks for:
//   take(group, row)  reads a row, merges what threads know of it by group.all_reduce, and writes it
//
// Whole are rows whose every piece is whole, and can be read and written at once. Others have the same bits.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/production/rows/row_group.cuh"

namespace rungs::RUNGS_ABI::production {

// T is a type of two bytes: the items, or where those are codes any.
template <class T, int row_threads, bool whole>
struct held_row_group : row_group<T, row_threads, 4, whole ? row_reach::block_of_whole_pieces : row_reach::block> {
  using values = float[4][8];
  static_assert(row_piece<T>::items == 8);
};

// What all_reduce takes. Each has shared memory of its own.
struct greatest_of_row {
  template <int num_lanes>
  __device__ float merge(float value) const {
    return greatest_of_lanes<num_lanes>(value);
  }
};
struct sum_of_row {
  template <int num_lanes>
  __device__ float merge(float value) const {
    return sum_of_lanes<num_lanes>(value);
  }
};

// How many threads of a multiprocessor registers are left for. GPUs before sm_90 take more of them for the same code.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr int resident_held_threads = 1024;
#else
inline constexpr int resident_held_threads = 768;
#endif

template <class Op, class Group>
__global__ void __launch_bounds__(Group::block_threads, resident_held_threads / Group::block_threads)
    held_row_kernel(const __grid_constant__ Op op) {
  op.take(Group{op.num_columns, op.aligned}, std::size_t{blockIdx.x});
}

template <class T, int row_threads, class Op>
cudaError_t launch_held_rows(const Op& op, bool are_whole, cudaStream_t stream) {
  return parts::launch(are_whole ? held_row_kernel<Op, held_row_group<T, row_threads, true>>
                                 : held_row_kernel<Op, held_row_group<T, row_threads, false>>,
                       op.num_rows, row_threads, stream, op);
}

inline bool are_held(std::size_t num_columns) { return num_columns > 2048 && num_columns <= 8192; }

template <class T, class Op>
cudaError_t run_held_rows(const Op& op, bool are_whole, cudaStream_t stream) {
  if (op.num_rows == 0) return cudaSuccess;
  if (op.num_columns <= 4096) return launch_held_rows<T, 128>(op, are_whole, stream);
  return launch_held_rows<T, 256>(op, are_whole, stream);
}

}  // namespace rungs::RUNGS_ABI::production
