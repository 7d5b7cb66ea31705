// The oracle of histograms against exact fractions and against counts done by hand. The checker meets the oracle in
// gpu/checkers.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracles/histogram_check.hpp"
#include "oracles/histogram_reference.hpp"
#include "oracles/histogram_samples.hpp"

namespace rungs::tests {
namespace {

using catalog::scalar;

constexpr scalar sample_types[] = {scalar::u8,  scalar::i8,  scalar::u16, scalar::i16, scalar::i32,
                                   scalar::u32, scalar::f32, scalar::f64, scalar::f16};
scalar level_of(scalar sample) {
  return sample == scalar::f16 ? scalar::f32 : catalog::size_of(sample) < 4 ? scalar::i32 : sample;
}

template <class L>
histogram_call call_of(scalar sample, scalar level, bool even, int num_bins, std::vector<L> levels) {
  histogram_call call{.sample = sample, .level = level, .even = even, .num_bins = num_bins};
  call.levels.resize(levels.size() * sizeof(L));
  std::memcpy(call.levels.data(), levels.data(), call.levels.size());
  return call;
}

template <class T, class L>
std::vector<std::uint64_t> counts_of(scalar sample, scalar level, bool even, int num_bins, std::vector<L> levels,
                                     std::vector<T> samples) {
  return count(call_of(sample, level, even, num_bins, levels), samples.data(), samples.size()).bins;
}
using bins = std::vector<std::uint64_t>;

TEST(histogram_oracle, counts_what_one_counts_by_hand) {
  EXPECT_EQ((counts_of<std::uint8_t, int>(scalar::u8, scalar::i32, true, 4, {0, 256}, {0, 63, 64, 255, 255})),
            (bins{2, 1, 0, 2}));
  // Five thirds wide: [0, 5/3), [5/3, 10/3), [10/3, 5).
  EXPECT_EQ((counts_of<int, int>(scalar::i32, scalar::i32, true, 3, {-10, -5}, {-11, -10, -9, -8, -7, -6, -5})),
            (bins{2, 2, 1}));
  EXPECT_EQ((counts_of<std::int8_t, int>(scalar::i8, scalar::i32, true, 2, {-128, 128}, {-128, -1, 0, 127})),
            (bins{2, 2}));
  // Each integer has bins of its own, of which it takes the first.
  EXPECT_EQ((counts_of<int, int>(scalar::i32, scalar::i32, true, 6, {0, 2}, {0, 1, 1, 2})), (bins{1, 0, 0, 2, 0, 0}));
  constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  EXPECT_EQ((counts_of<int, int>(scalar::i32, scalar::i32, true, 2, {least, most}, {least, -1, 0, most - 1, most})),
            (bins{2, 2}));
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ((counts_of<float, float>(scalar::f32, scalar::f32, true, 2, {-1.f, 1.f},
                                     {nan, -infinity, infinity, -1.f, -0.f, 0.f, 0.5f, 1.f})),
            (bins{1, 3}));
  EXPECT_EQ((counts_of<int, int>(scalar::i32, scalar::i32, false, 4, {0, 3, 3, 3, 9}, {-1, 0, 2, 3, 8, 9})),
            (bins{2, 0, 0, 2}));
  EXPECT_EQ((counts_of<float, float>(scalar::f32, scalar::f32, false, 2, {0.f, 1.5f, 2.f}, {nan, -0.f, 1.5f, 2.f})),
            (bins{1, 1}));
}

TEST(histogram_oracle, tells_where_the_rest_is_and_leaves_out_channels) {
  histogram_call call = make_levels(levels_kind::unit, true, scalar::f32, scalar::f32, 4);
  const float samples[] = {0.5f, 9.f, -1.f, 3.f, 1.5f, NAN, 3.999f, 3.f};
  const counted all = count(call, samples, 8);
  EXPECT_EQ(all.bins, (bins{1, 1, 0, 3}));
  EXPECT_EQ(all.inside, 5u);
  EXPECT_EQ(all.below, 1u);
  EXPECT_EQ(all.above, 1u);
  EXPECT_EQ(all.nans, 1u);
  call.num_channels = 4;
  call.num_active_channels = 3;
  EXPECT_EQ(count(call, samples, 8).bins, (bins{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
}

// s, lower and upper are multiples of 2^-scale: the bin as an exact fraction.
int exact_bin(double s, double lower, double upper, int num_bins, int scale) {
  const auto exact = [&](double x) { return static_cast<__int128>(std::ldexp(x, scale)); };
  return static_cast<int>((exact(s) - exact(lower)) * num_bins / (exact(upper) - exact(lower)));
}

TEST(histogram_oracle, of_even_floats_is_within_one_bin_of_the_exact_edge) {
  for (const levels_kind kind :
       {levels_kind::unit, levels_kind::ragged, levels_kind::broad, levels_kind::narrow, levels_kind::negative})
    for (const int num_bins : {1, 2, 64, 255, 256, 257, 1000, 4096, 65536}) {
      const histogram_call call = make_levels(kind, true, scalar::f32, scalar::f32, num_bins);
      const histogram_oracle oracle(call);
      const float lower = as<float>(call.level_at(0)), upper = as<float>(call.level_at(1));
      int inside = 0, off = 0;
      for (const table_kind of : {table_kind::edges, table_kind::inside}) {
        const auto bytes = make_table(call, of);
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
          float s;
          std::memcpy(&s, &bytes[i], sizeof s);
          const placed p = oracle.place(static_cast<double>(s));
          ASSERT_EQ(p.where == whereabouts::inside, s >= lower && s < upper) << s;
          if (p.where != whereabouts::inside || (std::fabs(s) < 0x1p-40f && s != 0)) continue;
          ++inside;
          const int exact = exact_bin(s, lower, upper, num_bins, 64);
          ASSERT_LE(std::abs(p.bin - exact), 1) << s << " of " << num_bins << " bins, " << name(kind);
          off += p.bin != exact;
        }
      }
      EXPECT_GT(inside, 100) << name(kind);
      if (kind == levels_kind::unit) {
        EXPECT_EQ(off, 0) << num_bins;
      }
    }
}

// The formula is one of integers only: it agrees with edges that were computed as fractions.
TEST(histogram_oracle, of_even_integers_is_exact) {
  for (const scalar type : sample_types) {
    if (is_floating(type)) continue;
    for (int kind = 0; kind < num_even_levels; ++kind)
      for (const int num_bins : {1, 3, 255, 257, 4096}) {
        const histogram_call call = make_levels(static_cast<levels_kind>(kind), true, type, level_of(type), num_bins);
        const histogram_oracle oracle(call);
        const auto level = [&](std::size_t i) {
          return with_type(call.level, [&](auto t) -> __int128 {
            using L = typename decltype(t)::type;
            if constexpr (is_float<L>)
              return 0;
            else
              return as<L>(call.level_at(i));
          });
        };
        const __int128 lower = level(0), range = level(1) - lower;
        ASSERT_GT(range, 0);
        for (__int128 k = 0; k < num_bins; ++k) {
          const __int128 first = lower + (k * range + num_bins - 1) / num_bins;  // the least sample not before edge k
          const placed here = oracle.place(first), before = oracle.place(first - 1);
          ASSERT_EQ(here.where, first < lower + range ? whereabouts::inside : whereabouts::above);
          if (here.where == whereabouts::inside) {
            ASSERT_GE(here.bin, k);
            ASSERT_LE(here.bin * range, (first - lower) * num_bins);
          }
          if (before.where == whereabouts::inside) {
            ASSERT_LT(before.bin, k);
          }
        }
      }
  }
}

TEST(histogram_levels, ascend_and_are_of_their_kind) {
  for (const scalar type : sample_types)
    for (int kind = 0; kind < num_range_levels; ++kind)
      for (const int num_bins : {1, 2, 257, 1000, 65536}) {
        const histogram_call range = make_levels(static_cast<levels_kind>(kind), false, type, level_of(type), num_bins);
        ASSERT_EQ(range.levels.size(), (static_cast<std::size_t>(num_bins) + 1) * catalog::size_of(range.level));
        int alike = 0;
        with_type(range.level, [&]<class L>(type_tag<L>) {
          for (int k = 0; k < num_bins; ++k) {
            const double a = to_double(as<L>(range.level_at(static_cast<std::size_t>(k)))),
                         b = to_double(as<L>(range.level_at(static_cast<std::size_t>(k) + 1)));
            ASSERT_LE(a, b) << catalog::name(type) << ' ' << k;
            alike += a == b;
          }
        });
        if (static_cast<levels_kind>(kind) == levels_kind::duplicated && num_bins > 6) {
          EXPECT_GE(alike, num_bins / 2);
        }
        if (static_cast<levels_kind>(kind) == levels_kind::broad) {
          EXPECT_EQ(alike, 0) << catalog::name(type) << num_bins;
        }
      }
}

TEST(histogram_samples, are_of_their_kind) {
  for (const scalar type : sample_types)
    for (const bool even : {true, false})
      for (const int num_bins : {1, 256, 1000}) {
        const histogram_call call = make_levels(levels_kind::ragged, even, type, level_of(type), num_bins);
        const histogram_oracle oracle(call);
        const auto tally = [&](table_kind kind) {
          const auto bytes = make_table(call, kind);
          const std::size_t size = catalog::size_of(type);
          counted c = count(call, bytes.data(), bytes.size() / size);
          EXPECT_EQ(c.inside, std::accumulate(c.bins.begin(), c.bins.end(), std::uint64_t{0}));
          return c;
        };
        const counted inside = tally(table_kind::inside), outside = tally(table_kind::outside),
                      edges = tally(table_kind::edges);
        EXPECT_GT(inside.inside, 100u) << catalog::name(type);
        EXPECT_EQ(inside.below + inside.above + inside.nans, 0u);
        EXPECT_EQ(outside.inside, 0u);
        EXPECT_GT(outside.below, 0u);
        EXPECT_GT(edges.inside, 0u);
        EXPECT_EQ(edges.nans > 0, is_floating(type));
        EXPECT_EQ(outside.nans > 0, is_floating(type));
        EXPECT_GT(edges.below, 0u) << catalog::name(type);
        if (catalog::size_of(type) > 1) {
          EXPECT_GT(std::ranges::count_if(edges.bins, [](auto c) { return c > 0; }), num_bins / 2)
              << catalog::name(type);
        }
      }
}

TEST(histogram_samples, are_drawn_as_their_distribution_says) {
  const histogram_call call = make_levels(levels_kind::unit, true, scalar::i32, scalar::i32, 1000);
  const std::size_t n = 20000;
  const auto drawn = [&](distribution kind) {
    const auto table = make_table(call, table_of(kind));
    sample s = make_sample(kind, 3, n);
    s.table = table.data();
    s.table_items = static_cast<std::uint32_t>(table.size() / 4);
    std::vector<int> samples(n);
    for (std::size_t i = 0; i < n; ++i) samples[i] = item<int>(s, i);
    return samples;
  };
  const auto bins_hit = [&](distribution kind) {
    const auto samples = drawn(kind);
    return std::ranges::count_if(count(call, samples.data(), n).bins, [](auto c) { return c > 0; });
  };
  EXPECT_EQ(bins_hit(distribution::inside), 1000);
  EXPECT_EQ(bins_hit(distribution::edges), 1000);
  EXPECT_EQ(bins_hit(distribution::one_bin), 1);
  EXPECT_LE(bins_hit(distribution::eight_hot), 8);
  EXPECT_GE(bins_hit(distribution::eight_hot), 6);
  EXPECT_EQ(bins_hit(distribution::outside), 0);
  EXPECT_GT(bins_hit(distribution::skewed), 500);
  auto ascending = drawn(distribution::ascending);
  EXPECT_TRUE(std::ranges::is_sorted(ascending) || std::ranges::is_sorted(ascending, std::greater<>()));
  const auto runs = drawn(distribution::runs);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < n; ++i) changes += runs[i] != runs[i - 1];
  EXPECT_LT(changes, n / 2);
  EXPECT_GT(changes, n / 70);
  const auto any = drawn(distribution::any_bits);
  EXPECT_GT(std::ranges::count_if(any, [](int x) { return x < 0; }), 9000);
}

TEST(narrow_floats, have_the_neighbours_that_they_should) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const f16 up = neighbour(f16{static_cast<std::uint16_t>(bits)}, 1);
    EXPECT_EQ(up.bits, bits + 1);
    const f16 back = neighbour(up, -1);
    EXPECT_TRUE(back.bits == bits || bits + 1 == 0x7c00) << bits;
    const f16 down = neighbour(f16{static_cast<std::uint16_t>(bits | 0x8000)}, -1);
    EXPECT_EQ(down.bits, (bits | 0x8000) + 1);
  }
  EXPECT_LT(to_double(neighbour(f16{0}, -1)), 0);
  EXPECT_EQ(neighbour(std::uint8_t{255}, 1), 255);
  EXPECT_EQ(neighbour(std::int8_t{-128}, -1), -128);
  EXPECT_EQ(neighbour(std::int8_t{5}, -1), 4);
}

}  // namespace
}  // namespace rungs::tests
