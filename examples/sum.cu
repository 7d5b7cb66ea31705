// The sum of an array: with CUB's two storage arguments, and with a workspace.
#include <rungs/device/device_reduce.cuh>

#include "example.hpp"

int main() {
  const std::size_t n = 1 << 20;
  const array<float> in(n), sums(2);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i % 7);

  void* d_temp_storage = nullptr;
  std::size_t temp_storage_bytes = 0;
  check(rungs::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, in.data(), &sums[0], n));
  check(cudaMalloc(&d_temp_storage, temp_storage_bytes));
  check(rungs::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, in.data(), &sums[0], n));

  rungs::workspace workspace;  // allocates what is needed, and keeps it for the next call
  check(rungs::DeviceReduce::Sum(workspace, in.data(), &sums[1], n));

  check(cudaDeviceSynchronize());
  check(cudaFree(d_temp_storage));
  double expected = 0;  // whole numbers: below 2^24 a float holds every partial sum
  for (const float each : in) expected += each;
  std::printf("sum %.0f and %.0f: ", static_cast<double>(sums[0]), static_cast<double>(sums[1]));
  return verdict(sums[0] == expected && sums[1] == expected);
}
