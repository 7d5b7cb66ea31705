// One program of files that were compiled for different architectures, without optimisation, so that the linker keeps
// one copy of what all call: every call launches kernels of its own file. Kernels that were compiled for a device below
// 9.0 wait for no launch in front of them and know of no clusters, so no launch asks for either. Over a runtime that
// runs nothing.
#include <gtest/gtest.h>

#include "faults/fake_runtime.hpp"
#include "front_door/architectures/compiled_for.hpp"
#include "front_door/far_away.hpp"

namespace rungs::tests {
namespace {

// The device is of 9.0. A driver makes code for it of PTX alone.
struct file {
  std::vector<file_call> (*calls)();
  int ptx_version, binary_version;
};

class CompiledFor : public ::testing::TestWithParam<file> {};

TEST_P(CompiledFor, EachFileLaunchesItsOwnKernels) {
  const file& from = GetParam();
  for (const file_call& each : from.calls())
    for (const bool with_workspace : {false, true})
      for (const std::size_t n :
           {std::size_t{1000}, std::size_t{100'000}, std::size_t{1} << 20, std::size_t{1} << 26}) {
        const std::string what =
            each.name + ", n = " + std::to_string(n) + (with_workspace ? ", with a workspace" : "");
        fake::current() = {};
        fake::current().ptx_version = from.ptx_version;
        fake::current().binary_version = from.binary_version;
        workspace workspace;
        std::size_t bytes = 0;
        cudaError_t error = with_workspace ? each.enqueue(workspace, n) : each.enqueue(nullptr, bytes, n);
        if (!with_workspace && error == cudaSuccess) error = each.enqueue(far_away<void>(100), bytes, n);
        EXPECT_EQ(error, cudaSuccess) << what;
        int launches = 0;
        for (const fake::call& made : fake::current().calls) {
          launches += made.launches();
          if (from.ptx_version < 90) {
            EXPECT_FALSE(made.overlaps) << what;
            EXPECT_EQ(made.cluster_blocks, 0) << what;
          }
        }
        EXPECT_GT(launches, 0) << what;
        EXPECT_TRUE(fake::current().unregistered.empty()) << what;
      }
}

INSTANTIATE_TEST_SUITE_P(Files, CompiledFor,
                         ::testing::Values(file{calls_compiled_for_90, 90, 90}, file{calls_compiled_for_80, 80, 80},
                                           file{calls_compiled_for_80_virtual, 80, 90}));

}  // namespace
}  // namespace rungs::tests
