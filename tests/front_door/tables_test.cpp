// The front door's tables, read on the host: every question has an answer, of a rung that may be chosen for it.
#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>

#include "rungs/tuning/histogram.cuh"
#include "rungs/tuning/reduce.cuh"
#include "rungs/tuning/scan.cuh"

namespace rungs::tuning {
namespace {

constexpr int capabilities[] = {0, 75, 80, 86, 89, 90, 100, 103, 120, 130};
constexpr std::size_t item_sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 1000};
constexpr operators operations[] = {operators::sum, operators::order, operators::any};

template <class Visit>
void for_each_size(Visit visit) {
  for (std::size_t n = 0; n < std::size_t{1} << 40; n = n * 3 / 2 + 1) visit(n);
  for (const std::size_t n : {std::size_t{4096}, std::size_t{4097}, ~std::size_t{0}}) visit(n);
}

template <class Visit>
void for_each_question(Visit visit) {
  for (const operators operation : operations)
    for (const int cc : capabilities)
      for (const std::size_t bytes : item_sizes) for_each_size([&](std::size_t n) { visit(operation, cc, bytes, n); });
}

TEST(Tables, AReductionComesToARungThatItsStorageAndItsDeviceAllow) {
  for_each_question([](operators operation, int cc, std::size_t bytes, std::size_t n) {
    const reduce_rung rung = choose(reduce_rows, operation, cc, bytes, n);
    ASSERT_TRUE(names(reduce_rows, rung, operation, cc, bytes));
    if (cc < 90) {
      ASSERT_NE(rung, reduce_rung::compact_cluster);
    }
    if (n > 1 << 20) {
      ASSERT_TRUE(rung != reduce_rung::one_block && rung != reduce_rung::compact_cluster);
    }
  });
}

TEST(Tables, AScanComesToARungThatItsDeviceAllows) {
  for_each_question([](operators operation, int cc, std::size_t bytes, std::size_t n) {
    const scan_rung rung = choose(scan_rows, operation, cc, bytes, n);
    ASSERT_TRUE(names(scan_rows, rung, operation, cc, bytes));
    if (cc < 90) {
      ASSERT_TRUE(rung != scan_rung::compact_cluster && rung != scan_rung::claimed_pipeline);
    }
    if (cc < 75) {  // what no chip was measured with
      ASSERT_TRUE(rung == scan_rung::one_block || rung == scan_rung::tagged_look_back);
    }
    if (n > 1 << 20) {
      ASSERT_TRUE(rung != scan_rung::one_block && rung != scan_rung::compact_cluster);
    }
  });
}

TEST(Tables, AHistogramComesToARungThatTakesSoManySamples) {
  for (const bool has_edges : {false, true})
    for (const int cc : capabilities)
      for (const std::size_t bytes : item_sizes)
        for (unsigned bins = 1; bins < 1u << 30; bins *= 2)
          for_each_size([&](std::size_t n) {
            const histogram_rung rung = choose(histogram_rows, has_edges, cc, bytes, bins, n);
            ASSERT_TRUE(names(histogram_rows, rung, has_edges, cc, bytes));
            if (n > 0xffffffff) {  // its counters are 32 bits wide
              ASSERT_NE(rung, histogram_rung::one_block);
            }
            if (bytes > 1 && bins > 65536) {  // no block holds so many
              ASSERT_TRUE(rung != histogram_rung::one_block && rung != histogram_rung::lane_private);
            }
            // One cluster has no room for more bins, many samples take it long, and older chips have none.
            if (cc < 90 || bins > 4096 || n > 1 << 16) {
              ASSERT_NE(rung, histogram_rung::compact_cluster);
            }
            // What was measured by itself: so few samples, and bins among edges up to so many.
            if (bytes > 1 && bins > 65536 && has_edges) {  // some read few samples once for each part of them
              const bool is_few = cc >= 75 && n <= 1 << 16;
              const bool is_measured = bytes >= 4 && bytes < 8 && bins <= 1u << 19;
              const bool in_parts = cc >= 75 && (n <= 1 << 20 || is_measured);
              const bool is_between =
                  cc >= 75 && !is_few && n < 1 << 20 && is_measured;  // where they cross is estimated
              if (!is_between || rung != histogram_rung::overlapped_clear) {
                ASSERT_EQ(rung, is_few && is_measured ? histogram_rung::overlapped_clear
                                : in_parts            ? histogram_rung::split_bins
                                                      : histogram_rung::hot_bins);
              }
            }
            if (bytes > 3 && bins > 65536 && !has_edges) {
              ASSERT_EQ(rung, histogram_rung::hot_bins);
            }
          });
}

TEST(Tables, AChipThatWasNeverMeasuredTakesTheRowsOfTheNearestBelowIt) {
  for_each_question([](operators operation, int cc, std::size_t bytes, std::size_t n) {
    int nearest = 0;
    for (const auto& each : reduce_rows) nearest = each.cc <= cc && each.cc > nearest ? each.cc : nearest;
    ASSERT_EQ(choose(reduce_rows, operation, cc, bytes, n), choose(reduce_rows, operation, nearest, bytes, n));
  });
}

constexpr row<int> steps[] = {
    {operators::sum, 0, 0, 0, 1},   {operators::sum, 0, 0, 100, 2}, {operators::sum, 90, 0, 0, 3},
    {operators::sum, 90, 0, 10, 4}, {operators::sum, 90, 4, 0, 5},  {operators::any, 90, 0, 0, 6},
    {operators::any, 90, 0, 50, 7},
};
constexpr int step(int cc, std::size_t bytes, std::size_t n) { return choose(steps, operators::sum, cc, bytes, n); }

TEST(Tables, AStepHoldsFromItsValueOn) {
  EXPECT_EQ(step(80, 4, 99), 1);
  EXPECT_EQ(step(80, 4, 100), 2);
  EXPECT_EQ(step(90, 2, 9), 3);
  EXPECT_EQ(step(90, 2, 10), 4);
  EXPECT_EQ(step(100, 3, 1000), 4);
  EXPECT_EQ(step(90, 4, 1000), 5);
}

TEST(Tables, AnOperationWithoutRowsOfItsOwnTakesThoseOfSums) {
  const auto any = [](int cc, std::size_t bytes, std::size_t n) { return choose(steps, operators::any, cc, bytes, n); };
  EXPECT_EQ(any(90, 2, 49), 6);
  EXPECT_EQ(any(100, 3, 50), 7);
  EXPECT_EQ(any(80, 4, 100), 2);
  EXPECT_EQ(any(90, 4, 1000), 5);
  EXPECT_EQ(choose(steps, operators::order, 90, 2, 1000), 4);
  EXPECT_TRUE(names(steps, 7, operators::any, 90, 2) && !names(steps, 4, operators::any, 90, 2));
  EXPECT_TRUE(names(steps, 5, operators::any, 90, 4) && !names(steps, 6, operators::any, 90, 4));
}

TEST(Tables, OnlyRungsThatACallCanComeToAreNamed) {
  const auto named = [](int rung, int cc, std::size_t bytes) { return names(steps, rung, operators::sum, cc, bytes); };
  EXPECT_TRUE(named(1, 80, 2) && named(2, 80, 2) && !named(3, 80, 2) && !named(5, 80, 8));
  EXPECT_TRUE(named(3, 90, 2) && named(4, 90, 2) && !named(5, 90, 2));
  EXPECT_TRUE(named(5, 90, 4) && !named(4, 90, 4) && named(2, 90, 4));  // 2: on a device below
  EXPECT_FALSE(named(6, 120, 8));
}

// A call may take another rung than the table names: then that one is compiled, and the other is not.
TEST(Tables, WhatStandsInForARungIsNamedInItsPlace) {
  const auto named = [](int rung) {
    return names_suited(
        steps, rung, operators::sum, 90, 4, +[](int each) { return each == 5 ? 2 : each; });
  };
  EXPECT_TRUE(named(2) && named(1));
  EXPECT_FALSE(named(5) || named(6));
}

}  // namespace
}  // namespace rungs::tuning
