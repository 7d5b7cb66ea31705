// Compaction, twice. In three steps: the exclusive sum of the flags is where each item that is kept goes. And by one
// call, which reads the items once. The order stays.
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_select.cuh>

#include <algorithm>
#include <vector>

#include "example.hpp"

__host__ __device__ bool is_kept(int item) { return item % 3 == 0; }
struct kept {
  __host__ __device__ bool operator()(int item) const { return is_kept(item); }
};

__global__ void flag(const int* items, std::size_t n, unsigned char* flags) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) flags[i] = is_kept(items[i]);
}
__global__ void scatter(const int* items, std::size_t n, const unsigned char* flags, const unsigned* positions,
                        int* kept_items) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n && flags[i]) kept_items[positions[i]] = items[i];
}

int main() {
  const std::size_t n = 1'000'003;
  const array<int> items(n), in_steps(n), at_once(n);
  const array<unsigned char> flags(n);
  const array<unsigned> positions(n), num_at_once(1);
  for (std::size_t i = 0; i < n; ++i) items[i] = static_cast<int>(i * 7919 % 1'000'003);

  const unsigned threads = 256, blocks = (n + threads - 1) / threads;
  rungs::workspace workspace;
  flag<<<blocks, threads>>>(items.data(), n, flags.data());
  check(cudaGetLastError());
  // Accumulated in the type of the 0u: bytes would overflow.
  check(rungs::DeviceScan::ExclusiveScan(workspace, flags.data(), positions.data(), rungs::plus{}, 0u, n));
  scatter<<<blocks, threads>>>(items.data(), n, flags.data(), positions.data(), in_steps.data());
  check(cudaGetLastError());
  check(rungs::DeviceSelect::If(workspace, items.data(), at_once.data(), num_at_once.data(), n, kept{}));
  check(cudaDeviceSynchronize());
  const std::size_t num_kept = positions[n - 1] + flags[n - 1];

  std::vector<int> expected;
  std::copy_if(items.begin(), items.end(), std::back_inserter(expected), is_kept);
  std::printf("%zu of %zu kept: ", num_kept, n);
  return verdict(num_kept == expected.size() && num_at_once[0] == expected.size() &&
                 std::equal(expected.begin(), expected.end(), in_steps.begin()) &&
                 std::equal(expected.begin(), expected.end(), at_once.begin()));
}
