// rungs::rows::merge_attention: joins what attention found in parts of a sequence, as split-KV decoding leaves it.
//
//   rungs::rows::merge_attention(d_outputs, d_log_sum_exp, num_parts, num_rows, num_columns, d_out, nullptr, stream);
//
// d_outputs       num_parts matrices of num_rows x num_columns, one behind the other: softmax-weighted means of a part.
//                 A row is one head of one token; a column is one dimension of the head. float, __half, __nv_bfloat16.
// d_log_sum_exp   num_parts x num_rows floats: log(Σ exp(score)) of the part. -inf says that the part was masked:
//                 what its output holds, NaN included, counts for nothing.
// d_out           num_rows x num_columns: Σ exp(lse - merged lse) output. May be the first of d_outputs. Rows that are
//                 masked in every part become 0.
// d_merged        num_rows floats, the merged log-sum-exp; null: not wanted.
// returns         cudaErrorInvalidValue for a null pointer or more than 2^31 - 1 columns; else what the launch
// returned.
//
// Two parts are num_parts = 2. Weights are floats; results are rounded once. The same bits for the same input, in the
// order of the parts. Milakov and Gimelshein's merge of (maximum, sum), as FlashInfer's merge_states does.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/rows/matrix.cuh"

#include <cmath>

namespace rungs::RUNGS_ABI::rows {

namespace parts {

inline constexpr int merge_threads = 256;

// A thread merges one piece of `piece_items` columns.
template <class T, int piece_items>
__global__ void __launch_bounds__(merge_threads)
    merge_attention_kernel(const T* d_outputs, const float* d_log_sum_exp, unsigned num_parts, std::size_t num_rows,
                           unsigned row_pieces, T* d_out, float* d_merged) {
  const std::size_t piece = blockIdx.x * std::size_t{merge_threads} + threadIdx.x;
  const std::size_t row = piece / row_pieces;
  if (row >= num_rows) return;

  float greatest = -INFINITY;
  for (unsigned part = 0; part < num_parts; ++part) greatest = fmaxf(greatest, d_log_sum_exp[part * num_rows + row]);
  const float base = fabsf(greatest) == INFINITY ? 0 : greatest;

  struct alignas(piece_items * sizeof(T)) vector {
    T items[piece_items];
  };
  float sum = 0, merged[piece_items] = {};
#pragma unroll 4
  for (unsigned part = 0; part < num_parts; ++part) {
    const float score = d_log_sum_exp[part * num_rows + row];
    if (score == -INFINITY) continue;
    const float weight = expf(score - base);
    const vector from = reinterpret_cast<const vector*>(d_outputs)[part * (num_rows * row_pieces) + piece];
    sum += weight;
#pragma unroll
    for (int i = 0; i < piece_items; ++i) merged[i] += weight * production::to_float(from.items[i]);
  }
  vector result;
#pragma unroll
  for (int i = 0; i < piece_items; ++i) result.items[i] = production::from_float<T>(sum == 0 ? 0 : merged[i] / sum);
  reinterpret_cast<vector*>(d_out)[piece] = result;
  if (d_merged != nullptr && piece % row_pieces == 0) d_merged[row] = base + logf(sum);
}

}  // namespace parts

template <class T>
cudaError_t merge_attention(const T* d_outputs, const float* d_log_sum_exp, unsigned num_parts, std::size_t num_rows,
                            std::size_t num_columns, T* d_out, float* d_merged = nullptr,
                            cudaStream_t stream = nullptr) {
  static_assert(production::is_item<T>, "items of rows are float, __half or __nv_bfloat16");
  if (num_columns > most_columns) return cudaErrorInvalidValue;
  if (num_rows == 0 || num_columns == 0) return cudaSuccess;
  if (d_out == nullptr || (num_parts > 0 && (d_outputs == nullptr || d_log_sum_exp == nullptr)))
    return cudaErrorInvalidValue;
  const auto run = [&](auto piece_items) {
    const std::size_t row_pieces = num_columns / piece_items();
    return rungs::parts::launch(parts::merge_attention_kernel<T, piece_items()>,
                                rungs::parts::ceil_div(num_rows * row_pieces, parts::merge_threads),
                                parts::merge_threads, stream, d_outputs, d_log_sum_exp, num_parts, num_rows,
                                static_cast<unsigned>(row_pieces), d_out, d_merged);
  };
  constexpr int whole = 16 / sizeof(T);
  if (num_columns % whole == 0 && is_aligned(d_outputs) && is_aligned(d_out))
    return run(std::integral_constant<int, whole>{});
  return run(std::integral_constant<int, 1>{});
}

}  // namespace rungs::RUNGS_ABI::rows
