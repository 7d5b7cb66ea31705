// The host's side of rungs across GPUs: how items are cut into steps and parts, and how a window is laid out. No GPU.
#include <gtest/gtest.h>

#include <vector>

#include "rungs/across/02_one_shot.cuh"
#include "rungs/across/parts/plan.cuh"
#include "rungs/across/planned.cuh"

namespace rungs::tests::across {
namespace {

namespace parts = rungs::across::parts;
using rungs::across::member;

member some_member(int num_ranks, int num_blocks, std::size_t tagged_bytes, std::size_t staging_bytes) {
  member made{};
  made.num_ranks = num_ranks;
  made.num_blocks = num_blocks;
  made.tagged_bytes = tagged_bytes;
  made.staging_bytes = staging_bytes;
  return made;
}

TEST(AcrossPlan, PartsCoverAllVectorsOnceAndFitTheirPlaces) {
  for (const int num_ranks : {1, 2, 3, 8})
    for (const int num_blocks : {1, 7, 128})
      for (const std::size_t staging : {num_blocks * parts::least_staging_of_block, std::size_t{1} << 20})
        for (const std::size_t num_vectors : {1, 2, 127, 128, 129, 1024, 4097, 100'003})
          for (const int num_parts : {1, num_ranks}) {
            const int num_places = num_parts == 1 ? parts::sources(num_ranks) + 1 : 2 * parts::sources(num_ranks);
            const member me = some_member(num_ranks, num_blocks, 4096, staging);
            const parts::plan plan = parts::plan_steps(me, num_vectors, num_parts, num_places, 32 << 10, 128);
            ASSERT_GE(plan.num_blocks, 1u);
            ASSERT_LE(plan.num_blocks, static_cast<std::size_t>(num_blocks));
            ASSERT_GE(plan.num_steps, 1u);
            ASSERT_LE(plan.part_vectors * 16, 32u << 10);
            std::size_t next = 0;  // the first vector that no part has had
            for (std::size_t block = 0; block < plan.num_blocks; ++block)
              for (std::size_t step = 0; step < plan.num_steps; ++step)
                for (int part = 0; part < num_parts; ++part) {
                  ASSERT_EQ(plan.first_of(block, step, part), next);
                  next += plan.part_vectors;
                }
            ASSERT_GE(next, num_vectors);
            // Places of two blocks, halves or indices do not overlap, and all lie in the staging.
            std::vector<std::size_t> begins;
            for (const int half : {0, 1})
              for (std::size_t block = 0; block < plan.num_blocks; ++block)
                for (int place = 0; place < num_places; ++place)
                  begins.push_back(plan.place_at(block, half, place, staging));
            for (std::size_t i = 0; i + 1 < begins.size(); ++i)
              ASSERT_LE(begins[i] + plan.part_vectors * 16, begins[i + 1]);
            ASSERT_LE(begins.back() + plan.part_vectors * 16, staging);
          }
}

TEST(AcrossPlan, StepsAreFewWhereTheyCanBe) {
  const member me = some_member(2, 128, 512 << 10, 64 << 20);
  EXPECT_EQ(parts::plan_steps(me, 1, 2, 2, 32 << 10, 128).num_blocks, 1u);
  const std::size_t all_at_once = 128 * 2 * 2048;  // blocks, parts, vectors of 32 KiB
  EXPECT_EQ(parts::plan_steps(me, all_at_once, 2, 2, 32 << 10, 128).num_steps, 1u);
  EXPECT_EQ(parts::plan_steps(me, all_at_once + 1, 2, 2, 32 << 10, 128).num_steps, 2u);
}

TEST(AcrossPlan, OneShotGivesEachThreadAsManyLinesInEveryStep) {
  using rungs::across::one_shot;
  for (const int num_blocks : {1, 3, 128})
    for (const std::size_t tagged : {std::size_t{4096}, std::size_t{10'240}, std::size_t{512} << 10})
      for (const std::size_t num_lines : {1, 511, 512, 513, 1280, 1281, 65'536, 65'537, 1'000'003}) {
        const member me = some_member(2, num_blocks, tagged, 1 << 20);
        const auto made = parts::plan_lines(me, num_lines, one_shot::block_threads);
        ASSERT_GE(made.lines * made.count, num_lines);
        ASSERT_LE(made.lines, parts::lines_of_source(tagged));
        ASSERT_TRUE(made.num_blocks >= 1 && made.num_blocks <= static_cast<std::size_t>(num_blocks));
        if (made.count > 1) {
          ASSERT_EQ(made.lines % (made.num_blocks * one_shot::block_threads), 0u);
        } else {
          ASSERT_EQ(made.lines, num_lines);
        }
      }
}

TEST(AcrossPlan, RegionsOfAWindowFollowEachOther) {
  for (const int num_ranks : {1, 2, 8})
    for (const int num_blocks : {1, 128, rungs::across::most_blocks}) {
      const std::size_t lines = parts::lines_at(num_blocks), tagged = 4096;
      EXPECT_EQ(lines % 256, 0u);
      EXPECT_EQ(lines - parts::flags_at(), num_blocks * 16u * 8u * 8u);
      EXPECT_EQ(parts::staging_at(num_ranks, num_blocks, tagged) - lines,
                2u * parts::sources(num_ranks) * (tagged / 8) * 16);
    }
  std::vector<int> places;
  for (int source = 0; source < 8; ++source)
    if (source != 3) places.push_back(parts::place_of(source, 3));
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(AcrossPlan, TheWayDependsOnBytesAndRanks) {
  using rungs::across::planned;
  using rungs::across::way;
  EXPECT_EQ(planned::choose(4, 1), way::two_shot);
  EXPECT_EQ(planned::choose(4, 2), way::one_shot);
  EXPECT_EQ(planned::choose(1 << 20, 2), way::one_shot);
  EXPECT_EQ(planned::choose((1 << 20) + 1, 2), way::two_shot);
  for (int num_ranks = 3; num_ranks <= 8; ++num_ranks)  // the more ranks, the less of one shot
    EXPECT_LT(planned::most_of_one_shot(num_ranks), planned::most_of_one_shot(num_ranks - 1));
  EXPECT_EQ(planned::choose(512 << 10, 4), way::one_shot);
  EXPECT_EQ(planned::choose((512 << 10) + 1, 4), way::two_shot);
  EXPECT_EQ(planned::choose(128 << 10, 8), way::one_shot);
  EXPECT_EQ(planned::choose(256 << 10, 8), way::two_shot);
}

}  // namespace
}  // namespace rungs::tests::across
