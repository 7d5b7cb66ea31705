// What judges the study of atomics: right values pass, and others are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "host_bench/right_updates.hpp"

namespace rungs::bench {
namespace {

using catalog::op, catalog::scalar;
using tests::update_call;

template <class Op, class T>
std::vector<T> done_one_by_one(const update_call& of) {
  std::vector<T> values(of.num_addresses);
  catalog::arguments a;
  a.d_out = values.data();
  a.num_items = of.num_operations;
  a.num_addresses = of.num_addresses;
  a.seed = of.seed;
  std::size_t num_bytes = 16;
  fakes::update<Op, T>(&num_bytes, num_bytes, a, nullptr);
  return values;
}

TEST(Updates, WhatIsDoneOneByOneIsRightAndNothingElse) {
  int combinations = 0;
  for (const op which : fakes::studied_operators) {
    for (const scalar type : fakes::studied_types) {
      tests::with_update(which, type, [&]<class Op, class T>() {
        ++combinations;
        for (const std::size_t num_operations : {0u, 1u, 33u, 1000u, 40000u, 1u << 20}) {
          for (const std::size_t num_addresses : {1u, 2u, 32u, 1000u, 65536u}) {
            if (num_operations > 40000 && num_addresses != 1000) continue;  // by many threads
            const update_call of{which, type, num_operations, num_addresses, 11};
            auto values = done_one_by_one<Op, T>(of);
            const auto expected = values_after(of);
            EXPECT_EQ(disagreement(of, expected, values.data()), std::nullopt)
                << name(which) << ' ' << name(type) << ' ' << num_operations << " on " << num_addresses;
            for (const std::size_t k : {std::size_t{0}, num_addresses - 1}) {
              const T right = values[k];
              auto* const bytes = reinterpret_cast<unsigned char*>(&values[k]);
              bytes[sizeof(T) - 1] = static_cast<unsigned char>(bytes[sizeof(T) - 1] ^ 0x40);
              EXPECT_TRUE(disagreement(of, expected, values.data())) << name(which) << ' ' << name(type) << ' ' << k;
              values[k] = right;
            }
          }
        }
      });
      EXPECT_EQ(tests::has_reference({which, type}), tests::with_update(which, type, []<class Op, class T>() {}));
    }
  }
  EXPECT_EQ(combinations, 3 * 9 + 2 * 3 + 2);
}

TEST(Updates, AnExchangeLeavesOneOfItsOwnValues) {
  const update_call of{op::exchange, scalar::u32, 1000, 10, 5};
  const auto expected = values_after(of);
  auto values = done_one_by_one<exchange, unsigned>(of);
  const auto work = parts::updates::of<exchange, unsigned>(of.num_operations, 10, of.seed);
  for (unsigned i = 0; i < of.num_operations; ++i) {
    const unsigned address = work.address_of(work.bits_of(i)), kept = values[address];
    values[address] = i;
    EXPECT_EQ(disagreement(of, expected, values.data()), std::nullopt);
    values[address] = kept;
  }
  values[3] = values[4];
  EXPECT_TRUE(disagreement(of, expected, values.data()));
  values[3] = ~0u;
  EXPECT_TRUE(disagreement(of, expected, values.data())) << "the start is no value of an operation";
}

// Of a pair the lower one, which is never the lesser.
unsigned whole_of(float value) { return static_cast<unsigned>(value); }
unsigned whole_of(const __half2& pair) { return whole_of(__half2float(__low2half(pair))); }
unsigned whole_of(const __nv_bfloat162& pair) { return whole_of(__bfloat162float(__low2bfloat16(pair))); }

// Sums stay exact, and every address gets its share, at the sizes that are measured.
TEST(Updates, SumsStayExactAtTheStudysSizes) {
  constexpr std::size_t num_operations = std::size_t{16} << 20;
  for (const scalar type : {scalar::f32, scalar::f16x2, scalar::bf16x2}) {
    for (const unsigned num_addresses : {1u, 1024u, 1u << 20}) {
      tests::with_update(op::plus, type, [&]<class Op, class T>() {
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) return;
        const auto work = parts::updates::of<Op, T>(num_operations, num_addresses, 3);
        std::vector<unsigned> counts(num_addresses), sums(num_addresses);
        for (std::size_t i = 0; i < num_operations; ++i) {
          const unsigned bits = work.bits_of(i), address = work.address_of(bits);
          const T value = work.template value_of<Op, T>(i, bits);
          ++counts[address];
          sums[address] += whole_of(value);
        }
        const unsigned largest = *std::max_element(sums.begin(), sums.end());
        EXPECT_LE(largest, type == scalar::f32 ? 1u << 24 : type == scalar::f16x2 ? 2048u : 256u) << name(type);
        EXPECT_GT(largest, 0u);
        EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1u);
      });
    }
  }
}

}  // namespace
}  // namespace rungs::bench
