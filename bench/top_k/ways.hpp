// Calls that choose the greatest keys of rows of floats, for rungs_top_k.
#pragma once

#include <cstddef>
#include <vector>

#include "catalog.hpp"
#include "inference/calls.hpp"

namespace rungs::bench {

struct top_k_shape {
  std::size_t num_rows, num_columns, k;

  bool is_routing() const { return num_columns <= 1024 && k <= 32; }
  // Of a way that sorts whole rows all of them come out.
  std::size_t most_out_bytes() const { return num_rows * num_columns * (sizeof(float) + sizeof(int)); }
};

// Of a call's arguments: num_rows, num_columns; num_items is k; d_second points to each key's column. Keys, or weights
// of the chosen experts, go to the first floats of d_out and columns, as int, behind them: `stride` of both for each
// row, of which the first k count.
struct way_to_choose : inference::named_call {
  bool sorted;  // columns come in the order of their keys, of equals the smaller first
  bool writes_weights;
  std::size_t stride;
};
std::vector<way_to_choose> ways_to_choose(const top_k_shape& shape);

// What is not compared here, and why.
struct way_left_out {
  const char *name, *reason;
};
std::vector<way_left_out> ways_left_out(const top_k_shape& shape);

}  // namespace rungs::bench
