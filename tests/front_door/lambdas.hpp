// Calls whose operators are extended __device__ lambdas, with and without a trailing return type.
#pragma once

#include <string>
#include <vector>

#include "front_door/both_forms.hpp"

namespace rungs::tests {

struct lambda_call {
  std::string name;
  bool is_scan;
  // What has happened before the first item and at the last one, from which a test computes what is right.
  float init, factor;
  bool is_exclusive;
  both_forms<const float*, float*, std::size_t, cudaStream_t> call;
};

std::vector<lambda_call> calls_with_lambdas();

}  // namespace rungs::tests
