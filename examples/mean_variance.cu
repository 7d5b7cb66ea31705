// Mean and variance in one pass: every item becomes a pair, the item and its square, and the pairs are added up.
#include <rungs/device/device_reduce.cuh>

#include <cmath>

#include "example.hpp"

struct moments {
  double sum, squares;
};
struct of_item {
  __host__ __device__ moments operator()(float x) const { return {x, static_cast<double>(x) * x}; }
};
struct add {
  __host__ __device__ moments operator()(const moments& a, const moments& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};

int main() {
  const std::size_t n = 3'000'000;
  const array<float> in(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i * 7919 % 1001) / 8;

  rungs::workspace workspace;
  const array<moments> total(1);
  check(rungs::DeviceReduce::TransformReduce(workspace, in.data(), total.data(), n, add{}, of_item{}, moments{0, 0}));
  check(cudaDeviceSynchronize());
  const double mean = total[0].sum / n, variance = total[0].squares / n - mean * mean;

  double expected_mean = 0, expected_variance = 0;
  for (const float x : in) expected_mean += x / static_cast<double>(n);
  for (const float x : in) expected_variance += (x - expected_mean) * (x - expected_mean) / n;
  std::printf("mean %.6f, variance %.6f: ", mean, variance);
  return verdict(std::abs(mean - expected_mean) < 1e-9 * expected_mean &&
                 std::abs(variance - expected_variance) < 1e-9 * expected_variance);
}
