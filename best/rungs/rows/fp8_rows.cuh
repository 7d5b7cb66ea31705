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
// floats. See rungs/rows/softmax.cuh for errors and for what a launch needs. There, count four bytes for each column.
//
// Results are rounded once, to nearest, ties to even. Codes of fp8 saturate: what is beyond the greatest finite code
// becomes it (448 or 57344), infinities too. NaN becomes 0x7f.
//
// A row has the same bits whatever the number of rows, its place, its address or its alignment. NaN and infinities
// among the values have the consequences that rungs/rows/softmax.cuh and norms.cuh say. Accuracy is theirs, too.
// Exponentials are the hardware's where results are no floats, and 0 where they are less than 2^-126.
#pragma once

#include "rungs/production/low_precision/quantise.cuh"
#include "rungs/production/low_precision/row_codes.cuh"
#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/norms.cuh"
#include "rungs/rows/parts/log_sum.cuh"

namespace rungs::RUNGS_ABI::rows {

// What the codes of `in` are multiplied by.
struct code_scale {
  const float* d_scales = nullptr;  // null: 1
  bool of_rows = false;             // d_scales has num_rows floats, one for each row; else one for all
};

namespace parts {

template <class Out, bool logarithm, class F>
struct softmax_of_codes : log_sum_operation<float> {
  static constexpr bool writes_rows = true;
  static constexpr unsigned slice_chunks = 4;
  using precision = std::conditional_t<std::is_same_v<Out, float>, float, flushed>;

  production::scaled_codes<F> codes;
  matrix<Out> out;

  softmax_of_codes(const production::scaled_codes<F>& codes, const matrix<Out>& out, bool aligned)
      : log_sum_operation<float>({nullptr, out.num_rows, out.num_columns}, aligned), codes(codes), out(out) {}

  bool reads_one_matrix() const { return false; }  // what it reads is not what the kernel keeps

  template <bool, class Group>
  __device__ void read(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces) const {
    codes.load(group, row, chunk, pieces, -INFINITY);
  }
  template <class Group>
  __device__ void fold(const Group&, unsigned, const typename Group::held& pieces, log_sum& all) const {
    all.template add_as<precision>(pieces);
  }
  template <class Group>
  __device__ void write(const Group& group, std::size_t row, unsigned chunk, const typename Group::held& pieces,
                        const log_sum& all) const {
    const float base = all.base();
    const float last = all.maximum == INFINITY ? NAN : logarithm ? logf(all.sum) : 1 / all.sum;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      production::four_columns<Out> result;
      typename Group::floats values;
      pieces[p].get(values);
#pragma unroll
      for (float& value : values) value = logarithm ? value - base - last : exponential<precision>(value - base) * last;
      result.set(values);
      result.store(out.row(row), group.column(chunk, p), num_columns, aligned);
    }
  }
  __device__ void conclude(std::size_t, const log_sum&) const {}
};

// Means and squares are those of norm_operation. Its `in` and `out` have no data, its options no weights.
template <class Out, bool centred, class F, class W>
struct norm_of_codes : norm_operation<float, centred> {
  using base = norm_operation<float, centred>;

  production::scaled_codes<F> codes;
  matrix<Out> results;
  const W *d_weight, *d_bias;

  bool reads_one_matrix() const { return false; }

  template <bool, class Group>
  __device__ void read(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces) const {
    codes.load(group, row, chunk, pieces, 0);
  }
  template <class Group>
  __device__ void write(const Group& group, std::size_t row, unsigned chunk, const typename Group::held& pieces,
                        const typename base::partial& known) const {
    const float mean = base::mean_of(known), scale = base::scale_of(known);
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned first = group.column(chunk, p);
      production::four_columns<W> parameters;
      production::four_columns<Out> result;
      typename Group::floats values, factors;
      pieces[p].get(values);
#pragma unroll
      for (float& value : values) value = (value - mean) * scale;
      if (d_weight != nullptr) {
        parameters.load(d_weight, first, base::num_columns, base::aligned);
        parameters.get(factors);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) values[i] *= factors[i];
      }
      if (d_bias != nullptr) {
        parameters.load(d_bias, first, base::num_columns, base::aligned);
        parameters.get(factors);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) values[i] += factors[i];
      }
      result.set(values);
      result.store(results.row(row), first, base::num_columns, base::aligned);
    }
  }
};

// y = (item * weight) / sqrt(mean square + epsilon). As rounding keeps the order of numbers, the greatest |y| is that
// of the greatest |item * weight|, which is known after the first read.
template <class T, class Format>
struct rms_norm_to_codes : norm_operation<T, false> {
  using base = norm_operation<T, false>;
  struct partial {
    float squares;
    unsigned greatest;  // |item * weight|, as bits
  };

  production::written_codes codes;
  typename Format::stored* scales;

  template <class Group>
  __device__ void fold(const Group& group, unsigned chunk, const typename Group::held& pieces, partial& known) const {
    // Weights are on their way before the first item is needed, where registers hold them.
    constexpr int at_once = Group::is_clustered ? 1 : Group::pieces;
    typename Group::piece weights[at_once];
    const auto load_weights = [&](int first) {
      if (base::options.d_weight == nullptr) return;
#pragma unroll
      for (int p = 0; p < at_once; ++p)
        weights[p] = group.load(base::options.d_weight, group.column(chunk, first + p), 1);
    };
    load_weights(0);
    base::fold(group, chunk, pieces, known.squares);
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      if (at_once == 1 && p > 0) load_weights(p);
      typename Group::floats values;
      weighted(pieces[p], weights[p % at_once], values);
#pragma unroll
      for (const float value : values) known.greatest = max(known.greatest, magnitude(value));
    }
  }
  template <int num_lanes>
  __device__ partial merge(const partial& known) const {
    unsigned greatest = known.greatest;
#pragma unroll
    for (int distance = 1; distance < num_lanes; distance *= 2)
      greatest = max(greatest, __shfl_xor_sync(rungs::parts::full_mask, greatest, distance));
    return {base::template merge<num_lanes>(known.squares), greatest};
  }
  template <class Group>
  __device__ void write(const Group& group, std::size_t row, unsigned chunk, const typename Group::held& pieces,
                        const partial& known) const {
    const float scale = base::scale_of(known.squares), factor = scaling_of(known).factor;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned first = group.column(chunk, p);
      if (first >= base::num_columns) continue;
      typename Group::floats values;
      typename Group::piece weights;
      if (base::options.d_weight != nullptr) weights = group.load(base::options.d_weight, first, 1);
      weighted(pieces[p], weights, values);
#pragma unroll
      for (float& value : values) value = __fmul_rn(__fmul_rn(value, scale), factor);
      codes.store<Group::piece_items>(row, first, base::num_columns, Format::template encode<T>(values));
    }
  }
  __device__ void conclude(std::size_t row, const partial& known) const {
    scales[row] = scaling_of(known).scale;
    base::conclude(row, known.squares);
  }

 private:
  __device__ static unsigned magnitude(float value) { return __float_as_uint(value) & 0x7fffffffu; }
  using piece = production::row_piece<T>;
  __device__ void weighted(const piece& items, const piece& weights, typename piece::floats& values) const {
    items.get(values);
    if (base::options.d_weight == nullptr) return;
    typename piece::floats factors;
    weights.get(factors);
#pragma unroll
    for (int i = 0; i < piece::items; ++i) values[i] = __fmul_rn(values[i], factors[i]);
  }
  __device__ auto scaling_of(const partial& known) const {
    const float greatest = __fmul_rn(__uint_as_float(known.greatest), base::scale_of(known.squares));
    return Format{}.of(production::finite_magnitude<float>(magnitude(greatest)));
  }
};

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
  return production::run_rows(
      softmax_of_codes<Out, logarithm, std::remove_const_t<In>>{scaled(in, scale, aligned), out, aligned}, stream);
}

template <bool centred, class In, class Out, class W>
cudaError_t norm_of(const matrix<In>& in, const code_scale& scale, const matrix<Out>& out,
                    const norm_options<W>& options, cudaStream_t stream) {
  static_assert(production::is_item<W>, "weights and biases are float, __half or __nv_bfloat16");
  if (!are_valid(in, out) || options.residual.data != nullptr) return cudaErrorInvalidValue;
  if (in.num_columns == 0) return cudaSuccess;
  const bool aligned = production::begins_at_words(in) && production::begins_at_words(out) &&
                       production::begins_at_words(matrix{options.d_weight, 1, in.num_columns}) &&
                       production::begins_at_words(matrix{options.d_bias, 1, in.num_columns});
  norm_options<float> of_rows;
  of_rows.epsilon = options.epsilon;
  of_rows.d_means = options.d_means;
  of_rows.d_scales = options.d_scales;
  return production::run_rows(
      norm_of_codes<Out, centred, std::remove_const_t<In>, W>{
          {{}, {}, of_rows, in.num_rows, static_cast<unsigned>(in.num_columns), aligned},
          scaled(in, scale, aligned),
          out,
          options.d_weight,
          options.d_bias},
      stream);
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
  return production::run_rows(
      parts::rms_norm_to_codes<T, format>{
          {in, {}, options, in.num_rows, static_cast<unsigned>(in.num_columns), aligned},
          production::codes_at<T, format>(reinterpret_cast<unsigned char*>(codes.data), codes.stride, codes.num_rows),
          reinterpret_cast<typename format::stored*>(d_out_scales)},
      stream);
}

}  // namespace rungs::RUNGS_ABI::rows
