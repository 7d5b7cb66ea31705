#include "oracles/reference.hpp"
#include "oracles/rows_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracles/keys.hpp"

namespace rungs::tests {
namespace {

using catalog::op;
using catalog::scalar;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> make_items(const sample& s) {
  std::vector<T> items(s.num_items);
  for (std::size_t i = 0; i < s.num_items; ++i) items[i] = item<T>(s, i);
  return items;
}

expectation of_floats(op which, const std::vector<float>& items, float init) {
  return expect(which, scalar::f32, scalar::f32, items.data(), items.size(), make_value(init));
}
bool accepts(const expectation& e, float got, tolerance t = {}) { return !disagreement(e, make_value(got), t); }

TEST(bytes, differ_in_the_sign_of_zero_the_payload_of_nan_the_size_and_any_bit) {
  const float plus_zero = 0.0f, minus_zero = -0.0f;
  EXPECT_FALSE(same_bytes(&plus_zero, 4, &minus_zero, 4));
  const auto a = std::bit_cast<float>(0x7fc00000u), b = std::bit_cast<float>(0x7fc00001u);
  EXPECT_FALSE(same_bytes(&a, 4, &b, 4));
  EXPECT_TRUE(same_bytes(&a, 4, &a, 4));
  EXPECT_FALSE(same_bytes(&a, 4, &a, 3));
  EXPECT_TRUE(same_bytes(nullptr, 0, nullptr, 0));
  std::vector<unsigned char> bytes(67, 0x5a);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] = static_cast<unsigned char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(same_bytes(bytes.data(), bytes.size(), flipped.data(), flipped.size()));
  }
}

TEST(reference, no_items_give_init) {
  for (const auto which : {op::plus, op::minimum, op::maximum}) {
    EXPECT_EQ(of_floats(which, {}, -7.5f).exact, make_value(-7.5f));
    EXPECT_EQ(of_floats(which, {}, -0.0f).exact, make_value(-0.0f));
    EXPECT_EQ(expect(which, scalar::u8, scalar::u32, nullptr, 0, make_value(9u)).exact, make_value(9u));
  }
}

TEST(reference, init_takes_part_once) {
  EXPECT_EQ(of_floats(op::plus, {1, 2, 3}, 10).exact, make_value(16.0f));
  EXPECT_EQ(of_floats(op::minimum, {1, 2, 3}, 0.5f).exact, make_value(0.5f));
  EXPECT_EQ(of_floats(op::maximum, {1, 2, 3}, 0.5f).exact, make_value(3.0f));
  const std::int32_t items[] = {std::numeric_limits<std::int32_t>::max(), 1};
  EXPECT_EQ(expect(op::plus, scalar::i32, scalar::i32, items, 2, make_value(1)).exact,
            make_value(std::numeric_limits<std::int32_t>::min() + 1));
}

TEST(reference, minimum_and_maximum_propagate_nan_and_order_zeros) {
  for (const auto which : {op::minimum, op::maximum})
    for (int place = 0; place < 3; ++place) {
      std::vector<float> items{1, 2, 3};
      items[static_cast<std::size_t>(place)] = static_cast<float>(nan);
      EXPECT_TRUE(of_floats(which, items, 0).is_nan);
    }
  EXPECT_TRUE(of_floats(op::maximum, {1}, static_cast<float>(nan)).is_nan);
  EXPECT_EQ(of_floats(op::minimum, {0.0f, -0.0f}, 0.0f).exact, make_value(-0.0f));
  EXPECT_EQ(of_floats(op::maximum, {-0.0f, 0.0f}, -0.0f).exact, make_value(0.0f));
  EXPECT_EQ(of_floats(op::minimum, {static_cast<float>(infinity)}, static_cast<float>(infinity)).exact,
            make_value(static_cast<float>(infinity)));
  EXPECT_FALSE(accepts(of_floats(op::minimum, {0.0f, -0.0f}, 0.0f), 0.0f));
  EXPECT_TRUE(accepts(of_floats(op::minimum, {0.0f, -0.0f}, 0.0f), 0.0f, {.propagates_nan = false}));
  EXPECT_TRUE(accepts(of_floats(op::maximum, {static_cast<float>(nan)}, 0), std::bit_cast<float>(0xffc01234u)));
  EXPECT_FALSE(accepts(of_floats(op::maximum, {static_cast<float>(nan)}, 0), 0));
}

TEST(reference, a_sum_of_minus_zeros_is_minus_zero) {
  EXPECT_EQ(of_floats(op::plus, {-0.0f, -0.0f}, -0.0f).exact, make_value(-0.0f));
  EXPECT_EQ(of_floats(op::plus, {-0.0f, -0.0f}, 0.0f).exact, make_value(0.0f));
  EXPECT_EQ(of_floats(op::plus, {1.0f, -1.0f}, -0.0f).exact, make_value(0.0f));
  EXPECT_FALSE(accepts(of_floats(op::plus, {-0.0f}, -0.0f), 0.0f));
  EXPECT_TRUE(accepts(of_floats(op::plus, {-0.0f}, -0.0f), 0.0f, {.keeps_zero_sign = false}));
}

TEST(reference, infinities_and_nan_in_a_sum) {
  const auto inf = static_cast<float>(infinity);
  EXPECT_TRUE(of_floats(op::plus, {1, inf, -inf}, 0).is_nan);
  EXPECT_TRUE(accepts(of_floats(op::plus, {1, inf, 3}, 0), inf));
  EXPECT_FALSE(accepts(of_floats(op::plus, {1, inf, 3}, 0), -inf));
  EXPECT_FALSE(accepts(of_floats(op::plus, {1, inf, 3}, 0), 4));
  EXPECT_FALSE(accepts(of_floats(op::plus, {1, 3}, 0), inf, {.height = 10}));
  EXPECT_FALSE(accepts(of_floats(op::plus, {1, 3}, 0), static_cast<float>(nan), {.height = 10}));
}

TEST(reference, one_lost_item_in_an_exact_sum_is_noticed) {
  const sample s = make_sample(distribution::exact, 5, 5000);
  const auto items = make_items<float>(s);
  const auto e = of_floats(op::plus, items, -17);
  ASSERT_TRUE(e.is_exact);
  const auto right = as<float>(e.exact);
  EXPECT_TRUE(accepts(e, right, {.height = 5000}));
  for (const float x : items) EXPECT_TRUE(x == 0 || !accepts(e, right - x, {.height = 5000}));
}

TEST(reference, a_general_sum_may_err_by_gamma_and_no_more) {
  const sample s = make_sample(distribution::uniform, 5, 100000);
  const auto items = make_items<float>(s);
  const auto e = of_floats(op::plus, items, 0);
  ASSERT_FALSE(e.is_exact);
  float serial = 0;
  for (const float x : items) serial += x;
  EXPECT_TRUE(accepts(e, serial, {.height = items.size()}));
  EXPECT_TRUE(accepts(e, as<float>(e.exact)));  // the correctly rounded sum, whatever the height
  const double bound = gamma(20, 0x1p-24) * e.magnitudes;
  EXPECT_TRUE(accepts(e, static_cast<float>(as<float>(e.exact) + 0.9 * bound), {.height = 20}));
  EXPECT_FALSE(accepts(e, static_cast<float>(as<float>(e.exact) + 1.2 * bound), {.height = 20}));
  EXPECT_TRUE(std::isinf(gamma(std::size_t{1} << 24, 0x1p-24)));
}

TEST(checksum, sees_every_change_of_an_item_and_every_exchange_of_two) {
  const sample s = make_sample(distribution::uniform, 1, 50);
  auto items = make_items<float>(s);
  const auto checksum = [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < items.size(); ++i) sum += checksum_of(items[i], i);
    return sum;
  };
  const auto before = checksum();
  std::swap(items[3], items[4]);
  EXPECT_NE(checksum(), before);
  std::swap(items[3], items[4]);
  EXPECT_EQ(checksum(), before);
  items[49] = std::nextafter(items[49], 2.0f);
  EXPECT_NE(checksum(), before);
}

TEST(reference, a_dot_product_is_the_sum_of_exact_products) {
  const float x[] = {0x1.000002p0f, 3, -0x1.000002p0f}, y[] = {0x1.000002p0f, 0.5f, 0x1p0f};
  const auto e = expect_dot(scalar::f32, scalar::f32, x, y, 3);
  EXPECT_EQ(e.sum.rounded<double>(), 1.5 + 0x1p-23 + 0x1p-46);
  EXPECT_FALSE(e.is_exact);
  EXPECT_TRUE(accepts(e, 1.5f + 0x1p-23f));
  EXPECT_FALSE(accepts(e, 2.5f, {.height = 5}));

  // The square of 1 + 2^-52 has a bit that no double holds beside the others.
  const double a[] = {1 + 0x1p-52, 1}, b[] = {1 + 0x1p-52, -1};
  EXPECT_EQ(expect_dot(scalar::f64, scalar::f64, a, b, 2).sum.rounded<double>(), 0x1p-51 + 0x1p-104);
  EXPECT_EQ(expect_dot(scalar::f64, scalar::f64, a, b, 0).exact, make_value(0.0));

  const std::int8_t bytes[] = {-128, 127, -1}, others[] = {-128, -128, 100};
  EXPECT_EQ(expect_dot(scalar::i8, scalar::i32, bytes, others, 3).exact, make_value(128 * 128 - 127 * 128 - 100));
}

TEST(reference, infinities_and_nan_in_a_dot_product) {
  const auto inf = static_cast<float>(infinity);
  const float x[] = {inf, 1, 0}, y[] = {-2, 1, inf};
  EXPECT_EQ(expect_dot(scalar::f32, scalar::f32, x, y, 2).exact, make_value(-inf));
  EXPECT_TRUE(expect_dot(scalar::f32, scalar::f32, x, y, 3).is_nan);  // 0 times infinity
}

template <class T>
place_of_extremum found_in(op which, scalar type, const std::vector<T>& items) {
  place_of_extremum place = no_place(which, type);
  for (std::size_t i = 0; i < items.size(); i += 2)  // in pieces
    look_at(place, which, type, &items[i], i, std::min<std::size_t>(2, items.size() - i));
  return place;
}

TEST(reference, of_equals_the_first_place_is_meant) {
  const std::vector<std::int32_t> ints{5, -7, 9, -7, 9};
  EXPECT_EQ(found_in(op::minimum, scalar::i32, ints).index, 1u);
  EXPECT_EQ(found_in(op::maximum, scalar::i32, ints).index, 2u);
  const std::vector<float> zeros{1, 0.0f, -0.0f, 2};
  EXPECT_EQ(found_in(op::minimum, scalar::f32, zeros).index, 1u);
  EXPECT_EQ(found_in(op::minimum, scalar::f32, zeros).item, make_value(0.0f));
  EXPECT_EQ(found_in(op::maximum, scalar::f64, std::vector<double>{-infinity, -infinity}).index, 0u);
}

TEST(reference, the_first_nan_is_the_place_of_either_extremum) {
  const auto some = static_cast<float>(nan), inf = static_cast<float>(infinity);
  for (const op which : {op::minimum, op::maximum}) {
    EXPECT_EQ(found_in(which, scalar::f32, std::vector<float>{some, -inf, inf}).index, 0u);
    EXPECT_EQ(found_in(which, scalar::f32, std::vector<float>{-inf, inf, some, some, 1}).index, 2u);
    EXPECT_EQ(found_in(which, scalar::f32, std::vector<float>{-inf, inf, 0, 1, some}).index, 4u);
  }
}

TEST(reference, what_is_less_than_a_threshold_comes_in_its_order) {
  const std::vector<float> items{2, -0.0f, static_cast<float>(nan), -3, 0.0f, 1, -static_cast<float>(infinity)};
  std::vector<unsigned char> chosen;
  append_less(chosen, scalar::f32, make_value(1.0f), items.data(), 3);
  append_less(chosen, scalar::f32, make_value(1.0f), items.data() + 3, items.size() - 3);
  const std::vector<float> expected{-0.0f, -3, 0.0f, -static_cast<float>(infinity)};
  EXPECT_TRUE(same_bytes(chosen.data(), chosen.size(), expected.data(), expected.size() * sizeof(float)));
}

TEST(reference, the_first_columns) {
  using columns = std::vector<std::uint32_t>;
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> items{1, -nan, 3, 0.0f, -0.0f, nan, 3, static_cast<float>(infinity), -1};
  EXPECT_EQ(first_columns(scalar::f32, items.data(), items.size(), 9), (columns{1, 5, 7, 2, 6, 0, 3, 4, 8}));
  EXPECT_EQ(first_columns(scalar::f32, items.data() + 2, 5, 1), (columns{3}));
  EXPECT_EQ(first_columns(scalar::f32, items.data() + 3, 2, 2), (columns{0, 1}));
  const std::vector<std::int32_t> numbers{-5, 7, std::numeric_limits<std::int32_t>::min(), 7, 0};
  EXPECT_EQ(first_columns(scalar::i32, numbers.data(), numbers.size(), 5), (columns{1, 3, 4, 0, 2}));
  EXPECT_EQ(first_columns(scalar::i32, numbers.data(), 0, 0), columns{});
}

TEST(reference, the_place_of_nothing) {
  EXPECT_EQ(found_in(op::minimum, scalar::f32, std::vector<float>{}).item, make_value(static_cast<float>(infinity)));
  EXPECT_EQ(found_in(op::maximum, scalar::i32, std::vector<std::int32_t>{}).item,
            make_value(std::numeric_limits<std::int32_t>::min()));
  EXPECT_EQ(found_in(op::maximum, scalar::i32, std::vector<std::int32_t>{}).index, 1u);
}

}  // namespace
}  // namespace rungs::tests
