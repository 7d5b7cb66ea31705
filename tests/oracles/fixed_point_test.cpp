#include "oracles/fixed_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

namespace rungs::tests {
namespace {

template <class Float>
Float sum(const std::vector<double>& items) {
  superaccumulator s;
  for (const double x : items) s.add(x);
  return s.rounded<Float>();
}

TEST(superaccumulator, an_empty_sum_is_positive_zero) {
  EXPECT_EQ(superaccumulator{}.rounded<double>(), 0.0);
  EXPECT_FALSE(std::signbit(sum<double>({-0.0, -0.0})));
}

TEST(superaccumulator, keeps_every_finite_double) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (!std::isfinite(x)) continue;
    EXPECT_EQ(sum<double>({x}), x);
    EXPECT_EQ(sum<float>({x}), static_cast<float>(x)) << x;
  }
  for (const double x : {5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1.401298464324817e-45,
                         7.006e-46, 7.0064923216240854e-46})
    EXPECT_EQ(sum<float>({x}), static_cast<float>(x)) << x;
}

TEST(superaccumulator, cancels_exactly) {
  EXPECT_EQ(sum<double>({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sum<double>({1.7976931348623157e308, 1.7976931348623157e308, -1.7976931348623157e308,
                         -1.7976931348623157e308, 5e-324}),
            5e-324);
  EXPECT_EQ(sum<double>({1e16, 1.0, -1e16, 1e-9, 3.5, -2.25, 1e300, -1e300, 5e-324}),
            0x1.2000000225c18p+1);  // math.fsum
}

TEST(superaccumulator, rounds_once_and_to_even) {
  EXPECT_EQ(sum<float>({0x1p24, 1.0}), 0x1p24f);                   // half way, to even
  EXPECT_EQ(sum<float>({0x1p24, 3.0}), 0x1p24f + 4.0f);            // half way, to even
  EXPECT_EQ(sum<float>({0x1p24, 1.0, 0x1p-900}), 0x1p24f + 2.0f);  // just above half way
  // To double first and then to float would round twice, to 1.
  EXPECT_EQ(sum<float>({1.0, 0x1p-24, 0x1p-60}), 1.0f + 0x1p-23f);
  EXPECT_EQ(sum<float>({-1.0, -0x1p-24, -0x1p-60}), -1.0f - 0x1p-23f);
}

TEST(superaccumulator, overflows_to_infinity) {
  EXPECT_EQ(sum<double>({1.7976931348623157e308, 1.7976931348623157e308}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum<float>({-3.4e38, -3.4e38}), -std::numeric_limits<float>::infinity());
}

TEST(superaccumulator, agrees_with_a_wider_float_where_that_is_exact) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> items;
    __float128 wide = 0;  // 113 bits: exact for 1000 items of 53 bits within 2^40 of one another
    for (int i = 0; i < 1000; ++i) {
      const double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 11),
                                  static_cast<int>(random() % 40) - 50);
      items.push_back(x);
      wide += x;
    }
    EXPECT_EQ(sum<double>(items), static_cast<double>(wide));
    EXPECT_EQ(sum<float>(items), static_cast<float>(wide));
  }
}

TEST(superaccumulator, does_not_depend_on_the_order) {
  std::mt19937_64 random(5);
  std::vector<double> items;
  for (int i = 0; i < 3000; ++i)
    items.push_back(
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 1800) - 900));
  const double first = sum<double>(items);
  for (int trial = 0; trial < 5; ++trial) {
    std::shuffle(items.begin(), items.end(), random);
    EXPECT_EQ(sum<double>(items), first);
  }
}

TEST(superaccumulator, adds_other_sums) {
  superaccumulator a, b;
  a.add(0x1p-30);
  b.add(-0x1p-31);
  b.add(a);
  EXPECT_EQ(b.rounded<double>(), 0x1p-31);
}

TEST(fixed_point, of_few_words_rounds_as_one_of_many) {
  for (const int grid : {-1074, -262, -149}) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      fixed_point<8> narrow;
      superaccumulator wide;
      for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t h = detail::hash(seed, i);
        const int exponent = grid == -1074 ? -1000 : static_cast<int>(h % 60) - 30;
        const double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(h) >> 11), exponent - 60);
        ASSERT_TRUE(fixed_point<8>::holds(x, grid));
        narrow.add(x, grid);
        wide.add(x);
        EXPECT_EQ(narrow.rounded<double>(grid), wide.rounded<double>()) << seed;
      }
    }
  }
  fixed_point<4> none;
  none.add(1.5, -149);
  none.add(-1.5, -149);
  EXPECT_EQ(none.rounded<double>(-149), 0.0);
  EXPECT_FALSE(fixed_point<4>::holds(0x1p104, -149));
  EXPECT_FALSE(fixed_point<4>::holds(std::numeric_limits<double>::quiet_NaN(), -149));
}

}  // namespace
}  // namespace rungs::tests
