#include "workload.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "fake_records.hpp"
#include "verify.hpp"

namespace rungs::bench {
namespace {

using catalog::op;
using catalog::scalar;

template <class T>
std::vector<T> items(scalar type, std::size_t count, bool whole, std::uint64_t seed = 5) {
  std::vector<T> all(count);
  generate({type, count, seed, whole}, all.data());
  return all;
}

template <class T>
value_bytes bytes_of(T value) {
  value_bytes bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

catalog::record a_record(op combine, scalar type) {
  auto one = fakes::record("any", fakes::does_nothing, type);
  one.op = combine;
  one.summation_height = [](std::size_t) -> std::size_t { return 30; };
  return one;
}

TEST(Workload, IsSignedRandomAndDependsOnIndexAndSeed) {
  const auto floats = items<float>(scalar::f32, 10'000, false);
  EXPECT_GT(std::set<float>(floats.begin(), floats.end()).size(), 9'900u);
  EXPECT_GT(std::count_if(floats.begin(), floats.end(), [](float x) { return x < 0; }), 4'500);
  for (const float x : floats) EXPECT_TRUE(x != 0 && std::abs(x) < 1);
  EXPECT_NE(floats, items<float>(scalar::f32, 10'000, false, 6));
  const auto ints = items<int>(scalar::i32, 10'000, false);
  EXPECT_LT(*std::min_element(ints.begin(), ints.end()), -4'000);
  EXPECT_GT(*std::max_element(ints.begin(), ints.end()), 4'000);
}

TEST(Workload, WholeFloatsSumExactlyInAnyOrder) {
  for (const std::size_t count : {1u, 1000u, 1u << 20, (1u << 23) + 5}) {
    const auto floats = items<float>(scalar::f32, count, true);
    double magnitudes = 0;
    float forward = 0, backward = 0;
    for (const float x : floats) {
      EXPECT_EQ(x, std::trunc(x));
      magnitudes += std::abs(x);
      forward += x;
    }
    for (auto x = floats.rbegin(); x != floats.rend(); ++x) backward += *x;
    EXPECT_LT(magnitudes, 1 << 24);
    EXPECT_GT(magnitudes, 0);
    EXPECT_EQ(forward, backward);
  }
}

TEST(Workload, ProductsOfWholeFloatsAndUnitsSumExactly) {
  const auto whole = items<float>(scalar::f32, 100'000, true);
  std::vector<float> units(whole.size());
  generate({scalar::f32, units.size(), 6, true, true}, units.data());
  for (const float x : units) EXPECT_EQ(std::abs(x), 1);
  const auto products = summarise_products(scalar::f32, whole.data(), units.data(), whole.size());
  EXPECT_EQ(products.magnitudes, summarise_items(scalar::f32, whole.data(), whole.size()).magnitudes);
  EXPECT_LT(products.magnitudes, 1 << 24);
}

TEST(Workload, SummariesOfIntegersAreExact) {
  const auto ints = items<int>(scalar::i32, 12'345, false);
  const auto about = summarise_items(scalar::i32, ints.data(), ints.size());
  EXPECT_EQ(static_cast<long long>(about.sum), std::accumulate(ints.begin(), ints.end(), 0LL));
  const auto bytes = items<std::uint8_t>(scalar::u8, 999, false);
  EXPECT_EQ(summarise_items(scalar::u8, bytes.data(), bytes.size()).sum,
            std::accumulate(bytes.begin(), bytes.end(), 0ull));
}

TEST(Workload, SummariesOfProductsAreExact) {
  const std::vector<double> x{1 + 0x1p-52, 1}, y{1 + 0x1p-52, -1};
  const auto about = summarise_products(scalar::f64, x.data(), y.data(), x.size());
  EXPECT_EQ((about.high - 0x1p-51) + about.low, 0x1p-104);
  EXPECT_EQ(about.magnitudes, 2 + 0x1p-51);
  const std::vector<std::int8_t> bytes{-128, 127}, others{-128, -1};
  EXPECT_EQ(summarise_products(scalar::i8, bytes.data(), others.data(), 2).sum, 128u * 128 - 127);
  EXPECT_FALSE(summarise_products(scalar::f32, nullptr, nullptr, 0).any);
}

TEST(Workload, SummariesOfFloatsSurviveCancellation) {
  const std::vector<double> bad{1e100, 1.0, -1e100, 1e-30, 0x1p53, 1, -0x1p53};
  const auto about = summarise_items(scalar::f64, bad.data(), bad.size());
  EXPECT_EQ(about.high + about.low, 2.0);
}

TEST(Workload, MergingIsSummarisingTogether) {
  const auto floats = items<float>(scalar::f32, 5'000, false);
  const auto whole = summarise_items(scalar::f32, floats.data(), 5'000);
  summary_of_items parts;
  for (std::size_t from = 0; from < 5'000; from += 625)
    merge(parts, summarise_items(scalar::f32, floats.data() + from, 625));
  merge(parts, summary_of_items{});
  EXPECT_EQ(parts.high + parts.low, whole.high + whole.low);
  EXPECT_EQ(parts.least, whole.least);
  EXPECT_EQ(parts.greatest, whole.greatest);
}

TEST(Verify, IntegersBitForBit) {
  for (const op combine : {op::plus, op::minimum, op::maximum}) {
    const auto ints = items<int>(scalar::i32, 1'000, false);
    const auto about = summarise_items(scalar::i32, ints.data(), ints.size());
    const int right = combine == op::plus      ? std::accumulate(ints.begin(), ints.end(), 0)
                      : combine == op::minimum ? *std::min_element(ints.begin(), ints.end())
                                               : *std::max_element(ints.begin(), ints.end());
    const auto one = a_record(combine, scalar::i32);
    EXPECT_TRUE(judge(one, about, 1'000, 0, false, bytes_of(right)).right);
    const auto wrong = judge(one, about, 1'000, 0, false, bytes_of(right + 1));
    EXPECT_FALSE(wrong.right);
    EXPECT_NE(wrong.why.find(std::to_string(right)), std::string::npos) << wrong.why;
  }
}

TEST(Verify, SumsOfNarrowIntegersWrapInTheAccumulator) {
  const std::vector<std::uint8_t> bytes(1'000, 255);
  auto one = a_record(op::plus, scalar::u32);
  one.input_type = scalar::u8;
  const auto about = summarise_items(scalar::u8, bytes.data(), bytes.size());
  EXPECT_TRUE(judge(one, about, 1'000, 3, false, bytes_of(255'003u)).right);
  const std::vector<std::int8_t> negative(1'000, -128);
  one = a_record(op::plus, scalar::i32);
  one.input_type = scalar::i8;
  EXPECT_TRUE(
      judge(one, summarise_items(scalar::i8, negative.data(), 1'000), 1'000, 0, false, bytes_of(-128'000)).right);
}

TEST(Verify, ALostItemOfAWholeSumIsSeen) {
  const auto floats = items<float>(scalar::f32, 1 << 20, true);
  const auto about = summarise_items(scalar::f32, floats.data(), floats.size());
  const float right = static_cast<float>(about.high + about.low + 3);
  const auto one = a_record(op::plus, scalar::f32);
  EXPECT_TRUE(judge(one, about, floats.size(), 3, true, bytes_of(right)).right);
  for (const std::size_t lost : {std::size_t{0}, std::size_t{777}, floats.size() - 1})
    EXPECT_FALSE(judge(one, about, floats.size(), 3, true, bytes_of(right - floats[lost])).right);
}

TEST(Verify, GeneralSumsMayErrWithinTheirHeight) {
  const auto floats = items<float>(scalar::f32, 10'000, false);
  const auto about = summarise_items(scalar::f32, floats.data(), floats.size());
  const double exact = about.high + about.low;
  const auto one = a_record(op::plus, scalar::f32);
  const double bound = 31 * 0x1p-24 * about.magnitudes;
  const auto near = judge(one, about, 10'000, 0, false, bytes_of(static_cast<float>(exact + 0.9 * bound)));
  EXPECT_TRUE(near.right);
  EXPECT_GT(near.error_ulps, 1);
  EXPECT_FALSE(judge(one, about, 10'000, 0, false, bytes_of(static_cast<float>(exact + 1.2 * bound))).right);
  EXPECT_FALSE(judge(one, about, 10'000, 0, false, bytes_of(std::nanf(""))).right);
  EXPECT_LE(judge(one, about, 10'000, 0, false, bytes_of(static_cast<float>(exact))).error_ulps, 0.5);
}

TEST(Verify, PoisonIsNeverRight) {
  value_bytes poison;
  poison.fill(0xa5);
  for (const scalar type : {scalar::i32, scalar::u32, scalar::f32, scalar::f64, scalar::i64, scalar::u64}) {
    for (const op combine : {op::plus, op::minimum, op::maximum}) {
      std::vector<unsigned char> storage(8 * 1'000);
      generate({type, 1'000, 9, false}, storage.data());
      const auto about = summarise_items(type, storage.data(), 1'000);
      EXPECT_FALSE(judge(a_record(combine, type), about, 1'000, 0, false, poison).right);
    }
  }
}

TEST(Verify, InitIsTheOperatorsExtreme) {
  float least;
  std::memcpy(&least, init_of(op::maximum, scalar::f32, 0).data(), 4);
  EXPECT_EQ(least, -std::numeric_limits<float>::max());
  long long greatest;
  std::memcpy(&greatest, init_of(op::minimum, scalar::i64, 0).data(), 8);
  EXPECT_EQ(greatest, std::numeric_limits<long long>::max());
  double three;
  std::memcpy(&three, init_of(op::plus, scalar::f64, 3).data(), 8);
  EXPECT_EQ(three, 3);
}

}  // namespace
}  // namespace rungs::bench
