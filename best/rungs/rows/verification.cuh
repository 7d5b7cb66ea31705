// rungs::rows::verify: speculative decoding's check of drafted tokens, and the token that follows, in one launch.
// rungs::rows::greatest_ratios: the maximum of p_target / p_draft at each position.
//
//   using rungs::rows::matrix;
//   rungs::rows::verification how;
//   how.seed = seed;
//   how.offset = step;
//   rungs::rows::verify(matrix{d_target, num_requests * (num_drafts + 1), num_tokens},
//                       matrix{d_draft, num_requests * num_drafts, num_tokens},
//                       matrix{d_drafted, num_requests, num_drafts}, matrix{d_tokens, num_requests, num_drafts + 1},
//                       d_num_accepted, how, stream);
//   rungs::rows::greatest_ratios(target, draft, matrix{d_ratios, num_requests, num_drafts}, stream);
//
// target    probabilities of the target model: float, __half or __nv_bfloat16, 1 to 2^22 columns. The rows of a request
//           are neighbours: one for each draft, and one for the token behind the last.
// draft     probabilities that the drafts were drawn from, one row for each draft.
// drafted   int: the drafts of each request, 1 to 8.
// tokens    int: the drafts that stay, the token that follows, and -1 behind it.
// d_num_accepted  an int for each request: how many drafts stay.
// ratios    float, a row a request, a column a draft.
// returns   cudaErrorInvalidValue for other shapes, a null pointer, or rows of outputs that overlap; else what the
//           launch returned. Nothing is allocated, nobody waits: calls may be captured in a graph.
//
// Draft x of a position stays while u p_draft(x) < p_target(x), the product being exact. At the first refusal the next
// token is drawn from max(0, p_target - p_draft), divided by its sum. Where all stay, it is drawn from the last row of
// the target. So tokens are distributed as those of the target alone: Leviathan, Kalman and Matias (2023), Chen et al.
// (2023). A draft that is no column is refused. So is one whose comparison has NaN.
//
// For the draw, probabilities are rounded to multiples of 2^-40. NaN and what is negative are 0; what exceeds 1 is 1.
// The token is the first at which the sum by rising index exceeds floor(u S), where S is the sum of all. Sums are of
// integers, so the result does not depend on the number of requests, on addresses, or on the GPU. Where S is 0 after a
// refusal, the token is drawn from p_target. Where that has the sum 0, it is -1.
//
// u is d_uniforms[request (num_drafts + 1) + i] of draft i, and its last one draws. They are from [0, 1). Where
// d_uniforms is null, u is from Philox4x32-10 of `seed`, `offset`, request and draft, as in <rungs/rows/sampling.cuh>:
// 32 bits for a draft, 64 for the draw. Rows that tokens were drawn from with the same seed need another offset.
//
// A ratio is rounded to a float. It is at least 0. 0 / 0 and NaN do not count; a positive number divided by 0 is inf.
//
// A block takes a request, or a cluster where there are few: see rungs/production/sampling/verify_drafts.cuh.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/production/sampling/verify_drafts.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::rows {

struct verification {
  const float* d_uniforms = nullptr;  // num_drafts + 1 for each request; null: random numbers
  unsigned long long seed = 0, offset = 0;
  const unsigned long long* d_offset = nullptr;  // where not null, what is added to `offset`
};

namespace parts {

inline constexpr std::size_t most_verified_requests = 0x7fffffff / 16 / production::verify_drafts::most_drafts;

template <class T>
bool are_verifiable(const matrix<const T>& target, const matrix<const T>& draft, std::size_t num_requests,
                    std::size_t num_drafts) {
  static_assert(production::is_item<T>, "probabilities are float, __half or __nv_bfloat16");
  using production::verify_drafts;
  return is_valid(target) && is_valid(draft) && num_drafts >= 1 && num_drafts <= verify_drafts::most_drafts &&
         num_requests <= most_verified_requests && target.num_rows == num_requests * (num_drafts + 1) &&
         draft.num_rows == num_requests * num_drafts && target.num_columns == draft.num_columns &&
         target.num_columns >= 1 && target.num_columns <= verify_drafts::most_columns;
}

template <class T>
cudaError_t verify(const matrix<const T>& target, const matrix<const T>& draft, const matrix<const int>& drafted,
                   const matrix<int>& tokens, int* d_num_accepted, const verification& how, cudaStream_t stream) {
  const std::size_t num_requests = drafted.num_rows, num_drafts = drafted.num_columns;
  if (!are_verifiable(target, draft, num_requests, num_drafts) || !is_valid(drafted) || !is_valid(tokens) ||
      tokens.num_rows != num_requests || tokens.num_columns != num_drafts + 1 ||
      (d_num_accepted == nullptr && num_requests > 0))
    return cudaErrorInvalidValue;
  if (num_requests == 0) return cudaSuccess;
  using production::verify_drafts;
  production::verification_task<T> task{};
  task.target = target.data;
  task.draft = draft.data;
  task.target_stride = target.stride;
  task.draft_stride = draft.stride;
  task.num_columns = static_cast<unsigned>(target.num_columns);
  task.num_drafts = static_cast<unsigned>(num_drafts);
  task.drafted = drafted.data;
  task.drafted_stride = drafted.stride;
  task.tokens = tokens.data;
  task.tokens_stride = tokens.stride;
  task.accepted = d_num_accepted;
  task.uniforms = how.d_uniforms;
  task.random = {how.seed, how.offset};
  task.offset = how.d_offset;
  // A block has no more segments than bins, even where it has the whole row.
  const unsigned steps = (task.num_columns + verify_drafts::step_columns - 1) / verify_drafts::step_columns;
  task.segment_columns =
      (steps + production::weight_bins::num_bins - 1) / production::weight_bins::num_bins * verify_drafts::step_columns;
  return production::launch_over_rows(production::verify_drafts_kernel<T>, task, num_requests, true, stream);
}

template <class T>
cudaError_t greatest_ratios(const matrix<const T>& target, const matrix<const T>& draft, const matrix<float>& ratios,
                            cudaStream_t stream) {
  const std::size_t num_requests = ratios.num_rows, num_drafts = ratios.num_columns;
  if (!are_verifiable(target, draft, num_requests, num_drafts) || !is_valid(ratios)) return cudaErrorInvalidValue;
  if (num_requests == 0) return cudaSuccess;
  production::ratio_task<T> task{};
  task.target = target.data;
  task.draft = draft.data;
  task.target_stride = target.stride;
  task.draft_stride = draft.stride;
  task.num_columns = static_cast<unsigned>(target.num_columns);
  task.num_drafts = static_cast<unsigned>(num_drafts);
  task.ratios = ratios.data;
  task.ratios_stride = ratios.stride;
  return production::launch_over_rows(production::greatest_ratios_kernel<T>, task, num_requests * num_drafts, false,
                                      stream);
}

}  // namespace parts

template <class In, class Drafted>
cudaError_t verify(const matrix<In>& target, const matrix<In>& draft, const matrix<Drafted>& drafted,
                   const matrix<int>& tokens, int* d_num_accepted, const verification& how = {},
                   cudaStream_t stream = nullptr) {
  return parts::verify<std::remove_const_t<In>>(target, draft, drafted, tokens, d_num_accepted, how, stream);
}

template <class In>
cudaError_t greatest_ratios(const matrix<In>& target, const matrix<In>& draft, const matrix<float>& ratios,
                            cudaStream_t stream = nullptr) {
  return parts::greatest_ratios<std::remove_const_t<In>>(target, draft, ratios, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
