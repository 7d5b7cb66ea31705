#include "oracles/samples.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "oracles/bits.hpp"

namespace rungs::tests {
namespace {

TEST(narrow_floats, widen_as_the_toolkit_does) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto raw = static_cast<unsigned short>(bits);
    const double half = __half2float(__half(__half_raw{raw})),
                 brain = __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{raw}));
    EXPECT_EQ(std::isnan(to_double(f16{raw})), std::isnan(half)) << bits;
    EXPECT_EQ(std::isnan(to_double(bf16{raw})), std::isnan(brain)) << bits;
    if (!std::isnan(half)) {
      EXPECT_EQ(make_value(to_double(f16{raw})), make_value(half)) << bits;
      EXPECT_EQ(from_double<f16>(half).bits, raw);
    }
    if (!std::isnan(brain)) {
      EXPECT_EQ(make_value(to_double(bf16{raw})), make_value(brain)) << bits;
      EXPECT_EQ(from_double<bf16>(brain).bits, raw);
    }
  }
}

TEST(narrow_floats, round_as_the_toolkit_does) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 60) - 90);
    const __half_raw half = __double2half(x);
    EXPECT_EQ(from_double<f16>(x).bits, half.x) << x;
  }
  for (int i = 0; i < 200000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(x)) continue;
    const __nv_bfloat16_raw brain = __float2bfloat16_rn(x);
    EXPECT_EQ(from_double<bf16>(static_cast<double>(x)).bits, brain.x) << x;
  }
}

TEST(samples, exact_ones_stay_within_the_budget) {
  for (const std::size_t n :
       {1ul, 2ul, 33ul, 1000ul, 999983ul, (1ul << 23) - 1, 1ul << 23, (1ul << 24) + 1, 30000001ul}) {
    const sample s = make_sample(distribution::exact, 9, n);
    double magnitudes = 0;
    for (std::size_t i = 0; i < n; ++i) magnitudes += std::abs(to_double(item<float>(s, i)));
    EXPECT_LE(magnitudes, 0x1p23) << n;
    EXPECT_GT(magnitudes, n == 1 ? 0 : 0x1p20) << n;
    EXPECT_NE(item<float>(s, n - 1), n < 3 ? 1e9f : 0.0f) << n;
  }
}

TEST(samples, depend_on_the_index_and_the_seed_and_have_both_signs) {
  for (const auto kind : {distribution::exact, distribution::uniform, distribution::alternating, distribution::sorted,
                          distribution::wide}) {
    const sample a = make_sample(kind, 1, 1000), b = make_sample(kind, 2, 1000);
    std::set<double> values;
    int changed = 0, negative = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
      values.insert(item<double>(a, i));
      changed += item<double>(a, i) != item<double>(b, i);
      negative += std::signbit(item<double>(a, i));
    }
    EXPECT_GE(values.size(), kind == distribution::alternating ? 4u : 900u) << name(kind);
    EXPECT_GT(changed, 100) << name(kind);
    EXPECT_GT(negative, 300) << name(kind);
    EXPECT_LT(negative, 700) << name(kind);
  }
}

TEST(samples, spikes_and_nans_stand_at_every_kind_of_place) {
  std::set<std::size_t> places;
  for (std::uint64_t seed = 0; seed < 100; ++seed) places.insert(make_sample(distribution::spike, seed, 1000).position);
  EXPECT_TRUE(places.contains(0));
  EXPECT_TRUE(places.contains(999));
  EXPECT_TRUE(places.contains(500));
  EXPECT_GT(places.size(), 10u);
  int nans = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const sample s = make_sample(distribution::special, seed, 100);
    if (seed % num_special == special_nan) {
      EXPECT_TRUE(std::isnan(item<float>(s, s.position)));
      ++nans;
    }
  }
  EXPECT_EQ(nans, 10);
}

TEST(samples, fit_their_type) {
  for (const auto type : {catalog::scalar::f16, catalog::scalar::bf16, catalog::scalar::f32, catalog::scalar::f64})
    with_type(type, [&]<class T>(type_tag<T>) {
      for (int d = 0; d < num_distributions; ++d)
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
          const sample s = make_sample(static_cast<distribution>(d), seed, 300);
          for (std::size_t i = 0; i < 300; ++i) {
            const double x = to_double(item<T>(s, i));
            EXPECT_TRUE(s.kind == distribution::special || std::isfinite(x)) << name(s.kind) << ' ' << i;
            EXPECT_TRUE(s.kind != distribution::exact || x == std::nearbyint(x)) << i;
          }
        }
    });
}

}  // namespace
}  // namespace rungs::tests
