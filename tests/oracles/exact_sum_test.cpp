// What exact_sum_check.py does not see of the oracle: terms that come many times, totals that are added, and the other
// oracle of sums.
#include "oracles/exact_sum.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "oracles/fixed_point.hpp"

namespace rungs::tests {
namespace {

constexpr float_format f32 = f32_format, f64 = f64_format;

std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

TEST(exact_total, of_nothing_is_positive_zero) {
  exact_total total;
  EXPECT_EQ(total.rounded(f32), 0u);
  total.add(f32, bits_of(-0.0f), 7);
  EXPECT_EQ(total.rounded(f32), 0u);
}

TEST(exact_total, agrees_with_the_superaccumulator) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    exact_total total;
    superaccumulator other;
    for (int i = 0; i < 100; ++i) {
      const auto x = std::bit_cast<double>(random() & ~(trial % 2 == 0 ? 0ull : 1ull << 62));
      if (!std::isfinite(x)) continue;
      total.add(f64, bits_of(x));
      other.add(x);
    }
    EXPECT_EQ(total.rounded(f64), bits_of(other.rounded<double>()));
    EXPECT_EQ(total.rounded(f32), bits_of(other.rounded<float>()));
  }
}

TEST(exact_total, counts_terms_that_come_many_times) {
  exact_total total, other;
  total.add(f64, bits_of(1.7976931348623157e308), 1ull << 62);
  total.add(f64, bits_of(-1.7976931348623157e308), 1ull << 62);
  total.add(f64, bits_of(5e-324), 0);
  EXPECT_EQ(total.rounded(f64), 0u);
  total.add(f64, bits_of(5e-324), 3);
  other.add(f64, bits_of(1.0));
  EXPECT_EQ(total.rounded(f64), 3u);
  total.add(other);
  EXPECT_EQ(total.rounded(f64), bits_of(1.0));
  exact_total many;
  many.add(f32, bits_of(0.1f), (1ull << 32) + 5);
  EXPECT_EQ(many.rounded(f64), bits_of(static_cast<double>(0.1f) * 4294967301.0));
}

TEST(exact_total, adds_what_is_not_finite_of_others) {
  exact_total total, other;
  total.add(f32, f32.infinity());
  EXPECT_EQ(total.rounded(f64), f64.infinity());
  other.add(f32, f32.infinity() | f32.sign());
  EXPECT_EQ(other.rounded(f16_format), f16_format.infinity() | f16_format.sign());
  total.add(other);
  EXPECT_TRUE(f64.is_nan(total.rounded(f64)));
}

}  // namespace
}  // namespace rungs::tests
