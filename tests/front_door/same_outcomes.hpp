// That programs by rungs give the results of the same programs by CUB.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "front_door/programs.hpp"

namespace rungs::tests {

inline void expect_same(const std::vector<outcome>& by_cub, const std::vector<outcome>& by_rungs) {
  ASSERT_FALSE(by_cub.empty());
  ASSERT_EQ(by_cub.size(), by_rungs.size());
  for (std::size_t i = 0; i < by_cub.size(); ++i) {
    const auto &cubs = by_cub[i].bytes, &ours = by_rungs[i].bytes;
    ASSERT_EQ(by_cub[i].program, by_rungs[i].program);
    EXPECT_EQ(by_cub[i].error, cudaSuccess) << "CUB, " << by_cub[i].program;
    EXPECT_EQ(by_rungs[i].error, cudaSuccess) << by_rungs[i].program;
    const auto differs = std::mismatch(cubs.begin(), cubs.end(), ours.begin(), ours.end()).first;
    EXPECT_TRUE(cubs == ours) << by_rungs[i].program << ", from byte " << differs - cubs.begin() << " of "
                              << cubs.size();
  }
}

}  // namespace rungs::tests
