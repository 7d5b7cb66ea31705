// LayerNorm and RMSNorm of rows of fp8 (fp8_rows.cuh), as an operation of the kernels of rows. Rows of RMSNorm that a
// block holds as floats are taken at once (held_row_kernel.cuh).
#pragma once

#include <cstddef>

#include "rungs/production/low_precision/held_row_kernel.cuh"
#include "rungs/production/low_precision/row_codes.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/norms.cuh"

namespace rungs::RUNGS_ABI::rows::parts {

// Its base, norm_operation, finds means and squares. The base's `in` and `out` have no data, and its options no
// weights.
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

}  // namespace rungs::RUNGS_ABI::rows::parts
