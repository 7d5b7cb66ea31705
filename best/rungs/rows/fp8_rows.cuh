// rungs::rows::softmax, log_softmax, layer_norm and rms_norm of rows of fp8; and rms_norm whose results become fp8 with
// a scale for each row. One read and one write each.
//
//   const matrix fp8{d_fp8, num_rows, num_columns};  // rungs::rows::matrix
//   const matrix bf16{d_bf16, num_rows, num_columns};
//   rungs::rows::softmax(fp8, {}, bf16, stream);
//   rungs::rows::rms_norm(fp8, {d_scales, true}, bf16, options, stream);  // codes have a scale for each row
//   rungs::rows::rms_norm(bf16, fp8, d_scales, options, stream);          // to codes, and a scale for each row
//
// in        __nv_fp8_e4m3 or __nv_fp8_e5m2. A value is code * scale, rounded to float. Sums are floats.
// out       float, __half, __nv_bfloat16, __nv_fp8_e4m3 or __nv_fp8_e5m2, of the same shape. It may be `in` where items
//           have the same size.
// weights   and biases are float, __half or __nv_bfloat16, whatever `in` and `out` are.
// Rows whose every word of four items lies at a multiple of its size are fastest: 4 bytes of fp8, 8 of halves and 16 of
// floats. For softmax and RMSNorm of 2,049 to 8,192 columns, that is every eight items, at multiples of 8 bytes of fp8
// and 16 of others. See rungs/rows/softmax.cuh for errors and for what a launch needs. There, count four bytes for each
// column.
//
// Results are rounded once, to nearest, ties to even. Codes of fp8 saturate: what is beyond the greatest finite code
// becomes it (448 or 57344), infinities too. NaN becomes 0x7f.
//
// A row has the same bits whatever the number of rows, its place, its address or its alignment. NaN and infinities
// among the values have the consequences that rungs/rows/softmax.cuh and norms.cuh say. Accuracy is theirs, too.
// Exponentials are the hardware's where results are no floats, and 0 where they are less than 2^-126.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/production/low_precision/formats.cuh"
#include "rungs/production/low_precision/held_row_kernel.cuh"
#include "rungs/production/low_precision/quantise.cuh"
#include "rungs/production/low_precision/row_codes.cuh"
#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/norms.cuh"
#include "rungs/rows/parts/norm_of_codes.cuh"
#include "rungs/rows/parts/rms_norm_to_codes.cuh"
#include "rungs/rows/parts/softmax_of_codes.cuh"

namespace rungs::RUNGS_ABI::rows {

// What the codes of `in` are multiplied by.
struct code_scale {
  const float* d_scales = nullptr;  // null: 1
  bool of_rows = false;             // d_scales has num_rows floats, one for each row; else one for all
};

namespace parts {

template <class In, class Out>
bool are_valid(const matrix<In>& in, const matrix<Out>& out) {
  static_assert(production::is_fp8<std::remove_const_t<In>>, "codes are __nv_fp8_e4m3 or __nv_fp8_e5m2");
  static_assert(production::is_fp8<Out> || production::is_item<Out>,
                "results are float, __half, __nv_bfloat16, __nv_fp8_e4m3 or __nv_fp8_e5m2");
  return same_shape(in, out) && is_valid(in) && is_valid(out);
}

template <class In>
production::scaled_codes<std::remove_const_t<In>> scaled(const matrix<In>& in, const code_scale& scale, bool aligned) {
  return {in, scale.d_scales, scale.of_rows, aligned};
}

template <bool logarithm, class In, class Out>
cudaError_t softmax_of(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out, cudaStream_t stream) {
  if (!are_valid(in, out)) return cudaErrorInvalidValue;
  if (in.num_columns == 0) return cudaSuccess;
  const bool aligned = production::begins_at_words(in) && production::begins_at_words(out);
  const softmax_of_codes<Out, logarithm, std::remove_const_t<In>> op{scaled(in, scale, aligned), out, aligned};
  if (!production::are_held(in.num_columns)) return production::run_rows(op, stream);
  const bool are_whole =
      in.num_columns % 8 == 0 && production::begins_at_vectors(in) && production::begins_at_vectors(out);
  return production::run_held_rows<__half>(op, are_whole, stream);
}

template <bool centred, class In, class Out, class W>
cudaError_t norm_of(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out,
                    const norm_options<W>& options, cudaStream_t stream) {
  static_assert(production::is_item<W>, "weights and biases are float, __half or __nv_bfloat16");
  if (!are_valid(in, out) || options.residual.data != nullptr) return cudaErrorInvalidValue;
  if (in.num_columns == 0) return cudaSuccess;
  const matrix weights{options.d_weight, 1, in.num_columns}, biases{options.d_bias, 1, in.num_columns};
  const bool aligned = production::begins_at_words(in) && production::begins_at_words(out) &&
                       production::begins_at_words(weights) && production::begins_at_words(biases);
  norm_options<float> of_rows;
  of_rows.epsilon = options.epsilon;
  of_rows.d_means = options.d_means;
  of_rows.d_scales = options.d_scales;
  const norm_of_codes<Out, centred, std::remove_const_t<In>, W> op{
      {{}, {}, of_rows, in.num_rows, static_cast<unsigned>(in.num_columns), aligned},
      scaled(in, scale, aligned),
      out,
      options.d_weight,
      options.d_bias};
  if constexpr (!centred) {
    const bool are_whole = in.num_columns % 8 == 0 && production::begins_at_vectors(in) &&
                           production::begins_at_vectors(out) && production::begins_at_vectors(weights) &&
                           production::begins_at_vectors(biases);
    if (production::are_held(in.num_columns)) return production::run_held_rows<__half>(op, are_whole, stream);
  }
  return production::run_rows(op, stream);
}

}  // namespace parts

// out[row][column] = exp(value) / Σ exp(values of the row)
template <class In, class Out>
cudaError_t softmax(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out,
                    cudaStream_t stream = nullptr) {
  return parts::softmax_of<false>(in, scale, out, stream);
}

// out[row][column] = value - log(Σ exp(values of the row))
template <class In, class Out>
cudaError_t log_softmax(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out,
                        cudaStream_t stream = nullptr) {
  return parts::softmax_of<true>(in, scale, out, stream);
}

// out = (value - mean) / sqrt(variance + epsilon) * weight + bias. options.residual is refused.
template <class In, class Out, class W = float>
cudaError_t layer_norm(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out,
                       const norm_options<W>& options = {}, cudaStream_t stream = nullptr) {
  return parts::norm_of<true>(in, scale, out, options, stream);
}

// out = value / sqrt(mean square + epsilon) * weight + bias. options.residual is refused.
template <class In, class Out, class W = float>
cudaError_t rms_norm(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out,
                     const norm_options<W>& options = {}, cudaStream_t stream = nullptr) {
  return parts::norm_of<false>(in, scale, out, options, stream);
}

// RMSNorm, and its results quantised with a scale for each row (per token), as quantise_fp8_rows does it: `in`, weights
// and residual are of one type, float, __half or __nv_bfloat16; d_out_scales are float or __nv_fp8_e8m0.
//
//   y = fl(fl(in * weight) * s), s = 1 / sqrt(mean square + epsilon)
//   scale = max(fl(greatest |y| / 448), 2^-126), or that up to a power of two; code = RNE(fl(y * (1 / scale)))
//
// y is not rounded to the type of `in` before. A row with NaN or an infinity has the scale NaN and codes 0x7f.
// options.d_bias is refused.
template <class In, class Scale>
cudaError_t rms_norm(const matrix<In>& in, const matrix<__nv_fp8_e4m3>& codes, Scale* d_out_scales,
                     const norm_options<std::remove_const_t<In>>& options = {}, cudaStream_t stream = nullptr) {
  using T = std::remove_const_t<In>;
  using format = std::conditional_t<std::is_same_v<Scale, float>, production::fp8_by_floats, production::fp8_by_powers>;
  static_assert(production::is_item<T>, "items of rows are float, __half or __nv_bfloat16");
  static_assert(std::is_same_v<Scale, float> || std::is_same_v<Scale, __nv_fp8_e8m0>, "scales are float or e8m0");
  const matrix<T>& residual = options.residual;
  if (!same_shape(in, codes) || !is_valid(in) || !is_valid(codes) || options.d_bias != nullptr)
    return cudaErrorInvalidValue;
  if (residual.data != nullptr && (!same_shape(in, residual) || !is_valid(residual))) return cudaErrorInvalidValue;
  if (in.num_columns == 0) return cudaSuccess;
  if (in.num_rows > 0 && d_out_scales == nullptr) return cudaErrorInvalidValue;
  const bool aligned = is_aligned(in) && is_aligned(residual) && is_aligned(options.d_weight);
  const parts::rms_norm_to_codes<T, format> op{
      {in, {}, options, in.num_rows, static_cast<unsigned>(in.num_columns), aligned},
      production::codes_at<T, format>(reinterpret_cast<unsigned char*>(codes.data), codes.stride, codes.num_rows),
      reinterpret_cast<typename format::stored*>(d_out_scales)};
  if constexpr (sizeof(T) == 2) {
    const bool are_whole = in.num_columns % 8 == 0 && aligned && op.codes.aligned;
    if (production::are_held(in.num_columns)) return production::run_held_rows<T>(op, are_whole, stream);
  }
  return production::run_rows(op, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
