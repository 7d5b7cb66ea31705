// Rows that are scaled to a mean square of 1, judged in doubles.
#pragma once

#include <span>

#include "catalog.hpp"
#include "verify.hpp"

namespace rungs::bench {

// Whether each output[r][c] is items[r][c] * weights[c] / sqrt(mean square of row r + catalog::norm_epsilon), but for
// what the sum's height and a few roundings allow. Rows are as long as `weights`.
judgement judge_norms(const catalog::record& record, std::span<const float> items, std::span<const float> weights,
                      std::span<const float> output);

}  // namespace rungs::bench
