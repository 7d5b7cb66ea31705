// The results of calls in files that were compiled for different architectures, in one program. Skipped without a GPU.
#include <gtest/gtest.h>

#include "front_door/architectures/compiled_for.hpp"
#include "on_a_gpu.hpp"

namespace rungs::tests {
namespace {

class CompiledFor : public ::testing::TestWithParam<std::vector<file_call> (*)()> {};

TEST_P(CompiledFor, ResultsAreRight) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  for (const file_call& each : GetParam()())
    for (const std::size_t n : {1000, 100'000, 1 << 20, 5'000'000})
      for (int round = 0; round < 3; ++round) each.expect_right(n);
}

INSTANTIATE_TEST_SUITE_P(Files, CompiledFor,
                         ::testing::Values(calls_compiled_for_90, calls_compiled_for_80,
                                           calls_compiled_for_80_virtual));

}  // namespace
}  // namespace rungs::tests
