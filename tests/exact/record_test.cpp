// Records of exact sums on the host: what they are rounded to, and how they are merged.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <rungs/exact/record.cuh>

#include "oracles/exact_sum.hpp"

namespace rungs::tests {
namespace {

// A number as a record and as the oracle's.
template <class Record>
struct both {
  Record record;
  exact_total total;

  // Adds 2^(position + lowest_exponent), or subtracts it.
  void add(int position, bool is_negative) {
    record.digits[position / 32] += (is_negative ? -1ll : 1ll) << position % 32;
    total.add(is_negative, 1, position + Record::lowest_exponent);
  }
  void add_digit(int i, std::uint32_t digit, bool is_negative) {
    record.digits[i] += is_negative ? -static_cast<long long>(digit) : static_cast<long long>(digit);
    total.add(is_negative, digit, 32 * i + Record::lowest_exponent);
  }
};

template <class Record>
struct Records : testing::Test {
  static constexpr int num_bits = 32 * Record::num_digits - 2;
  std::mt19937_64 random{static_cast<std::uint64_t>(Record::num_digits)};

  int below(int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }

  both<Record> any() {
    both<Record> made;
    const bool is_negative = below(2) != 0;
    const int top = below(num_bits);
    switch (below(3)) {
      case 0:  // digits of all kinds
        for (int i = 0; i < top / 32; ++i) {
          const std::uint32_t digits[] = {0, 0, 1, 0x80000000, 0xffffffff, static_cast<std::uint32_t>(random())};
          made.add_digit(i, digits[below(6)], is_negative);
        }
        made.add_digit(top / 32, 1u << top % 32, is_negative);
        break;
      case 1: {  // a few powers of two, near the places where a result ends
        made.add(top, is_negative);
        for (int k = below(5); k > 0; --k) {
          const int ends[] = {7, 10, 23, 52, below(top + 1)};
          const int position = top - ends[below(5)] - below(3) + 1;
          if (position >= 0) made.add(position, below(2) != 0);
        }
        break;
      }
      default: {  // near the borders of a result's numbers
        const int least[] = {-24, -14, -133, -126, -149, -1074, -1022, 15, 127, 1023};
        for (int k = 1 + below(4); k > 0; --k) {
          const int position = least[below(10)] + below(4) - 2 - Record::lowest_exponent;
          if (position >= 0 && position < num_bits) made.add(position, below(3) != 0);
        }
      }
    }
    made.record.carry();
    return made;
  }

  template <class Result>
  static void expect_rounded(const both<Record>& of, float_format format) {
    const auto result = of.record.template rounded<Result>();
    std::uint64_t bits = 0;
    std::memcpy(&bits, &result, sizeof result);
    ASSERT_EQ(bits, of.total.rounded(format)) << std::hex << bits << " and " << of.total.rounded(format);
  }
  static void expect_rounded(const both<Record>& of) {
    expect_rounded<__half>(of, f16_format);
    expect_rounded<__nv_bfloat16>(of, bf16_format);
    expect_rounded<float>(of, f32_format);
    expect_rounded<double>(of, f64_format);
  }
  static bool are_same(const Record& a, const Record& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};
using AllRecords = testing::Types<exact_sum<float>, exact_sum<double>, exact_sum<__half>, exact_sum<__nv_bfloat16>,
                                  exact_dot<float>, exact_dot<double>, exact_dot<__half>, exact_dot<__nv_bfloat16>>;
TYPED_TEST_SUITE(Records, AllRecords);

TYPED_TEST(Records, AreZeroAtFirst) { this->expect_rounded({}); }

TYPED_TEST(Records, AreRoundedToNearest) {
  for (int trial = 0; trial < 5000 && !this->HasFailure(); ++trial) this->expect_rounded(this->any());
}

TYPED_TEST(Records, AreMergedInAnyOrder) {
  for (int trial = 0; trial < 300 && !this->HasFailure(); ++trial) {
    const both<TypeParam> a = this->any(), b = this->any(), c = this->any();
    both<TypeParam> all = a;
    TypeParam others = c.record;
    all.record += b.record;
    all.record += c.record;
    all.total.add(b.total);
    all.total.add(c.total);
    others += b.record;
    others += a.record;
    EXPECT_TRUE(this->are_same(all.record, others));
    this->expect_rounded(all);
  }
}

TYPED_TEST(Records, CancelToTheSameZero) {
  for (int trial = 0; trial < 300 && !this->HasFailure(); ++trial) {
    const TypeParam a = this->any().record;
    TypeParam opposite, sum = a;
    for (int i = 0; i < TypeParam::num_digits; ++i) opposite.digits[i] = -a.digits[i];
    opposite.carry();
    sum += opposite;
    EXPECT_TRUE(this->are_same(sum, TypeParam{}));
  }
}

TYPED_TEST(Records, KeepWhatIsNotFinite) {
  const std::uint32_t flags[] = {0, exact::not_a_number, exact::plus_infinity, exact::minus_infinity};
  for (const std::uint32_t first : flags)
    for (const std::uint32_t second : flags) {
      TypeParam record = this->any().record, other = this->any().record;
      record.flags = first;
      other.flags = second;
      const TypeParam before = record;
      record += other;
      other += before;
      EXPECT_TRUE(this->are_same(record, other));
      const std::uint32_t seen = first | second;
      if (seen == 0) continue;
      const float result = record.template rounded<float>(), infinity = std::numeric_limits<float>::infinity();
      const bool is_right = seen == exact::plus_infinity    ? result == infinity
                            : seen == exact::minus_infinity ? result == -infinity
                                                            : std::isnan(result);
      EXPECT_TRUE(is_right) << seen << ": " << result;
      TypeParam without_digits;
      without_digits.flags = seen;
      EXPECT_TRUE(this->are_same(record, without_digits));
    }
}

}  // namespace
}  // namespace rungs::tests
