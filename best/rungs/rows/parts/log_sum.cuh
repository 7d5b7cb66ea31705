// The sum of exponentials of a row beside its maximum, so that no exponential overflows: what softmax, log-sum-exp and
// cross-entropy are made of. Milakov and Gimelshein, Online normalizer calculation for softmax (2018).
#pragma once

#include <cmath>

#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/rows/short_row_kernel.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::rows::parts {

// exp(x), to two units of the last place of what items hold. Halves take the hardware's exponential.
template <class T>
__device__ float exponential(float x) {
  if constexpr (sizeof(T) == 4) return expf(x);
  return __expf(x);
}
// The hardware's, with 0 for what is less than 2^-126: three instructions, where __expf takes up to six.
struct flushed;
__device__ inline float power_of_two(float exponent) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}
template <>
__device__ inline float exponential<flushed>(float x) {
  return power_of_two(x * 1.442695041f);
}
// What sums of exponentials take: beside the exponential of 0 among them, one that is flushed is nothing.
template <class T>
using summed = std::conditional_t<sizeof(T) == 4, T, flushed>;

// 2^24 exp(x) for halves: none that is more than half of the least subnormal is flushed. exp(x) for floats.
template <class T>
inline constexpr float scale_of_powers = sizeof(T) == 4 ? 1 : 0x1p24f;
template <class T>
__device__ float scaled_exponential(float x) {
  if constexpr (sizeof(T) == 4) return expf(x);
  return power_of_two(fmaf(x, 1.442695041f, 24));
}

// The greatest of a piece's items and another number. NaN is passed over.
template <class T>
__device__ float greatest_of(const production::row_piece<T>& piece, float greatest) {
  if constexpr (sizeof(T) == 4) {
    typename production::row_piece<T>::floats values;
    piece.get(values);
#pragma unroll
    for (const float value : values) greatest = fmaxf(greatest, value);
    return greatest;
  } else {
    using pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
    pair pairs[4];
    memcpy(pairs, &piece.bits, sizeof(pairs));
    const pair all = __hmax2(__hmax2(pairs[0], pairs[1]), __hmax2(pairs[2], pairs[3]));
    return fmaxf(greatest, fmaxf(production::to_float(all.x), production::to_float(all.y)));
  }
}

// sum = Σ exp(x - base(maximum)) over the items seen. NaN among them makes the sum NaN, and leaves the maximum.
struct log_sum {
  float maximum = -INFINITY, sum = 0;

  // What exponents are taken from: the maximum, or 0 where it is infinite.
  __device__ static float base_of(float maximum) { return fabsf(maximum) == INFINITY ? 0 : maximum; }
  __device__ float base() const { return base_of(maximum); }

  template <class T, int n>
  __device__ void add(const production::row_piece<T> (&pieces)[n]) {
    add_as<summed<T>>(pieces);
  }
  // With exponentials of another precision.
  template <class Precision, class T, int n>
  __device__ void add_as(const production::row_piece<T> (&pieces)[n]) {
    typename production::row_piece<T>::floats values;
    float greatest = maximum;
#pragma unroll
    for (const auto& piece : pieces) greatest = greatest_of(piece, greatest);
    const float base = base_of(greatest);
    sum *= exponential<Precision>(maximum - base);
#pragma unroll
    for (const auto& piece : pieces) {
      piece.get(values);
#pragma unroll
      for (const float value : values) sum += exponential<Precision>(value - base);
    }
    maximum = greatest;
  }

  template <int num_lanes, class T>
  __device__ log_sum merge() const {
    log_sum all;
    all.maximum = production::greatest_of_lanes<num_lanes>(maximum);
    all.sum = production::sum_of_lanes<num_lanes>(sum * exponential<T>(maximum - all.base()));
    return all;
  }
};

// Operations without weights.
template <class Group>
struct no_parameters {
  template <class Op>
  __device__ no_parameters(const Op&, const Group&) {}
};

// What operations on it have in common: the rows that they read, and that they know their log_sum.
template <class T>
struct log_sum_operation {
  using item = T;
  using partial = log_sum;
  static constexpr int long_row_pieces = 4;
  static constexpr bool may_pack = false;
  static constexpr production::row_shapes shapes_of(int row_pieces) {
    constexpr int warp_threads = rungs::parts::warp_threads;
    const int pieces = row_pieces / warp_threads;
    if (pieces > 4) return {};
    return {{warp_threads, pieces, pieces * production::row_piece<T>::items <= 16 ? 1024 : 768}};
  }

  matrix<const T> in;
  std::size_t num_rows;
  unsigned num_columns;
  bool aligned;

  log_sum_operation(const matrix<const T>& in, bool aligned)
      : in(in), num_rows(in.num_rows), num_columns(static_cast<unsigned>(in.num_columns)), aligned(aligned) {}

  bool reads_one_matrix() const { return true; }

  template <bool, class Group>
  __device__ void read(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces) const {
    group.load(in.row(row), chunk, pieces, -INFINITY);
  }
  template <class Group>
  __device__ void fold(const Group&, unsigned, const typename Group::held& pieces, log_sum& all) const {
    all.add(pieces);
  }

  // The same of a row that a warp holds.
  template <class Group>
  __device__ float first(const Group&, const typename Group::values& pieces) const {
    float greatest = -INFINITY;
#pragma unroll
    for (const auto& values : pieces)
#pragma unroll
      for (const float value : values) greatest = fmaxf(greatest, value);
    return greatest;
  }
  template <class Group>
  __device__ float second(const Group&, const typename Group::values& pieces, float greatest) const {
    const float base = log_sum::base_of(greatest);
    float sum = 0;
#pragma unroll
    for (const auto& values : pieces)
#pragma unroll
      for (const float value : values) sum += exponential<summed<T>>(value - base);
    return sum;
  }
  template <int num_lanes>
  __device__ log_sum merge(const log_sum& all) const {
    return all.template merge<num_lanes, T>();
  }
};

}  // namespace rungs::RUNGS_ABI::rows::parts
