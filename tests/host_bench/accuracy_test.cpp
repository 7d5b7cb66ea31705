// The exact sums that errors are measured against, and the kinds of items.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "accuracy/exact.hpp"
#include "accuracy/kinds.hpp"
#include "oracles/fixed_point.hpp"

namespace rungs::bench {
namespace {

exact_sum sum_of(const std::vector<float>& items) {
  exact_sum sum;
  for (const float item : items) sum.add(item);
  return sum;
}

TEST(exact_sum, rounds_once_to_nearest_even) {
  EXPECT_EQ(sum_of({}).rounded(), 0.0f);
  EXPECT_EQ(sum_of({0x1p24f, 1}).rounded(), 0x1p24f);
  EXPECT_EQ(sum_of({0x1p24f, 3}).rounded(), 0x1.000004p24f);
  EXPECT_EQ(sum_of({0x1p24f, 1, 0x1p-149f}).rounded(), 0x1.000002p24f);
  EXPECT_EQ(sum_of({-0x1p24f, -1, -0x1p-149f}).rounded(), -0x1.000002p24f);
  EXPECT_EQ(sum_of({0x1p-149f, 0x1p-149f, -0x1p-148f, 0x1p-149f}).rounded(), 0x1p-149f);
  const float largest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum_of({largest, largest, -largest}).rounded(), largest);
  EXPECT_EQ(sum_of({largest, 0x1p102f}).rounded(), largest);
  EXPECT_EQ(sum_of({largest, 0x1p103f}).rounded(), infinity);
  EXPECT_EQ(sum_of({-largest, -largest}).rounded(), -infinity);
  EXPECT_EQ(sum_of({largest, largest}).in_double(), 2.0 * largest);
}

TEST(exact_sum, says_how_far_a_float_is_from_it) {
  EXPECT_EQ(sum_of({0x1p60f, 1, -0x1p60f}).minus(0), 1.0);
  EXPECT_EQ(sum_of({0x1p60f, 1}).minus(0x1p60f), 1.0);
  EXPECT_EQ(sum_of({1}).minus(2), -1.0);
}

TEST(exact_sum, agrees_with_the_tests_own_on_every_kind) {
  for (int k = 0; k < num_kinds; ++k) {
    std::vector<float> items(10007);
    make(static_cast<kind>(k), items);
    tests::superaccumulator reference;
    for (const float item : items) reference.add(item);
    const exact_sum sum = sum_of(items);
    EXPECT_EQ(sum.rounded(), reference.rounded<float>()) << name(static_cast<kind>(k));
    EXPECT_EQ(sum.in_double(), reference.rounded<double>()) << name(static_cast<kind>(k));
  }
}

TEST(exact_sum, adds_products_of_any_two_floats) {
  const auto product = [](float x, float y) {
    exact_sum sum;
    sum.add_product(x, y);
    return sum;
  };
  EXPECT_EQ(product(-3, 5).rounded(), -15.0f);
  EXPECT_EQ(product(0x1p-149f, -0x1p-149f).in_double(), -0x1p-298);
  EXPECT_EQ(product(0x1p-149f, 0x1p-149f).rounded(), 0.0f);
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(product(largest, -largest).in_double(), -double{largest} * largest);
  EXPECT_EQ(product(largest, largest).rounded(), std::numeric_limits<float>::infinity());
  // Denormal results are rounded once, too: 1.5 units to even, and a little less than that.
  EXPECT_EQ(product(0x1.8p-100f, 0x1p-49f).rounded(), 0x1p-148f);
  exact_sum less = product(0x1.8p-100f, 0x1p-49f);
  less.add_product(-0x1p-149f, 0x1p-149f);
  EXPECT_EQ(less.rounded(), 0x1p-149f);
  exact_sum many = product(0x1.000002p0f, 0x1.000002p0f);  // 1 + 2^-22 + 2^-46
  many.add(-1);
  EXPECT_EQ(many.in_double(), 0x1p-22 + 0x1p-46);
}

TEST(exact_sum, of_products_agrees_with_the_tests_own_on_every_kind) {
  for (int k = 0; k < num_kinds; ++k) {
    std::vector<float> items(10007), factors(items.size());
    make(static_cast<kind>(k), items);
    make_factors(static_cast<kind>(k), factors);
    tests::superaccumulator reference;
    exact_sum sum;
    for (std::size_t i = 0; i < items.size(); ++i) {
      sum.add_product(items[i], factors[i]);
      reference.add(double{items[i]} * factors[i]);  // exact: 48 bits
    }
    EXPECT_EQ(sum.rounded(), reference.rounded<float>()) << name(static_cast<kind>(k));
    EXPECT_EQ(sum.in_double(), reference.rounded<double>()) << name(static_cast<kind>(k));
    EXPECT_TRUE(std::isfinite(sum.rounded())) << name(static_cast<kind>(k));
  }
}

TEST(last_place, follows_the_exponent_down_to_the_denormals) {
  EXPECT_EQ(last_place(1), 0x1p-23);
  EXPECT_EQ(last_place(-1.5f), 0x1p-23);
  EXPECT_EQ(last_place(std::nextafter(1.0f, 0.0f)), 0x1p-24);
  EXPECT_EQ(last_place(std::numeric_limits<float>::max()), 0x1p104);
  for (const float small : {0.0f, 0x1p-149f, 0x1p-126f}) EXPECT_EQ(last_place(small), 0x1p-149);
}

TEST(kinds, are_finite_and_so_are_their_sums) {
  for (int k = 0; k < num_kinds; ++k) {
    std::vector<float> items(1 << 16);
    make(static_cast<kind>(k), items);
    for (const float item : items) ASSERT_TRUE(std::isfinite(item)) << name(static_cast<kind>(k));
    EXPECT_TRUE(std::isfinite(sum_of(items).rounded())) << name(static_cast<kind>(k));
    EXPECT_GT(std::set<float>(items.begin(), items.end()).size(), 1000u) << name(static_cast<kind>(k));
  }
}

TEST(kinds, are_what_they_are_called) {
  std::vector<float> items(30000);
  make(kind::cancelling, items);
  for (std::size_t i = 0; i < items.size(); i += 3) ASSERT_EQ(items[i], -items[i + 2]);
  make(kind::denormal, items);
  for (const float item : items) ASSERT_LT(std::fabs(item), std::numeric_limits<float>::min());
  make(kind::ascending, items);
  EXPECT_LT(std::fabs(items.front()), 0x1p-98f);
  EXPECT_GT(std::fabs(items.back()), 0x1p98f);
  make(kind::near_largest, items);
  for (const float item : items) ASSERT_GT(std::fabs(item), 1.6e38f);
}

TEST(kinds, factors_enlarge_whole_numbers_alone_and_let_cancel_what_cancels) {
  std::vector<float> factors(30000);
  for (int k = 0; k < num_kinds; ++k) {
    const auto what = static_cast<kind>(k);
    make_factors(what, factors);
    const bool whole = what == kind::integers;
    for (const float factor : factors) ASSERT_TRUE(whole ? factor == 1 || factor == 2 : factor >= 0.5f && factor < 1);
    EXPECT_GT(std::set<float>(factors.begin(), factors.end()).size(), whole ? 1u : 5000u) << name(what);
  }
  make_factors(kind::cancelling, factors);
  for (std::size_t i = 0; i < factors.size(); i += 3) ASSERT_EQ(factors[i], factors[i + 2]);
  make_factors(kind::near_largest, factors);
  for (std::size_t i = 0; i < factors.size(); i += 2) ASSERT_EQ(factors[i], factors[i + 1]);
}

}  // namespace
}  // namespace rungs::bench
