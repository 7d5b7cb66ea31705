// What a user writes: one reduction, from one header.
#include <rungs/operators.cuh>
#include <rungs/reductions/06_warp_shuffle.cuh>

#include <cstdio>
#include <vector>

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::puts("no GPU: compiled and linked");
    return 0;
  }
  const std::vector<float> h_in(1000, 3.0f);
  float *d_in = nullptr, *d_out = nullptr, sum = 0;
  cudaMalloc(&d_in, h_in.size() * sizeof(float));
  cudaMalloc(&d_out, sizeof(float));
  cudaMemcpy(d_in, h_in.data(), h_in.size() * sizeof(float), cudaMemcpyHostToDevice);

  void* d_temp_storage = nullptr;
  std::size_t temp_storage_bytes = 0;
  for (int phase = 0; phase < 2; ++phase) {
    const cudaError_t error = rungs::reductions::warp_shuffle::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                                                      h_in.size(), rungs::plus{}, 0.0f);
    if (error != cudaSuccess) {
      std::printf("%s\n", cudaGetErrorString(error));
      return 1;
    }
    if (phase == 0) cudaMalloc(&d_temp_storage, temp_storage_bytes);
  }
  cudaMemcpy(&sum, d_out, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", static_cast<double>(sum));
  return sum == 3000.0f ? 0 : 1;
}
