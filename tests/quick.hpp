// Says so where a program's kernels were compiled quickly (RUNGS_QUICK_TESTS): on a GPU they prove little of the
// kernels that a user's compiler makes, and their times prove nothing.
#pragma once

#include <cstdio>

namespace rungs::tests {

inline void tell_if_quick() {
#ifdef RUNGS_QUICK_TESTS
  std::printf(
      "note: these kernels were compiled with -Ofc=max; configure with -DRUNGS_QUICK_TESTS=OFF to run them on a GPU\n");
#endif
}

}  // namespace rungs::tests
