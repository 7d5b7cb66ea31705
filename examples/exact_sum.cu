// A sum that is the same in any order, to the last bit: of all items at once, of the items turned round, and of two
// halves whose records are merged, as two GPUs would merge theirs.
#include <rungs/device/device_reduce.cuh>

#include <algorithm>
#include <cstring>

#include "example.hpp"

// To the last bit.
static bool are_same(float a, float b) { return std::memcmp(&a, &b, sizeof(float)) == 0; }

int main() {
  const std::size_t n = 3'000'000, half = n / 2 + 1;
  const array<float> in(n), sums(2), plain(2);
  // Threes of a large number, 0.1f and the large number's negative.
  for (std::size_t i = 0; i < n; ++i)
    in[i] = i % 3 == 1 ? 0.1f : (i % 3 == 0 ? 1.0f : -1.0f) * static_cast<float>(i / 3 + 1) * 1e20f;

  rungs::workspace workspace;
  check(rungs::DeviceReduce::ExactSum(workspace, in.data(), &sums[0], n));
  check(rungs::DeviceReduce::Sum(workspace, in.data(), &plain[0], n));

  // A record holds the sum before it is rounded.
  const array<rungs::exact_sum<float>> records(2);
  check(rungs::DeviceReduce::ExactSum(workspace, in.data(), &records[0], half));
  check(rungs::DeviceReduce::ExactSum(workspace, in.data() + half, &records[1], n - half));
  check(cudaDeviceSynchronize());
  rungs::exact_sum<float> total = records[0];
  total += records[1];

  std::reverse(in.begin(), in.end());
  check(rungs::DeviceReduce::ExactSum(workspace, in.data(), &sums[1], n));
  check(cudaDeviceSynchronize());

  const auto expected = static_cast<float>(0.1f * 1e6);  // a million times 0.1f, rounded once
  std::printf("exact sum %.9g, plain sum %.9g: ", static_cast<double>(sums[0]), static_cast<double>(plain[0]));
  return verdict(are_same(sums[0], expected) && are_same(sums[1], expected) &&
                 are_same(total.rounded<float>(), expected));
}
