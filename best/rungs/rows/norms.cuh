// rungs::rows::layer_norm and rms_norm: every row of a matrix, scaled to mean 0 and variance 1, or to a mean square of
// 1, in one read and one write.
//
//   rungs::rows::norm_options<float> options;
//   options.d_weight = d_weight;
//   rungs::rows::layer_norm(matrix{d_in, num_rows, num_columns}, matrix{d_out, num_rows, num_columns}, options,
//   stream);
//
// T         float, __half or __nv_bfloat16, of matrices, weight and bias alike. Sums are floats.
// in, out   matrices of the same shape. See rungs/rows/softmax.cuh for what they may be, for errors and for what a
//           launch needs.
//
// A row has the same bits whatever the number of rows, its place, its address or its alignment. A row with NaN or an
// infinity becomes NaN in layer_norm, as in PyTorch.
//
// Accuracy: the variance is the mean of squared differences from the mean, never E[x²] - mean². The mean is that of the
// row where registers hold it as floats (shapes_of). Elsewhere a thread takes the mean of its own items first; means
// and squares of threads are merged as Chan, Golub and LeVeque do (1979).
#pragma once

#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"

#include <cmath>

namespace rungs::RUNGS_ABI::rows {

template <class T>
struct norm_options {
  const T* d_weight = nullptr;  // num_columns factors of the result; null: 1
  const T* d_bias = nullptr;    // num_columns summands of the result; null: 0
  float epsilon = 1e-5f;        // added to the variance or to the mean square
  matrix<T> residual = {};      // where it has data: residual += in, and the rows of residual are scaled instead
  float* d_means = nullptr;     // num_rows means are written here (layer_norm); null: nowhere
  float* d_scales = nullptr;    // num_rows factors 1 / sqrt(variance + epsilon) are written here; null: nowhere
};

namespace parts {

// How many items, their mean, and the sum of squared differences from it.
struct moments {
  float count = 0, mean = 0, squares = 0;

  // Of two neighbours.
  __device__ static moments merge(const moments& a, const moments& b) {
    const float count = a.count + b.count, share = count > 0 ? __fdividef(b.count, count) : 0,
                difference = b.mean - a.mean;
    return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * a.count * share};
  }
  // Of many: their common mean first.
  template <int num_lanes>
  __device__ moments merge() const {
    using production::sum_of_lanes;
    moments all;
    all.count = sum_of_lanes<num_lanes>(count);
    all.mean = sum_of_lanes<num_lanes>(all.count > 0 ? mean * __fdividef(count, all.count) : 0);
    const float difference = mean - all.mean;
    all.squares = sum_of_lanes<num_lanes>(squares + count * difference * difference);
    return all;
  }
};

template <class T, bool centred>
struct norm_operation {
  using item = T;
  using partial = std::conditional_t<centred, moments, float>;
  static constexpr bool writes_rows = true;
  static constexpr bool halves = sizeof(T) == 2;
  // On an H200 rms_norm of 16 Ki floats reached 0.83 of a copy's speed with slices of 64 KB, and 1.04 with 32 KB;
  // layer_norm 1.04 and 0.97.
  static constexpr bool four_slices = !centred && !halves;
  static constexpr unsigned slice_chunks = four_slices ? 2 : 4;

  using short_rows_of = norm_operation;
  static constexpr int long_row_pieces = halves ? 4 : 2;
  static constexpr bool may_pack = true;
  // What was fastest on an H200 for 1 to 65,536 rows. Few rows wait for weights and biases, and read them ahead. Many
  // need threads, or pieces, in flight.
  static constexpr production::row_shapes shapes_of(int row_pieces) {
    using production::row_shape;
    constexpr bool ahead = true, late = false;
    constexpr int folded = 2;
    const row_shape two_pieces{row_pieces / 2, 2, 1024, ahead};
    const row_shape four_pieces{row_pieces / 4, 4, 1024, late, folded};
    switch (row_pieces) {
      case 32:
        return {{32, 1, 1024, ahead}};
      case 64:
        if (centred && halves) return {{32, 2, 1280, ahead}, two_pieces};
        return {two_pieces};
      case 128:
        if (!centred) return {{64, 2, halves ? 1536 : 2048, ahead}};
        if (halves) return {{32, 4, 768, ahead, folded}, two_pieces};
        return {};
      case 256:
        return {{128, 2, centred && !halves ? 2048 : 1536, late}, two_pieces};
      case 512:
        if (centred && halves) return {four_pieces, two_pieces};
        return {{256, 2, 2048, late}, two_pieces};
      case 1024:
        if (centred) return {four_pieces, two_pieces};
        if (halves) return {{256, 4, 1024, ahead}};
        return {{512, 2, 2048, late}, two_pieces};
      case 2048:
        if (!halves) return {{512, 4, 1024, late}};
        if (centred) return {four_pieces, two_pieces};
        return {{512, 4, 1024, ahead}};
      case 4096:
        if (centred && halves) return {};
        return {{512, 8, 1024, late, folded}, {1024, 4, 1024, late}};
      default:
        return {};
    }
  }
  static constexpr auto first_is = centred ? production::row_merge::sum : production::row_merge::none,
                        second_is = production::row_merge::sum;

  matrix<const T> in;
  matrix<T> out;
  norm_options<T> options;
  std::size_t num_rows;
  unsigned num_columns;
  bool aligned;

  bool reads_one_matrix() const { return options.residual.data == nullptr; }
  // Not where many threads of few registers read weights and biases late: one register more, and a block less fits.
  template <class Group>
  static constexpr bool reads_together =
      Group::is_whole && !Group::is_clustered &&
      (Group::reads_parameters_ahead || Group::pieces > 2 || Group::row_threads < 512);

  template <bool again, class Group>
  __device__ void read(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces) const {
    if (options.residual.data == nullptr)
      group.load(in.row(row), chunk, pieces, 0);
    else if constexpr (reads_together<Group>)
      read_sums_together(group, row, pieces);
    else
      read_sums<again>(group, row, chunk, pieces);
    if constexpr (!again && !Group::reads_parameters_ahead && Group::row_threads > 8) {
      if (row == 0) prefetch_parameters(group, chunk);
    }
  }
  template <bool again, class Group>
  __device__ void read_sums(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces) const {
    group.load(options.residual.row(row), chunk, pieces, 0);
    if constexpr (!again) {
#pragma unroll
      for (int p = 0; p < Group::pieces; ++p) {
        const unsigned column = group.column(chunk, p);
        typename Group::floats sums, added;
        pieces[p].get(sums);
        group.load(in.row(row), column, 0).get(added);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) sums[i] += added[i];
        pieces[p].set(sums);
        group.store(options.residual.row(row), column, pieces[p]);
      }
    }
  }

  // The same of whole pieces. No load passes a store that may be to the same place: those of several pieces come first.
  template <class Group>
  __device__ void read_sums_together(const Group& group, std::size_t row, typename Group::held& pieces) const {
    constexpr int at_once = Group::pieces <= 4 ? Group::pieces : 2;
#pragma unroll
    for (int first = 0; first < Group::pieces; first += at_once) {
      const auto column = [&](int p) { return group.column(0, first + p); };
      typename Group::piece added[at_once];
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        pieces[first + p] = group.load(options.residual.row(row), column(p), 0);
        added[p] = group.load(in.row(row), column(p), 0);
      }
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        typename Group::floats sums, summands;
        pieces[first + p].get(sums);
        added[p].get(summands);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) sums[i] += summands[i];
        pieces[first + p].set(sums);
        group.store(options.residual.row(row), column(p), pieces[first + p]);
      }
    }
  }

  template <class Group>
  __device__ void fold(const Group& group, unsigned chunk, const typename Group::held& pieces, partial& known) const {
    if constexpr (centred) {
      const bool whole = group.column(chunk, Group::pieces - 1) + Group::piece_items <= num_columns;
      const moments own = whole ? moments_of<true>(group, chunk, pieces) : moments_of<false>(group, chunk, pieces);
      known = chunk == 0 ? own : moments::merge(known, own);
    } else {
      typename Group::floats values;
      float sum = 0;
#pragma unroll
      for (const auto& piece : pieces) {
        piece.get(values);
#pragma unroll
        for (const float value : values) sum += value * value;
      }
      known += sum;
    }
  }
  // `whole`: all columns of the thread exist, so that none is left out item by item.
  template <bool whole, class Group>
  __device__ moments moments_of(const Group& group, unsigned chunk, const typename Group::held& pieces) const {
    typename Group::floats values[Group::pieces];
    float sum = 0;
    int count = 0;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      pieces[p].get(values[p]);
      count += whole ? Group::piece_items : num_valid(group.column(chunk, p), Group::piece_items);
#pragma unroll
      for (const float value : values[p]) sum += value;
    }
    moments own{static_cast<float>(count), count > 0 ? __fdividef(sum, static_cast<float>(count)) : 0, 0};
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const int valid = whole ? Group::piece_items : num_valid(group.column(chunk, p), Group::piece_items);
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i) {
        const float difference = i < valid ? values[p][i] - own.mean : 0;
        own.squares += difference * difference;
      }
    }
    return own;
  }
  // How many of the columns from `first` on exist.
  __device__ int num_valid(unsigned first, int piece_items) const {
    return first >= num_columns ? 0 : min(static_cast<int>(num_columns - first), piece_items);
  }
  template <int num_lanes>
  __device__ partial merge(const partial& known) const {
    if constexpr (centred) {
      return known.template merge<num_lanes>();
    } else {
      return production::sum_of_lanes<num_lanes>(known);
    }
  }

  // The first row brings weights and biases to the L2 while rows are on their way. Else all rows would wait for DRAM
  // once for each piece that a thread has.
  template <class Group>
  __device__ void prefetch_parameters(const Group& group, unsigned chunk) const {
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned column = group.column(chunk, p);
      if (column >= num_columns) break;
      for (const T* parameters : {options.d_weight, options.d_bias})
        if (parameters != nullptr) asm volatile("prefetch.global.L2 [%0];" ::"l"(parameters + column));
    }
  }
  // A thread's piece of weights and biases. Where there are none, weights are 1, and biases are not read.
  template <class Group>
  __device__ void load_weights(const Group& group, unsigned column, typename Group::piece& weights) const {
    if (options.d_weight != nullptr)
      weights = group.load(options.d_weight, column, 1);
    else
      weights.fill(1);
  }
  template <class Group>
  __device__ void load_biases(const Group& group, unsigned column, typename Group::piece& biases) const {
    if (options.d_bias != nullptr) biases = group.load(options.d_bias, column, 0);
  }
  template <class Piece>
  __device__ void apply(const Piece& weights, const Piece& biases, typename Piece::floats& values) const {
    typename Piece::floats factors, summands;
    weights.get(factors);
    if (options.d_bias != nullptr) {
      biases.get(summands);
#pragma unroll
      for (int i = 0; i < Piece::items; ++i) values[i] = fmaf(values[i], factors[i], summands[i]);
    } else {
#pragma unroll
      for (int i = 0; i < Piece::items; ++i) values[i] *= factors[i];
    }
  }

  template <class Group>
  __device__ void write(const Group& group, std::size_t row, unsigned chunk, const typename Group::held& pieces,
                        const partial& known) const {
    const float mean = mean_of(known), scale = scale_of(known);
    // Of layer norm's halves at odd addresses, registers have no room for all of them.
    constexpr bool all = Group::reads_parameters_ahead && (Group::is_whole || !centred || !halves);
    constexpr int at_once = all ? Group::pieces : (Group::pieces + 1) / 2;
#pragma unroll
    for (int first = 0; first < Group::pieces; first += at_once) {
      typename Group::piece weights[at_once], biases[at_once];
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        load_weights(group, group.column(chunk, first + p), weights[p]);
        load_biases(group, group.column(chunk, first + p), biases[p]);
      }
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        typename Group::piece result;
        typename Group::floats values;
        pieces[first + p].get(values);
#pragma unroll
        for (float& value : values) value = sizeof(T) == 2 ? fmaf(value, scale, -mean * scale) : (value - mean) * scale;
        apply(weights[p], biases[p], values);
        result.set(values);
        group.store(out.row(row), group.column(chunk, first + p), result);
      }
    }
  }
  __device__ void conclude(std::size_t row, const partial& known) const {
    if (options.d_means != nullptr) options.d_means[row] = mean_of(known);
    if (options.d_scales != nullptr) options.d_scales[row] = scale_of(known);
  }

  // A row that registers hold: its mean first, then the squares of what differs from it. Biases of an RMS norm are
  // rare, and are read ahead by single warps only.
  template <class Group>
  struct parameters {
    static constexpr bool ahead = Group::reads_parameters_ahead;
    static constexpr int at_once = ahead ? Group::pieces : Group::pieces == 4 && (Group::is_whole || !halves) ? 2 : 1;
    static constexpr bool reads_biases = !ahead || centred || Group::row_warps == 1;  // for all of them at once
    typename Group::piece weights[at_once], biases[reads_biases ? at_once : 1];

    __device__ parameters(const norm_operation& op, const Group& group) {
      if constexpr (ahead) load(op, group, 0);
    }
    __device__ void load(const norm_operation& op, const Group& group, int first) {
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        op.load_weights(group, group.column(0, first + p), weights[p]);
        if constexpr (reads_biases) op.load_biases(group, group.column(0, first + p), biases[p]);
      }
    }
    __device__ void apply(const norm_operation& op, const Group& group, int first, int p,
                          typename Group::floats& values) {
      if constexpr (!reads_biases) op.load_biases(group, group.column(0, first + p), biases[0]);
      op.apply(weights[p], biases[reads_biases ? p : 0], values);
    }
  };
  template <class Group>
  __device__ float first(const Group&, const typename Group::values& pieces) const {
    float sums[Group::folds] = {};
    if constexpr (centred) {
#pragma unroll
      for (int p = 0; p < Group::pieces; ++p) {
        typename Group::floats values;
        production::get_floats(pieces[p], values);
#pragma unroll
        for (const float value : values) sums[p % Group::folds] += value;
      }
    }
    return production::sum_of_folds(sums);
  }
  // Never fused with what follows, so that all kernels find the same mean.
  __device__ float mean_of_row(float sum) const {
    return __fmul_rn(sum, __fdividef(1, static_cast<float>(num_columns)));
  }
  template <class Group>
  __device__ float second(const Group& group, const typename Group::values& pieces, float sum) const {
    const float mean = centred ? mean_of_row(sum) : 0;
    float squares[Group::folds] = {};
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned column = group.column(0, p);
      if ((centred || Group::row_threads > 64) && column >= num_columns) break;  // else they are 0, too
      const int valid = Group::is_whole || !centred ? Group::piece_items : num_valid(column, Group::piece_items);
      typename Group::floats values;
      production::get_floats(pieces[p], values);
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i) {
        const float difference = i < valid ? values[i] - mean : 0;
        squares[p % Group::folds] = fmaf(difference, difference, squares[p % Group::folds]);
      }
    }
    return production::sum_of_folds(squares);
  }
  __device__ static float scaled(float value, float mean, float scale) {
    if (!centred) return value * scale;
    return halves ? fmaf(value, scale, -mean * scale) : (value - mean) * scale;
  }
  template <class Group>
  __device__ void finish(const Group& group, std::size_t row, const typename Group::values& pieces, float sum,
                         float squares, parameters<Group>& parameters) const {
    const float mean = mean_of_row(sum), scale = rsqrtf(mean_of_row(squares) + options.epsilon);
    constexpr int at_once = norm_operation::parameters<Group>::at_once;
#pragma unroll
    for (int first = 0; first < Group::pieces; first += at_once) {
      if constexpr (!Group::reads_parameters_ahead) parameters.load(*this, group, first);
#pragma unroll
      for (int p = 0; p < at_once; ++p) {
        typename Group::piece result;
        typename Group::floats values;
        production::get_floats(pieces[first + p], values);
#pragma unroll
        for (float& value : values) value = scaled(value, mean, scale);
        parameters.apply(*this, group, first, p, values);
        result.set(values);
        group.store(out.row(row), group.column(0, first + p), result);
      }
    }
    if (group.thread() == 0) {
      if (centred && options.d_means != nullptr) options.d_means[row] = mean;
      if (options.d_scales != nullptr) options.d_scales[row] = scale;
    }
  }

  __device__ float mean_of(const partial& known) const {
    if constexpr (centred) return known.mean;
    return 0;
  }
  __device__ float scale_of(const partial& known) const {
    if constexpr (centred) {
      return 1 / sqrtf(known.squares / num_columns + options.epsilon);
    } else {
      return 1 / sqrtf(known / num_columns + options.epsilon);
    }
  }
};

template <bool centred, class T>
cudaError_t norm(const matrix<const T>& in, const matrix<T>& out, const norm_options<T>& options, cudaStream_t stream) {
  static_assert(production::is_item<T>, "items of rows are float, __half or __nv_bfloat16");
  const matrix<T>& residual = options.residual;
  if (!same_shape(in, out) || !is_valid(in) || !is_valid(out)) return cudaErrorInvalidValue;
  if (residual.data != nullptr && (!same_shape(in, residual) || !is_valid(residual))) return cudaErrorInvalidValue;
  if (in.num_columns == 0) return cudaSuccess;
  const bool aligned = is_aligned(in) && is_aligned(out) && is_aligned(residual) && is_aligned(options.d_weight) &&
                       is_aligned(options.d_bias);
  return production::run_rows(
      norm_operation<T, centred>{in, out, options, in.num_rows, static_cast<unsigned>(in.num_columns), aligned},
      stream);
}

}  // namespace parts

// out = (in - mean) / sqrt(variance + epsilon) * weight + bias, with mean and variance of the row
template <class In, class T>
cudaError_t layer_norm(const matrix<In>& in, const matrix<T>& out, const norm_options<T>& options = {},
                       cudaStream_t stream = nullptr) {
  return parts::norm<true, T>(in, out, options, stream);
}

// out = in / sqrt(mean square + epsilon) * weight + bias, with the mean square of the row
template <class In, class T>
cudaError_t rms_norm(const matrix<In>& in, const matrix<T>& out, const norm_options<T>& options = {},
                     cudaStream_t stream = nullptr) {
  return parts::norm<false, T>(in, out, options, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
