// rungs::rows::log_sum_exp: log(Σ exp(x)) of every row of a matrix, in one read.
//
//   rungs::rows::log_sum_exp(d_in, d_out, num_rows, num_columns, stream);
//   rungs::rows::log_sum_exp(matrix{d_in, num_rows, num_columns, stride}, d_out, stream);  // rungs::rows::matrix
//
// T         float, __half or __nv_bfloat16.
// in        the matrix, see rungs/rows/softmax.cuh for what it may be and for errors.
// d_out     num_rows floats: sums are floats and are not rounded to T.
//
// A row has the same bits whatever the number of rows, its place, its address or its alignment. A row of no columns, or
// of -inf alone, has -inf; one with +inf, +inf; one with NaN, NaN. So does PyTorch.
//
// On sm_90 and later, a row of 256 KB or more is read by a cluster of 2 to 8 blocks of 256 threads.
// Such a launch waits until one GPC has 1 to 4 multiprocessors free at once.
#pragma once

#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/parts/log_sum.cuh"

namespace rungs::RUNGS_ABI::rows {

namespace parts {

template <class T>
struct log_sum_exp_operation : log_sum_operation<T> {
  static constexpr bool writes_rows = false;
  using short_rows_of = log_sum_exp_operation;
  static constexpr auto first_is = production::row_merge::greatest, second_is = production::row_merge::sum;
  template <class Group>
  using parameters = no_parameters<Group>;

  float* d_out;

  __device__ void conclude(std::size_t row, const log_sum& all) const { d_out[row] = all.base() + logf(all.sum); }
  template <class Group>
  __device__ void finish(const Group& group, std::size_t row, const typename Group::values&, float greatest, float sum,
                         const no_parameters<Group>&) const {
    if (group.thread() == 0) conclude(row, {greatest, sum});
  }
};

}  // namespace parts

// d_out[row] = log(Σ exp(in[row][…]))
template <class In>
cudaError_t log_sum_exp(const matrix<In>& in, float* d_out, cudaStream_t stream = nullptr) {
  using T = std::remove_const_t<In>;
  static_assert(production::is_item<T>, "items of rows are float, __half or __nv_bfloat16");
  if (!is_valid(matrix<const T>(in)) || (in.num_rows > 0 && d_out == nullptr)) return cudaErrorInvalidValue;
  return production::run_rows(parts::log_sum_exp_operation<T>{{in, is_aligned(in)}, d_out}, stream);
}
template <class T>
cudaError_t log_sum_exp(const T* d_in, float* d_out, std::size_t num_rows, std::size_t num_columns,
                        cudaStream_t stream = nullptr) {
  return log_sum_exp(matrix{d_in, num_rows, num_columns}, d_out, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
