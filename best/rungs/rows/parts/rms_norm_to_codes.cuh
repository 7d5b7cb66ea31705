// RMSNorm whose results become fp8 with a scale for each row (fp8_rows.cuh), as an operation of the kernels of rows.
// Rows that a block holds as floats are taken at once (held_row_kernel.cuh).
#pragma once

#include <cstddef>

#include "rungs/parts/warp.cuh"
#include "rungs/production/low_precision/formats.cuh"
#include "rungs/production/low_precision/quantise.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/rows/norms.cuh"

namespace rungs::RUNGS_ABI::rows::parts {

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

}  // namespace rungs::RUNGS_ABI::rows::parts
