// A rung taken away as one header, which needs nothing else of this project: see CMakeLists.txt.
#include "sum.cuh"

#include "example.hpp"

int main() {
  const std::size_t n = 4 << 20;
  const array<float> in(n), sum(1);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i % 3);

  void* d_temp_storage = nullptr;
  std::size_t temp_storage_bytes = 0;
  check(EXPORTED_CALL(d_temp_storage, temp_storage_bytes, in.data(), sum.data(), n, rungs::plus{}, 0.0f));
  check(cudaMalloc(&d_temp_storage, temp_storage_bytes));
  check(EXPORTED_CALL(d_temp_storage, temp_storage_bytes, in.data(), sum.data(), n, rungs::plus{}, 0.0f));
  check(cudaDeviceSynchronize());
  check(cudaFree(d_temp_storage));

  double expected = 0;
  for (const float each : in) expected += each;
  std::printf("sum %.0f: ", static_cast<double>(sum[0]));
  return verdict(sum[0] == expected);
}
