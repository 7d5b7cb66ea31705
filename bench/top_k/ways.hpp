// Calls that choose the greatest keys of rows of floats, or a token of rows of logits, for rungs_top_k.
#pragma once

#include <cstddef>
#include <vector>

#include "catalog.hpp"

namespace rungs::bench {

struct top_k_shape {
  std::size_t num_rows, num_columns, k;
};

// Of a call's arguments: num_rows, num_columns; num_items is k. Keys go to the first floats of d_out and columns, as
// int, to as many behind them. A record's `deterministic` says that its columns come sorted, and of equals the first.
std::vector<catalog::record> ways_to_choose(const top_k_shape& shape);

// Rows of logits: floats, or __nv_bfloat16 where `halves` says so.
struct sampling_shape {
  std::size_t num_rows, num_columns;
  bool halves;
};

// Of a call's arguments: num_rows, num_columns. Tokens go to d_out as int: drawn by top-p of 0.9, from all tokens, or
// by Gumbel's noise. The last way reads the rows once and writes their log-sum-exp as floats.
std::vector<catalog::record> ways_to_sample(const sampling_shape& shape);
inline constexpr float sampled_share = 0.9f;

// What is not compared here, and why.
std::vector<const char*> ways_left_out();

}  // namespace rungs::bench
