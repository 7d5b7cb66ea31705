// A program that uses CUB's calls gives the same results when cub:: is replaced by rungs::, for every iterator,
// operator and type in it. Skipped without a GPU.
#include <gtest/gtest.h>

#include "front_door/same_outcomes.hpp"
#include "gpu_test.hpp"

namespace rungs::tests {
namespace {

using Semantics = SkippedWithoutAGpu<testing::TestWithParam<std::size_t>>;

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
