// A kernel that uses CUB's warp and block collectives gives the same results when cub:: is replaced by rungs::, in
// every thread that CUB defines a result for. Skipped without a GPU.
#include <gtest/gtest.h>

#include "front_door/same_outcomes.hpp"
#include "on_a_gpu.hpp"

namespace rungs::tests {

std::vector<outcome> collectives_by_cub();
std::vector<outcome> collectives_by_rungs();

namespace {

TEST(CollectivesSemantics, AreCubs) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  const auto by_cub = collectives_by_cub(), by_rungs = collectives_by_rungs();
  expect_same(by_cub, by_rungs);
  for (const outcome& each : by_cub) EXPECT_FALSE(each.bytes.empty()) << each.program;
}

}  // namespace
}  // namespace rungs::tests
