// Softmax and its logarithm of rows of fp8 (fp8_rows.cuh), as an operation of the kernels of rows. Rows that a block
// holds as floats are taken at once (held_row_kernel.cuh).
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "rungs/production/low_precision/held_row_kernel.cuh"
#include "rungs/production/low_precision/row_codes.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/parts/log_sum.cuh"

namespace rungs::RUNGS_ABI::rows::parts {

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

}  // namespace rungs::RUNGS_ABI::rows::parts
