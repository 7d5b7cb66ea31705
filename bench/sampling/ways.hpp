// Calls that draw a token of rows of logits, verify drafted tokens, or merge attention over parts of a sequence, for
// rungs_sampling.
#pragma once

#include <cstddef>
#include <vector>

#include "inference/calls.hpp"

namespace rungs::bench {

enum class draw : unsigned char { top_p, top_k, all_tokens, gumbel };
enum class logits : unsigned char { flat, peaked, of_gumbel };  // normal of deviation 1 or 5; Gumbel's of scale 0.1

// Of a call's arguments: d_in, num_rows, num_columns; d_second points to each item's column, `levels` to a uniform
// number for each row (on the device), `init` to the sampling_shape (on the host). Tokens go to d_out as int.
struct sampling_shape {
  bench::draw draw;
  std::size_t num_rows, num_columns;
  bool halves;         // items are __nv_bfloat16, else float
  bool probabilities;  // of those logits, else the logits
  bench::logits logits;
  float top_p;
  int top_k;
};
inline constexpr unsigned long long sampling_seed = 1;  // of Gumbel draws
std::vector<inference::named_call> ways_to_sample(const sampling_shape& shape);

// Of a call's arguments: d_in points to the target's rows and, behind them, the draft's; num_rows requests of
// num_columns tokens; `levels` to num_drafts + 1 uniform numbers for each request and, behind them, the drafted tokens
// as int (on the device); `init` to the verification_shape (on the host). To d_out go num_drafts + 1 tokens for each
// request as int and, behind them, how many drafts stay. Of greatest_ratios a float for each draft goes there.
struct verification_shape {
  std::size_t num_requests, num_drafts, num_tokens;
  std::size_t target_rows() const { return num_requests * (num_drafts + 1); }
  std::size_t draft_rows() const { return num_requests * num_drafts; }
  std::size_t items() const { return (target_rows() + draft_rows()) * num_tokens; }
};
std::vector<inference::named_call> ways_to_verify();
std::vector<inference::named_call> ways_to_greatest_ratios();

// Of a call's arguments: d_in points to num_items parts of num_rows x num_columns of __nv_bfloat16, d_second to the
// log-sum-exp of each part's rows. Merged rows go to d_out.
std::vector<inference::named_call> ways_to_merge();

}  // namespace rungs::bench
