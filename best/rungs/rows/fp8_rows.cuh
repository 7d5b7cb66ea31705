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

#include "rungs/production/low_precision/held_row_kernel.cuh"
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
    const float base = all.base(), last = last_of(all);
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

  // The maximum is known before the first exponential, so that there is one for each item.
  template <class Group>
  __device__ void take(const Group& group, std::size_t row) const {
    typename Group::values values;
    codes.load_held(group, row, values, -INFINITY);
    float greatest = -INFINITY, sum = 0;
#pragma unroll
    for (const auto& of_piece : values)
#pragma unroll
      for (const float value : of_piece) greatest = fmaxf(greatest, value);
    log_sum all;
    all.maximum = group.all_reduce(production::greatest_of_row{}, greatest);

    const float base = all.base();
#pragma unroll
    for (auto& of_piece : values)
#pragma unroll
      for (float& value : of_piece) {
        value -= base;
        const float power = exponential<precision>(value);
        if constexpr (!logarithm) value = power;
        sum += power;
      }
    all.sum = group.all_reduce(production::sum_of_row{}, sum);

    const float last = last_of(all);
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
#pragma unroll
      for (float& value : values[p]) value = logarithm ? value - last : value * last;
      production::eight_columns<Out> result;
      result.set(values[p]);
      result.template store<Group::is_whole>(out.row(row), group.column(0, p), num_columns, aligned);
    }
  }

 private:
  // What is taken from an exponent, or multiplies an exponential.
  __device__ static float last_of(const log_sum& all) {
    return all.maximum == INFINITY ? NAN : logarithm ? logf(all.sum) : 1 / all.sum;
  }
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

  // RMSNorm. Weights are on their way before the row is merged, where registers hold them.
  template <class Group>
  __device__ void take(const Group& group, std::size_t row) const {
    static_assert(!centred);
    constexpr bool whole = Group::is_whole, reads_ahead = whole && sizeof(W) == 2;
    typename Group::values values;
    production::eight_columns<W> weights[Group::pieces];
    const auto load_weights = [&](int p) {
      if (d_weight != nullptr)
        weights[p].template load<whole>(d_weight, group.column(0, p), base::num_columns, base::aligned);
      else
        weights[p].set({1, 1, 1, 1, 1, 1, 1, 1});
    };
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p)
      if (reads_ahead) load_weights(p);
    codes.load_held(group, row, values, 0);
    float sums[2] = {};  // of the first and of the last four columns of pieces
#pragma unroll
    for (const auto& of_piece : values)
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i) sums[i / 4] = fmaf(of_piece[i], of_piece[i], sums[i / 4]);
    const float known = group.all_reduce(production::sum_of_row{}, sums[0] + sums[1]), scale = base::scale_of(known);

#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned first = group.column(0, p);
      typename production::eight_columns<W>::floats parameters;
      if (!reads_ahead) load_weights(p);
      weights[p].get(parameters);
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i)
        values[p][i] = __fmul_rn(__fmul_rn(values[p][i], scale), parameters[i]);
      if (d_bias != nullptr) {
        production::eight_columns<W> biases;
        biases.template load<whole>(d_bias, first, base::num_columns, base::aligned);
        biases.get(parameters);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) values[p][i] = __fadd_rn(values[p][i], parameters[i]);
      }
      production::eight_columns<Out> result;
      result.set(values[p]);
      result.template store<whole>(results.row(row), first, base::num_columns, base::aligned);
    }
    if (group.thread() == 0) base::conclude(row, known);
  }
};

// y = (item * weight) / sqrt(mean square + epsilon). As rounding keeps the order of numbers, the greatest |y| is that
// of the greatest |item * weight|, which is known after the first read.
template <class T, class Format>
struct rms_norm_to_codes : norm_operation<T, false> {
  using base = norm_operation<T, false>;
  struct partial {
    float squares, greatest;  // of |item * weight|
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
      for (const float value : values) known.greatest = production::greater_magnitude(known.greatest, value);
    }
  }
  template <int num_lanes>
  __device__ partial merge(const partial& known) const {
    float greatest = known.greatest;
#pragma unroll
    for (int distance = 1; distance < num_lanes; distance *= 2)
      greatest = production::greater_magnitude(greatest, __shfl_xor_sync(rungs::parts::full_mask, greatest, distance));
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

  // Products with weights are held, so that weights are read and multiplied by once.
  template <class Group>
  __device__ void take(const Group& group, std::size_t row) const {
    typename Group::held pieces, weights;
    const auto load = [&](const T* from, typename Group::held& to) {
#pragma unroll
      for (int p = 0; p < Group::pieces; ++p) {
        const unsigned first = group.column(0, p);
        to[p].bits = {};
        if constexpr (!Group::is_whole)
          to[p] = group.load(from, first, 0);
        else if (first < base::num_columns)
          to[p].bits = *reinterpret_cast<const int4*>(from + first);
      }
    };
    if (base::options.residual.data == nullptr)
      load(base::in.row(row), pieces);
    else
      base::template read_sums<false>(group, row, 0, pieces);
    const bool is_weighted = base::options.d_weight != nullptr;
    if (is_weighted) load(base::options.d_weight, weights);

    typename Group::values values;
    partial known{};
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      pieces[p].get_once(values[p]);
#pragma unroll
      for (const float value : values[p]) known.squares = fmaf(value, value, known.squares);
      if (is_weighted) {
        typename Group::floats factors;
        weights[p].get(factors);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) values[p][i] = __fmul_rn(values[p][i], factors[i]);
      }
#pragma unroll
      for (const float value : values[p]) known.greatest = production::greater_magnitude(known.greatest, value);
    }
    known = group.all_reduce(*this, known);

    const float scale = base::scale_of(known.squares), factor = scaling_of(known).factor;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned first = group.column(0, p);
      if (first >= base::num_columns) break;
#pragma unroll
      for (float& value : values[p]) value = __fmul_rn(__fmul_rn(value, scale), factor);
      const uint2 of_piece = Format::template encode<T>(values[p]);
      if constexpr (Group::is_whole)
        codes.template store<Group::piece_items>(codes.data + row * codes.stride + first, of_piece, true);
      else
        codes.template store<Group::piece_items>(row, first, base::num_columns, of_piece);
    }
    if (group.thread() == 0) conclude(row, known);
  }

 private:
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
    const float greatest = fabsf(__fmul_rn(known.greatest, base::scale_of(known.squares)));
    return Format{}.of(production::finite_magnitude<float>(__float_as_uint(greatest)));
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
