// rungs::rows::softmax and log_softmax: of every row of a matrix, in one read and one write.
//
//   rungs::rows::softmax(d_in, d_out, num_rows, num_columns, stream);
//   rungs::rows::log_softmax(matrix{d_in, num_rows, num_columns, stride_in},      // rungs::rows::matrix
//                            matrix{d_out, num_rows, num_columns, stride_out}, stream);
//
// T         float, __half or __nv_bfloat16. Sums are floats.
// in, out   matrices of the same shape, row after row (rungs/rows/matrix.cuh). d_out may be d_in. Rows at multiples of
//           16 bytes are fastest. Up to 2^31 - 1 columns, and any number of rows that a grid holds.
// returns   cudaErrorInvalidValue where shapes differ, a pointer is null or rows of `out` overlap; else what the launch
//           returned. Nothing is allocated, nobody waits: a call may be captured in a graph.
//
// A row has the same bits whatever the number of rows, its place among them, its address or its alignment. Columns of
// -inf get 0 (softmax) or -inf. A row with NaN or +inf, or of -inf alone, becomes NaN, as in PyTorch.
//
// Accuracy: for float the relative error of softmax is at most 2 (h + 4) 2^-24 plus that of expf, h being the depth of
// the sum: items of a thread, and a level for each doubling of threads. Results in halves are rounded once.
//
// On sm_90 and later, a row of more than 32 KB is held in the shared memory of a block of 256 threads, or of a cluster
// of up to 8. A block holds 64 KB of rows up to 512 KB. Of rows up to 1.75 MB it holds up to 224 KB, where it may have
// so much. Longer rows are read twice. Such a launch waits until one GPC has room for the cluster: a multiprocessor has
// it for three blocks of 64 KB.
#pragma once

#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/parts/log_sum.cuh"

namespace rungs::RUNGS_ABI::rows {

namespace parts {

template <class T, bool logarithm>
struct softmax_operation : log_sum_operation<T> {
  static constexpr bool writes_rows = true;
  static constexpr unsigned slice_chunks = 4;
  using short_rows_of = softmax_operation;
  static constexpr auto first_is = production::row_merge::greatest, second_is = production::row_merge::sum;
  template <class Group>
  using parameters = no_parameters<Group>;

  matrix<T> out;

  template <class Group>
  __device__ void write(const Group& group, std::size_t row, unsigned chunk, const typename Group::held& pieces,
                        const log_sum& all) const {
    const float base = all.base();
    const float last = all.maximum == INFINITY ? NAN : logarithm ? logf(all.sum) : 1 / scale_of_powers<T> / all.sum;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      typename Group::piece result;
      typename Group::floats values;
      pieces[p].get(values);
#pragma unroll
      for (float& value : values) value = logarithm ? value - base - last : scaled_exponential<T>(value - base) * last;
      result.set(values);
      group.store(out.row(row), group.column(chunk, p), result);
    }
  }
  __device__ void conclude(std::size_t, const log_sum&) const {}

  template <class Group>
  __device__ float second(const Group&, typename Group::values& pieces, float greatest) const {
    const float base = log_sum::base_of(greatest);
    float sum = 0;
#pragma unroll
    for (auto& values : pieces)
#pragma unroll
      for (float& value : values) {
        value -= base;
        if constexpr (logarithm) {
          sum += exponential<summed<T>>(value);
        } else {
          value = scaled_exponential<T>(value);
          sum += value;
        }
      }
    return sum;
  }
  template <class Group>
  __device__ void finish(const Group& group, std::size_t row, const typename Group::values& pieces, float greatest,
                         float sum, const no_parameters<Group>&) const {
    const float last = greatest == INFINITY ? NAN : logarithm ? logf(sum) : 1 / sum;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      typename Group::piece result;
      typename Group::floats values;
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i) values[i] = logarithm ? pieces[p][i] - last : pieces[p][i] * last;
      result.set(values);
      group.store(out.row(row), group.column(0, p), result);
    }
  }
};

template <bool logarithm, class T>
cudaError_t softmax(const matrix<const T>& in, const matrix<T>& out, cudaStream_t stream) {
  static_assert(production::is_item<T>, "items of rows are float, __half or __nv_bfloat16");
  if (!same_shape(in, out) || !is_valid(in) || !is_valid(out)) return cudaErrorInvalidValue;
  if (in.num_columns == 0) return cudaSuccess;
  return production::run_rows(softmax_operation<T, logarithm>{{in, is_aligned(in) && is_aligned(out)}, out}, stream);
}

}  // namespace parts

// out[row][column] = exp(in[row][column]) / Σ exp(in[row][…])
template <class In, class T>
cudaError_t softmax(const matrix<In>& in, const matrix<T>& out, cudaStream_t stream = nullptr) {
  return parts::softmax<false, T>(in, out, stream);
}
template <class T>
cudaError_t softmax(const T* d_in, T* d_out, std::size_t num_rows, std::size_t num_columns,
                    cudaStream_t stream = nullptr) {
  return softmax(matrix{d_in, num_rows, num_columns}, matrix{d_out, num_rows, num_columns}, stream);
}

// out[row][column] = in[row][column] - log(Σ exp(in[row][…]))
template <class In, class T>
cudaError_t log_softmax(const matrix<In>& in, const matrix<T>& out, cudaStream_t stream = nullptr) {
  return parts::softmax<true, T>(in, out, stream);
}
template <class T>
cudaError_t log_softmax(const T* d_in, T* d_out, std::size_t num_rows, std::size_t num_columns,
                        cudaStream_t stream = nullptr) {
  return log_softmax(matrix{d_in, num_rows, num_columns}, matrix{d_out, num_rows, num_columns}, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
