// A scan and a sum, captured once and replayed on new data. The graph keeps the addresses of what it was captured with,
// the workspace's too: until the graph has gone, the workspace has to stay, and no other call may make it grow.
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>

#include "example.hpp"

int main() {
  const std::size_t n = 100'000;
  const array<int> in(n), prefixes(n), sum(1);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  rungs::workspace workspace;
  const auto work = [&] {
    check(rungs::DeviceScan::InclusiveSum(workspace, in.data(), prefixes.data(), n, stream));
    check(rungs::DeviceReduce::Sum(workspace, prefixes.data(), sum.data(), n, stream));
  };
  work();  // what is captured must not allocate: this does

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replayable = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  work();
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replayable, graph, 0));

  bool is_right = true;
  for (int replay = 1; replay <= 3; ++replay) {
    check(cudaStreamSynchronize(stream));
    int prefix = 0, expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      in[i] = static_cast<int>(i) % (2 * replay + 1) - replay;
      prefix += in[i];
      expected += prefix;
    }
    check(cudaGraphLaunch(replayable, stream));
    check(cudaStreamSynchronize(stream));
    is_right = is_right && prefixes[n - 1] == prefix && sum[0] == expected;
  }
  std::printf("3 replays, the last sum is %d: ", sum[0]);
  check(cudaGraphExecDestroy(replayable));
  check(cudaGraphDestroy(graph));
  check(workspace.release(stream));  // before the stream that used it has gone
  check(cudaStreamDestroy(stream));
  return verdict(is_right);
}
