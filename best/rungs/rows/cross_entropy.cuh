// rungs::rows::cross_entropy: the loss of every row of logits, and with it what the same read tells, in one read.
//
//   rungs::rows::cross_entropy(matrix{d_logits, num_rows, num_columns}, d_targets, d_losses, {}, stream);
//
//   rungs::rows::cross_entropy_results<int> also;   // of the type of targets
//   also.d_arg_max = d_tokens;
//   rungs::rows::cross_entropy(logits, d_targets, d_losses, also, stream);
//
// logits      float, __half or __nv_bfloat16; see rungs/rows/softmax.cuh for what the matrix may be and for errors.
// d_targets   num_rows columns, of any integer type. A row whose target is `ignored` has the loss 0. One whose target
//             is no column has the loss NaN.
// d_losses    num_rows floats: log(Σ exp(x)) - x[target].
//
// A row has the same bits whatever the number of rows, its place, its address or its alignment. The greatest logit of a
// row is the one of the smaller column among equals; NaN is greater than any number, and 0 equals -0. So does PyTorch.
//
// On sm_90 and later, a row of 256 KB or more is read by a cluster of 2 to 8 blocks of 256 threads.
// Such a launch waits until one GPC has 1 to 4 multiprocessors free at once.
#pragma once

#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/rows/parts/log_sum.cuh"

namespace rungs::RUNGS_ABI::rows {

// What else is wanted of each row; null where it is not.
template <class Index>
struct cross_entropy_results {
  float* d_log_sum_exp = nullptr;  // log(Σ exp(x))
  Index* d_arg_max = nullptr;      // the column of the greatest logit
  Index ignored = Index(-100);     // targets that have no loss
};

namespace parts {

struct place {
  float value = -INFINITY;
  unsigned column = 0xffffffff;  // none

  __device__ bool is_before(const place& other) const {
    const bool is_nan = value != value, other_is_nan = other.value != other.value;
    if (is_nan != other_is_nan) return is_nan;
    return value > other.value || (!(value < other.value) && column < other.column);
  }
};

struct log_sum_and_place {
  log_sum all;
  place greatest;
};

template <class T, class Index, bool with_place>
struct cross_entropy_operation : log_sum_operation<T> {
  using sums = log_sum_operation<T>;
  using partial = std::conditional_t<with_place, log_sum_and_place, log_sum>;
  static constexpr bool writes_rows = false;
  using short_rows_of = cross_entropy_operation;
  static constexpr auto first_is = production::row_merge::greatest, second_is = production::row_merge::sum;
  template <class Group>
  using parameters = no_parameters<Group>;

  const Index* d_targets;
  float* d_losses;
  cross_entropy_results<Index> also;

  template <class Group>
  __device__ void fold(const Group& group, unsigned chunk, const typename Group::held& pieces, partial& known) const {
    if constexpr (with_place) {
      sums::fold(group, chunk, pieces, known.all);
#pragma unroll
      for (int p = 0; p < Group::pieces; ++p) {
        typename Group::floats values;
        pieces[p].get(values);
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) {
          const place candidate{values[i], group.column(chunk, p) + i};
          if (candidate.is_before(known.greatest)) known.greatest = candidate;
        }
      }
    } else {
      sums::fold(group, chunk, pieces, known);
    }
  }
  template <int num_lanes>
  __device__ partial merge(const partial& known) const {
    if constexpr (with_place) {
      return {sums::template merge<num_lanes>(known.all), greatest_of_lanes<num_lanes>(known.greatest)};
    } else {
      return sums::template merge<num_lanes>(known);
    }
  }
  // Of a row that a warp holds.
  template <class Group>
  __device__ void finish(const Group& group, std::size_t row, const typename Group::values& pieces, float greatest,
                         float sum, const no_parameters<Group>&) const {
    partial known{};
    if constexpr (with_place) {
#pragma unroll
      for (int p = 0; p < Group::pieces; ++p)
#pragma unroll
        for (int i = 0; i < Group::piece_items; ++i) {
          const place candidate{pieces[p][i], group.column(0, p) + i};
          if (candidate.is_before(known.greatest)) known.greatest = candidate;
        }
      known.greatest = greatest_of_lanes<rungs::parts::warp_threads>(known.greatest);
      known.all = {greatest, sum};
    } else {
      known = {greatest, sum};
    }
    if (group.thread() == 0) conclude(row, known);
  }
  template <int num_lanes>
  __device__ static place greatest_of_lanes(place greatest) {
#pragma unroll
    for (int distance = 1; distance < num_lanes; distance *= 2) {
      const place other{__shfl_xor_sync(rungs::parts::full_mask, greatest.value, distance),
                        __shfl_xor_sync(rungs::parts::full_mask, greatest.column, distance)};
      if (other.is_before(greatest)) greatest = other;
    }
    return greatest;
  }
  __device__ void conclude(std::size_t row, const partial& known) const {
    log_sum all;
    if constexpr (with_place) {
      all = known.all;
      also.d_arg_max[row] = static_cast<Index>(known.greatest.column);
    } else {
      all = known;
    }
    const Index target = d_targets[row];
    const float logarithm = logf(all.sum);
    // The differences first: base and logit may be large and close.
    float loss = NAN;
    if (target == also.ignored) {
      loss = 0;
    } else if (static_cast<unsigned long long>(target) < this->num_columns) {  // negative ones become greater
      loss = all.base() - production::to_float(this->in.row(row)[target]) + logarithm;
    }
    d_losses[row] = loss;
    if (also.d_log_sum_exp != nullptr) also.d_log_sum_exp[row] = all.base() + logarithm;
  }
};

}  // namespace parts

template <class In, class Index>
cudaError_t cross_entropy(const matrix<In>& logits, const Index* d_targets, float* d_losses,
                          const cross_entropy_results<Index>& also = {}, cudaStream_t stream = nullptr) {
  using T = std::remove_const_t<In>;
  static_assert(production::is_item<T>, "items of rows are float, __half or __nv_bfloat16");
  static_assert(std::is_integral_v<Index>, "targets are columns: integers");
  const matrix<const T> in = logits;
  if (!is_valid(in) || (in.num_rows > 0 && (d_targets == nullptr || d_losses == nullptr))) return cudaErrorInvalidValue;
  const auto run = [&](auto with_place) {
    return production::run_rows(
        parts::cross_entropy_operation<T, Index, with_place()>{{in, is_aligned(in)}, d_targets, d_losses, also},
        stream);
  };
  return also.d_arg_max != nullptr ? run(std::true_type{}) : run(std::false_type{});
}

}  // namespace rungs::RUNGS_ABI::rows
