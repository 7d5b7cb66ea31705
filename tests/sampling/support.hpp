// What the tests of sampling share: rows as floats, and whether counts follow probabilities.
#pragma once

#include <vector>

#include "sampling/oracle.hpp"
#include "top_k/support.hpp"

namespace rungs::tests {

template <class T>
std::vector<float> row_as_floats(const std::vector<T>& items, std::size_t first, std::size_t num_columns) {
  std::vector<float> row(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) row[i] = static_cast<float>(items[first + i]);
  return row;
}

// Pearson's statistic, and its degrees of freedom. Tokens that are expected less than 8 times count as one.
struct chi_square {
  double statistic = 0, freedom = -1;

  template <class Share>
  chi_square(const std::vector<int>& tokens, std::size_t num_tokens, Share share_of) {
    std::vector<double> counts(num_tokens);
    for (const int token : tokens) ++counts.at(static_cast<std::size_t>(token));
    double rare = 0, rare_found = 0;
    for (std::size_t i = 0; i < num_tokens; ++i) {
      const double expected = share_of(i) * static_cast<double>(tokens.size());
      if (expected < 8) {
        rare += expected;
        rare_found += counts[i];
      } else {
        add(expected, counts[i]);
      }
    }
    if (rare >= 8) add(rare, rare_found);
    EXPECT_TRUE(rare > 0 || rare_found == 0);
  }
  // Within five standard deviations, and a little more for the few degrees of freedom.
  bool is_likely() const { return freedom > 0 && statistic < freedom + 5 * std::sqrt(2 * freedom) + 10; }

 private:
  void add(double expected, double found) {
    statistic += (found - expected) * (found - expected) / expected;
    ++freedom;
  }
};

}  // namespace rungs::tests
