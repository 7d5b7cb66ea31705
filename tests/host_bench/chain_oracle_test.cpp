// The oracle of the studies of costs against the same chains done one link and one thread after the other.
#include "chain_oracle.hpp"

#include <gtest/gtest.h>

#include "right_chains.hpp"

namespace rungs::bench {
namespace {

using catalog::op, catalog::operation, catalog::scalar;

TEST(ChainOracle, AgreesWithOneLinkAfterTheOther) {
  for (const auto kind : {operation::collective_reduce, operation::collective_scan})
    for (const op which : {op::plus, op::maximum})
      for (const scalar type : {scalar::i32, scalar::f32})
        for (const std::size_t threads : {1u, 2u, 16u, 32u, 256u})
          for (const std::size_t n : {0u, 1u, 2u, 33u, 16384u}) {
            const tests::chain_call call{kind, which, type, n, 1, threads, 7};
            EXPECT_EQ(words_of({kind, which, n, 1, threads, 7}), tests::words_after(call))
                << name(kind) << ' ' << name(which) << ' ' << name(type) << ' ' << threads << ' ' << n;
          }
  for (const auto& [blocks, threads] :
       {std::pair{1u, 1u}, {1u, 32u}, {1u, 1024u}, {2u, 256u}, {16u, 256u}, {132u, 32u}})
    for (const std::size_t n : {0u, 1u, 2u, 33u, 1000u}) {
      const tests::chain_call call{operation::barrier, op::none, scalar::u32, n, blocks, threads, 7};
      EXPECT_EQ(words_of({operation::barrier, op::none, n, blocks, threads, 7}), tests::words_after(call))
          << blocks << ' ' << threads << ' ' << n;
    }
}

// Each lane decides the maximum sometimes, so none can be left out unseen; and sums of floats stay exact.
TEST(ChainOracle, EveryLaneHasAPart) {
  const parts::collective_chain chain{5};
  for (const unsigned threads : {16u, 32u, 256u}) {
    std::vector<int> wins(threads);
    for (unsigned link = 0; link < (threads > 32 ? 16384 : 1000); link += 2) {
      int best = -100000, winner = 0, equals = 0;
      for (unsigned i = 0; i < threads; ++i) {
        const int value = chain.value_of(chain.word_of(i), link);
        EXPECT_EQ(value, chain.value_of(chain.word_of(i), link + 1));
        EXPECT_LE(2 * 256 * std::abs(value), 1 << 23);
        equals = value == best ? equals + 1 : value > best ? 1 : equals;
        if (value > best) winner = static_cast<int>(i);
        best = std::max(best, value);
      }
      if (equals == 1) ++wins[static_cast<std::size_t>(winner)];
    }
    for (unsigned i = 1; i < threads; ++i) EXPECT_GT(wins[i], 0) << "thread " << i << " of " << threads;
  }
}

TEST(ChainOracle, NeighboursAreInAnotherWarpAndInAnotherBlock) {
  for (const auto& [blocks, threads] : {std::pair{1u, 256u}, {1u, 1024u}, {2u, 256u}, {16u, 256u}, {132u, 256u}}) {
    const parts::phase_chain chain{blocks, threads, 1};
    std::vector<bool> read(chain.participants());
    for (unsigned i = 0; i < chain.participants(); ++i) {
      const unsigned other = chain.neighbour_of(i);
      EXPECT_NE(i / 32, other / 32);
      EXPECT_EQ(blocks > 1, i / threads != other / threads) << i << ' ' << blocks;
      EXPECT_FALSE(read[other]);
      read[other] = true;
    }
  }
}

}  // namespace
}  // namespace rungs::bench
