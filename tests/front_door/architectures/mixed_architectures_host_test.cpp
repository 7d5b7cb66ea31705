// One program of two files that were compiled for different architectures, without optimisation, so that the linker
// keeps one copy of what both call: every call launches kernels of its own file. Over a runtime that runs nothing.
#include <gtest/gtest.h>

#include "faults/fake_runtime.hpp"
#include "front_door/architectures/compiled_for.hpp"

namespace rungs::tests {
namespace {

// The device is of 9.0; kernels say that they were compiled for `compiled_for`.
void expect_launches(const std::vector<file_call>& calls, int compiled_for) {
  for (const file_call& each : calls)
    for (const bool with_workspace : {false, true})
      for (const std::size_t n :
           {std::size_t{1000}, std::size_t{100'000}, std::size_t{1} << 20, std::size_t{1} << 26}) {
        const std::string what = each.name + ", compiled for " + std::to_string(compiled_for) +
                                 ", n = " + std::to_string(n) + (with_workspace ? ", with a workspace" : "");
        fake::current() = {};
        fake::current().ptx_version = fake::current().binary_version = compiled_for;
        EXPECT_EQ(each.enqueue(n, with_workspace), cudaSuccess) << what;
        int launches = 0;
        for (const fake::call& made : fake::current().calls) {
          launches += made.launches();
          if (compiled_for < 90) {
            EXPECT_FALSE(made.overlaps) << what;
            EXPECT_EQ(made.cluster_blocks, 0) << what;
          }
        }
        EXPECT_GT(launches, 0) << what;
        EXPECT_TRUE(fake::current().unregistered.empty()) << what;
      }
}

TEST(MixedArchitectures, EachFileLaunchesItsOwnKernels) {
  expect_launches(calls_compiled_for_90(), 90);
  expect_launches(calls_compiled_for_80(), 80);
}

}  // namespace
}  // namespace rungs::tests
