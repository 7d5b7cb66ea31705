// The call of a rung that reduces the rows of a matrix, made of a launch.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

// A rung derives from row_calls<rung> and writes one function,
//
//   template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
//   static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows,
//                              std::size_t num_columns, ReductionOpT reduction_op, T init, cudaStream_t stream);
//
// which is called with 1 to Rung::most_rows rows: by default so many that a grid may have a block for each. It needs no
// storage.
template <class Rung>
struct row_calls {
  static constexpr std::size_t most_rows = 0x7fffffff;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  // d_out[row] = init + d_in[row * num_columns] + … + d_in[row * num_columns + num_columns - 1], in any order.
  // Accumulates in the type of init.
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                 OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                                 ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    static_assert(has_identity<ReductionOpT, T>, "this rung pads with the operator's identity");
    char* unused;
    cudaError_t error;
    if (answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    for (std::size_t first = 0; error == cudaSuccess && first < num_rows; first += Rung::most_rows)
      error = Rung::enqueue(d_in + first * num_columns, d_out + first, at_most(num_rows - first, Rung::most_rows),
                            num_columns, reduction_op, init, stream);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
