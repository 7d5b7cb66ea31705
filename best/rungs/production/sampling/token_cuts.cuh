// Cuts of a row's tokens in their order: a number of tokens (top-k), or of their weights (top-p). A draw is a cut at a
// random sum of weights.
#pragma once

#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// The last token of a cut, and the sum of the weights up to it.
struct token_cut {
  candidate last;
  weight_sum up_to;
};

// The sum of weights that a draw has to reach among tokens whose weights sum up to `sum`.
__device__ inline weight_sum draw_target(weight_sum sum, weight_sum fraction) {
  return rounded::upper_product(sum, fraction) + 1;
}

// What cuts and the draw of a call ask for, in integers.
struct window_targets {
  unsigned top_k;  // 0: all
  bool by_sum, cuts_by_sum, draws;
  unsigned sum_share;
  weight_sum fraction;
};

}  // namespace rungs::RUNGS_ABI::production
