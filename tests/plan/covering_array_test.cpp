#include "plan/covering_array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace rungs::tests {
namespace {

TEST(covering_array, every_pair_of_levels_meets) {
  for (const auto& levels :
       {std::vector{2, 2}, std::vector{1, 3, 1}, std::vector{10, 3, 8, 3, 3, 4, 3, 3, 2}, std::vector{5, 5, 5, 5}}) {
    const auto rows = covering_array(levels, 42);
    std::set<std::tuple<std::size_t, int, std::size_t, int>> met;
    for (const row& r : rows) {
      ASSERT_EQ(r.size(), levels.size());
      for (std::size_t a = 0; a < r.size(); ++a) {
        ASSERT_GE(r[a], 0);
        ASSERT_LT(r[a], levels[a]);
        for (std::size_t b = a + 1; b < r.size(); ++b) met.insert({a, r[a], b, r[b]});
      }
    }
    std::size_t pairs = 0, most = 0;  // no fewer rows than the most levels of two axes are possible
    for (std::size_t a = 0; a < levels.size(); ++a) {
      for (std::size_t b = a + 1; b < levels.size(); ++b) {
        const auto of_two = static_cast<std::size_t>(levels[a] * levels[b]);
        pairs += of_two;
        most = std::max(most, of_two);
      }
    }
    EXPECT_EQ(met.size(), pairs);
    EXPECT_LE(rows.size(), 2 * most);
  }
}

TEST(covering_array, is_the_same_for_the_same_seed_only) {
  const std::vector levels{4, 3, 3, 3};
  EXPECT_EQ(covering_array(levels, 1), covering_array(levels, 1));
  EXPECT_NE(covering_array(levels, 1), covering_array(levels, 2));
}

}  // namespace
}  // namespace rungs::tests
