// What a user writes: one reduction by the front door, with CUB's storage arguments and with a workspace, and one by a
// rung that was chosen by name.
#include <rungs/device/device_reduce.cuh>
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
  float *d_in = nullptr, *d_out = nullptr;
  cudaMalloc(&d_in, h_in.size() * sizeof(float));
  cudaMalloc(&d_out, sizeof(float));
  cudaMemcpy(d_in, h_in.data(), h_in.size() * sizeof(float), cudaMemcpyHostToDevice);

  const auto expect_sum = [&](const char* how, cudaError_t error) {
    float sum = 0;
    if (error == cudaSuccess) error = cudaMemcpy(&sum, d_out, sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%s: %g, %s\n", how, static_cast<double>(sum), cudaGetErrorString(error));
    cudaMemset(d_out, 0, sizeof(float));
    return error == cudaSuccess && sum == 3000.0f;
  };

  void* d_temp_storage = nullptr;
  std::size_t temp_storage_bytes = 0;
  rungs::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, h_in.size());
  cudaMalloc(&d_temp_storage, temp_storage_bytes);
  bool right =
      expect_sum("storage", rungs::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, h_in.size()));

  rungs::workspace workspace;
  right = expect_sum("workspace", rungs::DeviceReduce::Sum(workspace, d_in, d_out, h_in.size())) && right;

  using rung = rungs::reductions::warp_shuffle;
  const auto call = [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
    return rung::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, h_in.size(), rungs::plus{}, 0.0f);
  };
  right = expect_sum("rung", workspace.run<rung>(call)) && right;
  return right ? 0 : 1;
}
