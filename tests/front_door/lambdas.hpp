// Calls whose operators are extended __device__ lambdas, with and without a trailing return type.
#pragma once

#include <rungs/workspace.cuh>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace rungs::tests {

struct lambda_call {
  std::string name;
  bool is_scan = false;
  // What has happened before the first item and at the last one, from which a test computes what is right.
  float init = 0.0f, factor = 1.0f;
  bool is_exclusive = false;
  std::function<cudaError_t(void*, std::size_t&, const float*, float*, std::size_t, cudaStream_t)> in_two_phases{};
  std::function<cudaError_t(workspace&, const float*, float*, std::size_t, cudaStream_t)> with_workspace{};
};

std::vector<lambda_call> calls_with_lambdas();

}  // namespace rungs::tests
