// A program for CUB, which rungs takes over by two words: where the headers are, and the namespace. Built both ways, it
// prints the same. CUB has calls in a single phase from 3.1 on, and this one from 3.2 on.
#ifdef USE_RUNGS
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>
namespace device = rungs;
#else
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
namespace device = cub;
#endif

#include "example.hpp"

// The two phases of a call: how much storage, and then the work.
template <class Call>
void with_storage(Call call) {
  void* d_temp_storage = nullptr;
  std::size_t temp_storage_bytes = 0;
  check(call(d_temp_storage, temp_storage_bytes));
  check(cudaMalloc(&d_temp_storage, temp_storage_bytes));
  check(call(d_temp_storage, temp_storage_bytes));
  check(cudaDeviceSynchronize());
  check(cudaFree(d_temp_storage));
}

int main() {
  const int n = 2'000'000;
  const array<int> in(n), prefixes(n), least(1);
  for (int i = 0; i < n; ++i) in[i] = i % 1001 - 500;

  with_storage([&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
    return device::DeviceScan::InclusiveSum(d_temp_storage, temp_storage_bytes, in.data(), prefixes.data(), n);
  });
  with_storage([&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
    return device::DeviceReduce::Min(d_temp_storage, temp_storage_bytes, prefixes.data(), least.data(), n);
  });

  // In a single phase: no storage, and a stream behind the arguments.
#if defined(USE_RUNGS) || CUB_VERSION >= 300200
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  least[0] = 0;
  check(device::DeviceReduce::Min(prefixes.data(), least.data(), n, stream));
  check(cudaStreamSynchronize(stream));
  check(cudaStreamDestroy(stream));
#endif

  int prefix = 0, expected = in[0];
  for (const int each : in) {
    prefix += each;
    if (prefix < expected) expected = prefix;
  }
  std::printf("the prefixes go down to %d, and end at %d: ", least[0], prefixes[n - 1]);
  return verdict(least[0] == expected && prefixes[n - 1] == prefix);
}
