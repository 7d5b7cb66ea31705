// rungs::rows::sample: a token of every row of logits or probabilities, drawn from those that top-k, top-p and min-p
// keep, in one launch.
//
//   using rungs::rows::matrix;
//   rungs::rows::sampling how;
//   how.temperature = 0.7f;
//   how.top_p = 0.9f;
//   how.seed = seed;
//   how.offset = step;
//   rungs::rows::sample(matrix{d_logits, num_rows, num_tokens}, d_tokens, how, stream);
//
// logits    float, __half or __nv_bfloat16, a row a request, 1 to 2^24 columns (rungs/rows/matrix.cuh), at any address.
//           Or probabilities, of any sum, if `how` says so.
// d_tokens  an int for each row: the token drawn, or -1 where the row has none (see below).
// how       which tokens are kept, and how one of them is drawn.
// also      what else is wanted of each row: nothing by default.
// returns   cudaErrorInvalidValue for a null pointer, a shape or a number out of its range; cudaErrorNotSupported where
//           a block cannot have 64 KB of shared memory; else what the launch returned.
// Nothing is allocated, nobody waits: a call may be captured in a graph. No workspace is needed.
//
// Order. Tokens are in the order of their logits, the greatest first; of equals the smaller index first. -0 equals 0.
//
// Weights. A token's weight is 2^31 exp((logit - greatest) / temperature), rounded to an integer; of probabilities it
// is 2^31 p / greatest p. It is within 2^-17 of that number and half a unit, and the same on all GPUs. A token whose
// weight is 0 is not kept: its probability is less than 2^-32 of the greatest one's.
//
// Cuts, one after the other:
//   min_p   tokens stay whose weight is at least min_p 2^31.
//   top_k   the first top_k of them stay.
//   top_p   the first of them stay whose weights sum up to top_p of those that are left; at least one stays.
// top_p is rounded down to a multiple of 2^-32. All else is exact: sums are of integers.
//
// Draws:
//   sampling_draw::inverse  With S, the sum of the weights that stay, it is the first token at which the sum of weights
//           exceeds floor(u S). u is d_uniforms[row], or has 64 random bits. What is below 0, and NaN, is 0; what is
//           not less than 1 is the greatest number below 1.
//   sampling_draw::gumbel   The token whose log2(weight) - log2(-log2(u)) is greatest. Each has a u of its own, of 32
//           random bits. Scores are integers in units of 2^-25; of equals the smaller index is drawn. log2(weight) is
//           of the weight before it is rounded to an integer. From probabilities, the odds of two tokens are right to
//           10^-5.
// Random numbers are Philox4x32-10 of `seed`, `offset`, the row and the token: the same on all GPUs. Independent draws
// need different offsets. Where d_offset is not null, *d_offset is added to `offset` when the kernel runs. So a graph
// draws anew in each replay.
//
// NaN is never drawn, nor is a logit of -inf, or a probability that is 0 or less. +inf counts as the greatest float:
// tokens of +inf have equal weights, and those far below have none. A row without any token that can be drawn, or of
// probabilities that are all less than 2^-96, gives -1.
//
// Greedy: temperature = 0, or top_k = 1, or top_p = 0 keeps the first token of the order alone.
//
// A row's result depends on the row, its number and `how` alone; with d_uniforms, not on its number either. It does not
// depend on the number of rows or on addresses.
//
// A block takes a row, or a cluster where there are few: see rungs/production/sampling/sample_rows.cuh. Rows are read
// once, or as far as they do not stay in shared memory, two or three times. They are read a few times more where a few
// values are most of a row, and more often still where many tokens differ by little. Rows of 8,192 to 327,672 logits in
// __nv_bfloat16 are read once, and a part of them again. Zeros, or logits of 127.5 and more, may cost another read
// there. Several logits of 127.5 and more, or a NaN without a sign, may cost further passes.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "rungs/production/sampling/sample_rows.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::rows {

enum class sampling_draw : unsigned char { inverse, gumbel };

struct sampling {
  float temperature = 1;            // 0 or more; 1 for probabilities
  int top_k = 0;                    // 0: all
  float top_p = 1, min_p = 0;       // from [0, 1]
  bool from_probabilities = false;  // what rows hold: else logits
  sampling_draw draw = sampling_draw::inverse;
  const float* d_uniforms = nullptr;  // one for each row, from [0, 1), for sampling_draw::inverse; null: random numbers
  unsigned long long seed = 0, offset = 0;
  const unsigned long long* d_offset = nullptr;
};

struct sampling_results {
  int* d_last_kept = nullptr;  // of each row: the last token of the order that the cuts keep
  // Of each row: the probability of the token drawn, among those that are kept.
  float* d_probabilities = nullptr;
};

namespace parts {

inline constexpr std::size_t most_sampled_columns = std::size_t{1} << 24, most_sampled_rows = 0x7fffffff / 16;

inline bool is_valid(const sampling& how) {
  const auto is_share = [](float share) { return share >= 0 && share <= 1; };
  return how.temperature >= 0 && how.temperature <= FLT_MAX && how.top_k >= 0 && is_share(how.top_p) &&
         is_share(how.min_p) && (how.temperature == 1 || !how.from_probabilities) &&
         (how.d_uniforms == nullptr || how.draw == sampling_draw::inverse);
}

template <class T>
cudaError_t sample(const matrix<const T>& logits, int* d_tokens, const sampling& how, cudaStream_t stream,
                   const sampling_results& also) {
  static_assert(production::is_item<T>, "logits are float, __half or __nv_bfloat16");
  if (!is_valid(logits) || !is_valid(how) || logits.num_columns < 1 || logits.num_columns > most_sampled_columns ||
      logits.num_rows > most_sampled_rows || (d_tokens == nullptr && logits.num_rows > 0))
    return cudaErrorInvalidValue;
  if (logits.num_rows == 0) return cudaSuccess;
  const bool is_greedy = how.temperature == 0;
  const double factor = is_greedy ? 1 : 1.4426950408889634 / how.temperature;
  production::sampling_task<T> task{};
  task.data = logits.data;
  task.stride = logits.stride;
  task.num_columns = static_cast<unsigned>(logits.num_columns);
  task.tokens = d_tokens;
  task.last_kept = also.d_last_kept;
  task.probabilities = also.d_probabilities;
  task.uniforms = how.d_uniforms;
  task.random = {how.seed, how.offset};
  task.keys = production::philox_keys(how.seed);
  task.offset = how.d_offset;
  task.logit_factor = factor < FLT_MAX ? static_cast<float>(factor) : FLT_MAX;
  task.of_logits = !how.from_probabilities;
  task.by_gumbel = how.draw == sampling_draw::gumbel;
  task.least_level = how.from_probabilities ? production::least_level_of<false>(how.min_p)
                                            : production::least_level_of<true>(how.min_p);
  const bool takes_all = static_cast<std::size_t>(how.top_k) >= logits.num_columns;
  task.top_k = is_greedy ? 1 : takes_all ? 0 : static_cast<unsigned>(how.top_k);
  task.cuts_by_sum = how.top_p < 1;
  task.sum_share = task.cuts_by_sum ? static_cast<unsigned>(std::ldexp(static_cast<double>(how.top_p), 32)) : 0;

  const bool has_sums = !task.by_gumbel || task.top_k > 0 || task.cuts_by_sum || also.d_last_kept != nullptr ||
                        also.d_probabilities != nullptr;

  rungs::parts::device_limits limits;
  production::sampling_plan plan{};
  cudaError_t error = limits.ask();
  if (error == cudaSuccess)
    error = production::sample_rows::fit<T>(limits, logits.num_rows, logits.num_columns, task.of_logits, has_sums,
                                            task.least_level > 1, plan);
  return error == cudaSuccess ? production::sample_rows::launch(task, logits.num_rows, plan, stream) : error;
}

}  // namespace parts

template <class In>
cudaError_t sample(const matrix<In>& logits, int* d_tokens, const sampling& how = {}, cudaStream_t stream = nullptr,
                   const sampling_results& also = {}) {
  return parts::sample<std::remove_const_t<In>>(logits, d_tokens, how, stream, also);
}

}  // namespace rungs::RUNGS_ABI::rows
