// The sum of an array that is spread over all GPUs of the machine, eight at most: each GPU adds up its own part, the
// last block sends the part's sum to the other GPUs, and every GPU holds the total. One launch a GPU. One GPU works as
// well.
#include <rungs/across/05_fused_sum.cuh>
#include <rungs/across/windows.cuh>

#include <algorithm>
#include <numeric>
#include <vector>

#include "example.hpp"

// Part of 0, 1, 2 ...
__global__ void count_from(int first, int* items, int num_items) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < num_items; i += gridDim.x * blockDim.x) items[i] = first + i;
}

int main() {
  int num_gpus = 0;
  check(cudaGetDeviceCount(&num_gpus));
  num_gpus = std::min(num_gpus, rungs::across::max_ranks);
  std::vector<int> devices(num_gpus);
  std::iota(devices.begin(), devices.end(), 0);
  rungs::across::windows windows;
  const cudaError_t error = windows.create(devices.data(), num_gpus);
  if (error == cudaErrorPeerAccessUnsupported) {
    std::printf("these GPUs cannot reach each other's memory\n");
    return 77;
  }
  check(error);

  const int n = 50'000'003, part = (n + num_gpus - 1) / num_gpus;
  const auto begin_of = [&](int gpu) { return std::min(gpu * part, n); };
  std::vector<int*> items(num_gpus);
  std::vector<long long*> totals(num_gpus);
  std::vector<cudaStream_t> streams(num_gpus);
  for (int gpu = 0; gpu < num_gpus; ++gpu) {
    const int num_items = begin_of(gpu + 1) - begin_of(gpu);
    check(cudaSetDevice(gpu));
    check(cudaStreamCreate(&streams[gpu]));
    check(cudaMalloc(&items[gpu], part * sizeof(int)));
    check(cudaMalloc(&totals[gpu], sizeof(long long)));
    count_from<<<1024, 256, 0, streams[gpu]>>>(begin_of(gpu), items[gpu], num_items);
    check(cudaGetLastError());
  }

  // GPUs wait for each other: all are called before any is waited for.
  for (int gpu = 0; gpu < num_gpus; ++gpu) {
    check(cudaSetDevice(gpu));
    check(rungs::across::fused_sum::sum(windows.member(gpu), items[gpu], totals[gpu], begin_of(gpu + 1) - begin_of(gpu),
                                        streams[gpu]));
  }

  const long long expected = static_cast<long long>(n) * (n - 1) / 2;
  bool is_right = true;
  for (int gpu = 0; gpu < num_gpus; ++gpu) {
    long long total = 0;
    check(cudaSetDevice(gpu));
    check(cudaStreamSynchronize(streams[gpu]));
    check(cudaMemcpy(&total, totals[gpu], sizeof(total), cudaMemcpyDeviceToHost));
    is_right = is_right && total == expected;
  }
  for (int gpu = 0; gpu < num_gpus; ++gpu) {
    check(cudaSetDevice(gpu));
    check(cudaFree(items[gpu]));
    check(cudaFree(totals[gpu]));
    check(cudaStreamDestroy(streams[gpu]));
  }
  check(windows.release());
  std::printf("the sum of 0 to %d on %d GPU%s is %lld: ", n - 1, num_gpus, num_gpus == 1 ? "" : "s", expected);
  return verdict(is_right);
}
