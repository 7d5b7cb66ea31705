// Items of odd sizes for tests, with an operator.
#pragma once

#include <cuda_runtime_api.h>

namespace rungs::tests {

template <int num_values>
struct bundle {
  int values[num_values];
  __host__ __device__ bool operator==(const bundle& other) const {
    for (int i = 0; i < num_values; ++i)
      if (values[i] != other.values[i]) return false;
    return true;
  }
};
// Sums and maxima in turn.
struct by_value {
  template <int num_values>
  __host__ __device__ bundle<num_values> operator()(bundle<num_values> a, const bundle<num_values>& b) const {
    for (int i = 0; i < num_values; ++i)
      a.values[i] = i % 2 == 0 ? a.values[i] + b.values[i] : (a.values[i] < b.values[i] ? b.values[i] : a.values[i]);
    return a;
  }
};

}  // namespace rungs::tests
