// Calls in files that were compiled for different architectures (compiled_for.cu), which one program or several hold.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace rungs::tests {

struct file_call {
  std::string name;
  // Over addresses that no kernel will touch, in two phases or, if asked, with a workspace that ends then.
  std::function<cudaError_t(std::size_t num_items, bool with_workspace)> enqueue;
  // On a GPU: the error, or cudaErrorAssert where the result is wrong.
  std::function<cudaError_t(std::size_t num_items, bool with_workspace)> run;
};

std::vector<file_call> calls_compiled_for_90();
std::vector<file_call> calls_compiled_for_80();
std::vector<file_call> calls_compiled_for_80_virtual();

}  // namespace rungs::tests
