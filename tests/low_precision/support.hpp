// What the tests of low precision on a GPU share.
#pragma once

#include <gtest/gtest.h>

#include "guarded.hpp"
#include "on_a_gpu.hpp"

namespace rungs::tests {

struct OnAGpu : testing::Test {
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  }
};

}  // namespace rungs::tests
