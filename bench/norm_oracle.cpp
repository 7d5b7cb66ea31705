#include "norm_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace rungs::bench {

judgement judge_norms(const catalog::record& record, std::span<const float> items, std::span<const float> weights,
                      std::span<const float> output) {
  constexpr double rounding = 0x1p-24, least = std::numeric_limits<float>::denorm_min();
  constexpr int others = 8;  // roundings of the mean, the root, its reciprocal and two products, twice where doubtful
  const std::size_t num_columns = weights.size();
  // The squares have one sign, so that their sum is as good as its height; half of its error reaches the root.
  const std::size_t height = record.summation_height != nullptr ? record.summation_height(num_columns) : num_columns;
  const double allowed = (static_cast<double>(height + 1) / 2 + others) * rounding;
  judgement result{.right = true};
  std::size_t num_wrong = 0;
  double largest_error = 0, largest = 0;
  for (std::size_t first = 0; first < items.size(); first += num_columns) {
    double squares = 0;
    for (std::size_t c = 0; c < num_columns; ++c) squares += double{items[first + c]} * items[first + c];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(num_columns) + double{catalog::norm_epsilon});
    for (std::size_t c = 0; c < num_columns; ++c) {
      const double expected = items[first + c] * scale * weights[c], got = output[first + c];
      const double error = std::fabs(got - expected), magnitude = std::fabs(expected);
      if (error <= allowed * magnitude + least) {
        largest_error = std::max(largest_error, error);
        largest = std::max(largest, magnitude);
      } else if (num_wrong++ == 0) {
        result.right = false;
        result.why = "element " + std::to_string(first + c) + " of " + std::to_string(items.size()) + ": expected " +
                     std::to_string(expected) + ", got " + std::to_string(got);
      }
    }
  }
  if (num_wrong > 0) result.why += "; wrong elements: " + std::to_string(num_wrong);
  const double last_place = std::ldexp(1.0, std::ilogb(std::max(largest, least)) - 23);
  result.error_ulps = largest_error / last_place;
  return result;
}

}  // namespace rungs::bench
