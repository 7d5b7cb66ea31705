// A kernel that uses CUB's warp and block collectives gives the same results when cub:: is replaced by rungs::, in
// every thread that CUB defines a result for. Skipped without a GPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "front_door/programs.hpp"
#include "on_a_gpu.hpp"

namespace rungs::tests {

std::vector<outcome> collectives_by_cub();
std::vector<outcome> collectives_by_rungs();

namespace {

TEST(CollectivesSemantics, AreCubs) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  const auto by_cub = collectives_by_cub(), by_rungs = collectives_by_rungs();
  ASSERT_FALSE(by_cub.empty());
  ASSERT_EQ(by_cub.size(), by_rungs.size());
  for (std::size_t i = 0; i < by_cub.size(); ++i) {
    ASSERT_EQ(by_cub[i].program, by_rungs[i].program);
    EXPECT_EQ(by_cub[i].error, cudaSuccess) << "CUB, " << by_cub[i].program;
    EXPECT_EQ(by_rungs[i].error, cudaSuccess) << by_rungs[i].program;
    EXPECT_FALSE(by_cub[i].bytes.empty()) << by_cub[i].program;
    const auto [differs, _] = std::mismatch(by_cub[i].bytes.begin(), by_cub[i].bytes.end(), by_rungs[i].bytes.begin(),
                                            by_rungs[i].bytes.end());
    EXPECT_TRUE(by_cub[i].bytes == by_rungs[i].bytes)
        << by_rungs[i].program << ", from byte " << differs - by_cub[i].bytes.begin();
  }
}

}  // namespace
}  // namespace rungs::tests
