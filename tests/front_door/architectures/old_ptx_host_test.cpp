// A program compiled for compute_80 alone, whose code a driver makes for a device of 9.0: its kernels wait for no
// launch in front of them and know of no clusters, so no launch asks for either. Over a runtime that runs nothing.
#include <gtest/gtest.h>

#include "faults/fake_runtime.hpp"
#include "front_door/architectures/compiled_for.hpp"

namespace rungs::tests {
namespace {

TEST(OldPtx, NeitherOverlapsNorHasClusters) {
  for (const file_call& each : calls_compiled_for_80_virtual())
    for (const bool with_workspace : {false, true})
      for (const std::size_t n :
           {std::size_t{1000}, std::size_t{100'000}, std::size_t{1} << 20, std::size_t{1} << 26}) {
        const std::string what = each.name + ", n = " + std::to_string(n);
        fake::current() = {};
        fake::current().ptx_version = 80;
        fake::current().binary_version = 90;
        EXPECT_EQ(each.enqueue(n, with_workspace), cudaSuccess) << what;
        int launches = 0;
        for (const fake::call& made : fake::current().calls) {
          launches += made.launches();
          EXPECT_FALSE(made.overlaps) << what;
          EXPECT_EQ(made.cluster_blocks, 0) << what;
        }
        EXPECT_GT(launches, 0) << what;
        EXPECT_TRUE(fake::current().unregistered.empty()) << what;
      }
}

}  // namespace
}  // namespace rungs::tests
