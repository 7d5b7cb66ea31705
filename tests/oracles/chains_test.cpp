// The chains of the studies of costs: whoever takes part has a part in what comes out.
#include "rungs/parts/chains.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace rungs::tests {
namespace {

// Each lane decides the maximum sometimes, so none can be left out unseen; and sums of floats stay exact.
TEST(Chains, EveryLaneHasAPart) {
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

TEST(Chains, NeighboursAreInAnotherWarpAndInAnotherBlock) {
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
}  // namespace rungs::tests
