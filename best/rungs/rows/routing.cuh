// rungs::rows::route: the experts of every token of a mixture of experts, and their weights, in one read of the logits.
//
//   using rungs::rows::matrix;
//   rungs::rows::routing how;                    // softmax of all experts
//   how.renormalised = true;
//   rungs::rows::route(matrix{d_logits, num_tokens, num_experts}, matrix{d_weights, num_tokens, k},
//                      matrix{d_experts, num_tokens, k}, how, stream);
//
// logits    float, __half or __nv_bfloat16, a row a token, 1 to 1,024 experts (rungs/rows/matrix.cuh).
// weights   float, experts int: k of each token, the first choice first. Their number of columns is k: 1 to 32, and not
//           more than there are experts.
// returns   cudaErrorInvalidValue for other shapes, a null pointer, or rows of outputs that overlap; else what the
//           launch returned. Nothing is allocated, nobody waits: a call may be captured in a graph.
//
// The k experts are those of the greatest scores or logits, as `how` says, each plus its bias. Of equals the smaller
// expert comes first. NaN is greater than any number, and -0 equals 0, as in <rungs/device/device_top_k.cuh>. Without a
// bias the logits are compared themselves, for both scores increase with them. A bias is added in float.
//
// The weights do not contain the bias. A row that has NaN or +inf, or nothing but -inf, gets NaN by softmax. Where
// weights that are to be renormalised have the sum 0, they become NaN.
//
// Accuracy: the relative error of a weight of at least 2^-126 is at most 2^-16. The bits of a row depend on it alone.
// They do not depend on the number of tokens or on addresses.
//
// A warp takes a token: see rungs/production/top_k/warp_rows.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/top_k/warp_rows.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::rows {

// What a score is of one expert: its softmax, or 1 / (1 + exp(-logit)).
enum class routing_score : unsigned char { softmax, sigmoid };

struct routing {
  routing_score score = routing_score::softmax;
  // Whether experts are chosen by their scores, with a softmax over all experts. Else they are chosen by their logits,
  // with a softmax over the chosen ones.
  bool scored_before = true;
  bool renormalised = false;      // whether the weights of a token are divided by their sum
  const float* d_bias = nullptr;  // of each expert, for the choice alone; null where there is none
};

namespace parts {

// The order of floats, the greatest first.
__device__ inline unsigned order_of_float(float value) {
  return production::key_order<std::uint32_t, true>{0, 0x7f800000}(__float_as_uint(value));
}

template <int items, class T>
__global__ void __launch_bounds__(production::warp_rows::block_threads)
    route_kernel(const matrix<const T> logits, const matrix<float> weights, const matrix<int> experts,
                 const routing how) {
  using production::warp_rows;
  constexpr int lanes = rungs::parts::warp_threads;
  const unsigned lane = threadIdx.x % lanes;
  const std::size_t row = std::size_t{blockIdx.x} * warp_rows::block_rows + threadIdx.x / lanes;
  if (row >= logits.num_rows) return;  // the whole warp
  const unsigned num_experts = static_cast<unsigned>(logits.num_columns),
                 k = static_cast<unsigned>(weights.num_columns);
  const T* const from = logits.row(row);
  const bool is_softmax = how.score == routing_score::softmax;

  float values[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const unsigned expert = i * lanes + lane;
    values[i] = expert < num_experts ? production::to_float(from[expert]) : -INFINITY;
  }
  float greatest = 0, sum = 1;
  const auto score = [&](float logit) { return is_softmax ? expf(logit - greatest) / sum : 1 / (1 + expf(-logit)); };
  if (is_softmax && how.scored_before) {
    greatest = values[0];
#pragma unroll
    for (int i = 1; i < items; ++i) greatest = fmaxf(greatest, values[i]);
    greatest = production::greatest_of_lanes<lanes>(greatest);
    float own = 0;
#pragma unroll
    for (int i = 0; i < items; ++i) own += i * lanes + lane < num_experts ? expf(values[i] - greatest) : 0;
    sum = production::sum_of_lanes<lanes>(own);
  }

  unsigned ordered[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const unsigned expert = i * lanes + lane;
    float preference = values[i];
    if (how.d_bias != nullptr && expert < num_experts)
      preference = (how.scored_before ? score(preference) : preference) + how.d_bias[expert];
    ordered[i] = expert < num_experts ? order_of_float(preference) : 0;
  }
  const unsigned expert = production::greatest_columns(ordered, num_experts, k);

  const bool is_chosen = lane < k;
  const float logit = is_chosen ? production::to_float(from[expert]) : -INFINITY;
  if (is_softmax && !how.scored_before) {
    greatest = production::greatest_of_lanes<lanes>(logit);
    sum = production::sum_of_lanes<lanes>(is_chosen ? expf(logit - greatest) : 0);
  }
  float weight = is_chosen ? score(logit) : 0;
  if (how.renormalised) weight /= production::sum_of_lanes<lanes>(weight);
  if (!is_chosen) return;
  weights.row(row)[lane] = weight;
  experts.row(row)[lane] = static_cast<int>(expert);
}

template <class T>
cudaError_t route(const matrix<const T>& logits, const matrix<float>& weights, const matrix<int>& experts,
                  const routing& how, cudaStream_t stream) {
  using production::warp_rows;
  static_assert(production::is_item<T>, "logits are float, __half or __nv_bfloat16");
  const std::size_t k = weights.num_columns;
  if (!same_shape(weights, experts) || weights.num_rows != logits.num_rows || !is_valid(logits) || !is_valid(weights) ||
      !is_valid(experts) || k < 1 || k > warp_rows::most_k || k > logits.num_columns ||
      logits.num_columns > warp_rows::most_columns)
    return cudaErrorInvalidValue;
  if (logits.num_rows == 0) return cudaSuccess;
  const auto with = [&](auto kernel) {
    return rungs::parts::launch(kernel, rungs::parts::ceil_div(logits.num_rows, warp_rows::block_rows),
                                warp_rows::block_threads, stream, logits, weights, experts, how);
  };
  if (logits.num_columns <= 64) return with(route_kernel<2, T>);
  if (logits.num_columns <= 256) return with(route_kernel<8, T>);
  return with(route_kernel<32, T>);
}

}  // namespace parts

template <class In>
cudaError_t route(const matrix<In>& logits, const matrix<float>& weights, const matrix<int>& experts,
                  const routing& how = {}, cudaStream_t stream = nullptr) {
  return parts::route<std::remove_const_t<In>>(logits, weights, experts, how, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
