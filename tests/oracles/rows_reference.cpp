#include "oracles/rows_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/bits.hpp"
#include "text.hpp"

namespace rungs::tests {

std::vector<std::uint32_t> first_columns(catalog::scalar type, const void* row, std::size_t num_columns,
                                         std::size_t k) {
  std::vector<std::uint32_t> first;  // up to k a heap, whose front is the last of them
  if (k == 0) return first;
  with_type(type, [&]<class T>(type_tag<T>) {
    const auto* const items = static_cast<const T*>(row);
    const auto comes_first = [items](std::uint32_t a, std::uint32_t b) {
      const double x = to_double(items[a]), y = to_double(items[b]);
      if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
      return x > y || (!(x < y) && a < b);
    };
    for (std::uint32_t column = 0; column < num_columns; ++column) {
      if (first.size() == k) {
        if (!comes_first(column, first.front())) continue;
        std::ranges::pop_heap(first, comes_first);
        first.pop_back();
      }
      first.push_back(column);
      std::ranges::push_heap(first, comes_first);
    }
    std::ranges::sort_heap(first, comes_first);
  });
  return first;
}

std::vector<std::uint32_t> greatest_of_rows(catalog::scalar type, std::span<const std::uint32_t> items,
                                            std::size_t num_columns, std::size_t k) {
  const std::size_t num_rows = num_columns == 0 ? 0 : items.size() / num_columns;
  std::vector<std::uint32_t> chosen(2 * num_rows * k);
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::uint32_t* const own = items.data() + row * num_columns;
    const auto first = first_columns(type, own, num_columns, k);
    for (std::size_t i = 0; i < first.size(); ++i) {
      chosen[row * k + i] = first[i];
      chosen[(num_rows + row) * k + i] = own[first[i]];
    }
  }
  return chosen;
}

std::optional<std::string> disagreement(std::span<const std::uint32_t> expected, std::span<const std::uint32_t> got,
                                        std::size_t k) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(expected, got).in1 - expected.begin());
  if (at == expected.size() && at == got.size()) return std::nullopt;
  if (at == expected.size() || at == got.size()) return text(got.size(), " words instead of ", expected.size());
  const std::size_t results = expected.size() / 2;
  return text("row ", at % results / k, ": the ", at < results ? "column" : "item", " in place ", at % k,
              " is wrong: expected the ", at < results ? "column " : "bits ", expected[at], ", got ", got[at]);
}

judged_norms judge_norms(const catalog::record& record, std::span<const float> items, std::span<const float> weights,
                         std::span<const float> output) {
  constexpr double rounding = 0x1p-24, least = std::numeric_limits<float>::denorm_min();
  constexpr int others = 8;  // roundings of the mean, the root, its reciprocal and two products, twice where doubtful
  const std::size_t num_columns = weights.size();
  // The squares have one sign, so that their sum is as good as its height; half of its error reaches the root.
  const std::size_t height = record.summation_height != nullptr ? record.summation_height(num_columns) : num_columns;
  const double allowed = (static_cast<double>(height + 1) / 2 + others) * rounding;
  judged_norms judged;
  std::size_t num_wrong = 0;
  double largest_error = 0, largest = 0;
  for (std::size_t first = 0; first < items.size(); first += num_columns) {
    long double squares = 0;
    for (std::size_t c = 0; c < num_columns; ++c)
      squares += static_cast<long double>(items[first + c]) * static_cast<long double>(items[first + c]);
    const long double root = std::sqrt(squares / static_cast<long double>(num_columns) + catalog::norm_epsilon);
    for (std::size_t c = 0; c < num_columns; ++c) {
      const double expected = static_cast<double>(static_cast<long double>(items[first + c]) * weights[c] / root);
      const double got = output[first + c], error = std::fabs(got - expected), magnitude = std::fabs(expected);
      if (error <= allowed * magnitude + least) {
        largest_error = std::max(largest_error, error);
        largest = std::max(largest, magnitude);
      } else if (num_wrong++ == 0) {
        judged.wrong = text("element ", first + c, " of ", items.size(), ": expected ", expected, ", got ", got);
      }
    }
  }
  if (num_wrong > 0) *judged.wrong += text("; wrong elements: ", num_wrong);
  judged.error_ulps = largest_error / std::ldexp(1.0, std::ilogb(std::max(largest, least)) - 23);
  return judged;
}

}  // namespace rungs::tests
