// A program that uses CUB's calls gives the same results when cub:: is replaced by rungs::, for every iterator,
// operator and type in it. Skipped without a GPU.
#include <gtest/gtest.h>

#include "front_door/programs.hpp"
#include "gpu_test.hpp"

namespace rungs::tests {
namespace {

using Semantics = SkippedWithoutAGpu<testing::TestWithParam<std::size_t>>;

void expect_same(const std::vector<outcome>& by_cub, const std::vector<outcome>& by_rungs) {
  ASSERT_FALSE(by_cub.empty());
  ASSERT_EQ(by_cub.size(), by_rungs.size());
  for (std::size_t i = 0; i < by_cub.size(); ++i) {
    ASSERT_EQ(by_cub[i].program, by_rungs[i].program);
    EXPECT_EQ(by_cub[i].error, cudaSuccess) << "CUB, " << by_cub[i].program;
    EXPECT_EQ(by_rungs[i].error, cudaSuccess) << by_rungs[i].program;
    EXPECT_FALSE(by_rungs[i].bytes.empty() && !by_cub[i].bytes.empty()) << by_rungs[i].program;
    EXPECT_TRUE(by_cub[i].bytes == by_rungs[i].bytes) << by_rungs[i].program;
  }
}

TEST_P(Semantics, Reductions) { expect_same(reductions_by_cub(GetParam()), reductions_by_rungs(GetParam())); }
TEST_P(Semantics, Scans) { expect_same(scans_by_cub(GetParam()), scans_by_rungs(GetParam())); }
TEST_P(Semantics, Histograms) { expect_same(histograms_by_cub(GetParam()), histograms_by_rungs(GetParam())); }

// As other libraries call. Of no items CUB leaves some outputs as they were.
TEST_P(Semantics, Census) {
  if (GetParam() > 0) expect_same(census_by_cub(GetParam()), census_by_rungs(GetParam()));
}

// Either side of the steps in the tables.
INSTANTIATE_TEST_SUITE_P(Sizes, Semantics, ::testing::Values(0, 1, 37, 4096, 4097, 65'537, 600'011, 3'000'001));

}  // namespace
}  // namespace rungs::tests
