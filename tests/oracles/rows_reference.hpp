// What top-k and norms of rows must write, by loops on the host. The cases and the bench judge by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog.hpp"

namespace rungs::tests {

// The columns of the k first of a row's items, as top-k orders them: NaN first, then the greater item, and of equals
// the lesser column. -0 and +0 are equal.
std::vector<std::uint32_t> first_columns(catalog::scalar type, const void* row, std::size_t num_columns, std::size_t k);

// Of rows of items of 32 bits: these columns of every row, and behind all of them the bits of the items there.
std::vector<std::uint32_t> greatest_of_rows(catalog::scalar type, std::span<const std::uint32_t> items,
                                            std::size_t num_columns, std::size_t k);
// Empty where that is what was written.
std::optional<std::string> disagreement(std::span<const std::uint32_t> expected, std::span<const std::uint32_t> got,
                                        std::size_t k);

// Whether each output[r][c] is items[r][c] * weights[c] / sqrt(mean square of row r + catalog::norm_epsilon), but for
// what the sum's height and a few roundings allow. Rows are as long as `weights`.
struct judged_norms {
  std::optional<std::string> wrong = {};
  double error_ulps = 0;  // the largest error of all right ones, in units of the last place of the largest of them
};
judged_norms judge_norms(const catalog::record& record, std::span<const float> items, std::span<const float> weights,
                         std::span<const float> output);

}  // namespace rungs::tests
