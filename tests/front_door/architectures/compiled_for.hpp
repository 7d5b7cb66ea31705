// Calls in files that were compiled for different architectures (compiled_for.cu), which one program or several hold.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "front_door/both_forms.hpp"

namespace rungs::tests {

struct file_call {
  std::string name;
  // Over addresses that no kernel will touch.
  both_forms<std::size_t> enqueue;
  // On a GPU: that the result is right, in both forms.
  std::function<void(std::size_t num_items)> expect_right;
};

std::vector<file_call> calls_compiled_for_90();
std::vector<file_call> calls_compiled_for_80();
std::vector<file_call> calls_compiled_for_80_virtual();

}  // namespace rungs::tests
