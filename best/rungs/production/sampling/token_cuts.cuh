// Cuts of a row's tokens in their order: a number of tokens (top-k), or of their weights (top-p). A draw is a cut at a
// random sum of weights.
#pragma once

#include "rungs/production/sampling/weight_bins.cuh"
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

  enum cut { of_count, of_sum, of_draw, end };  // in this order
  __device__ bool has(unsigned cut) const { return cut == of_count ? top_k > 0 : cut == of_sum ? by_sum : draws; }
  // What a cut has to reach, where the cuts before it keep tokens whose weights sum up to `kept`.
  __device__ weight_sum target_of(unsigned cut, weight_sum kept, unsigned num_tokens) const {
    switch (cut) {
      case of_count:
        return min(top_k, num_tokens);
      case of_sum:
        return cuts_by_sum ? share_of_sum(kept, sum_share) : kept;
    }
    return draw_target(kept, fraction);
  }
};

// What a row keeps, and the token that is drawn.
struct row_cuts {
  token_cut kept;
  unsigned token;
};

// Finds one cut after the other. find(cut, target, found) returns false where it does not tell; then so does this.
template <class Find>
__device__ bool find_cuts(const window_targets& targets, const token_mass& total, row_cuts& cuts, Find find) {
  cuts = {{0, total.sum}, 0};
#pragma unroll 1
  for (unsigned cut = 0; cut < window_targets::end; ++cut) {
    if (!targets.has(cut)) continue;
    token_cut found;
    if (!find(cut, targets.target_of(cut, cuts.kept.up_to, total.count), found)) return false;
    if (cut == window_targets::of_draw)
      cuts.token = column_of_token(found.last);
    else
      cuts.kept = found;
  }
  return true;
}

}  // namespace rungs::RUNGS_ABI::production
