// Calls that choose the greatest keys of rows of floats, for rungs_top_k.
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

// What is not compared here, and why.
std::vector<const char*> ways_left_out();

}  // namespace rungs::bench
