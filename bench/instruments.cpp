#include "instruments.hpp"

#include <algorithm>
#include <chrono>

#include "check.hpp"

namespace rungs::bench {
namespace {

// Ends a capture that failed half way, so that the stream can be used again.
void abandon_capture(cudaStream_t stream) {
  cudaGraph_t unfinished = nullptr;
  cudaStreamEndCapture(stream, &unfinished);
  if (unfinished != nullptr) cudaGraphDestroy(unfinished);
  cudaGetLastError();
}

graph capture(const contender& one, int calls, cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls; ++i) {
    if (const cudaError_t error = one.call(stream); error != cudaSuccess) {
      abandon_capture(stream);
      check(error);
    }
  }
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream, &captured));
  return graph(captured);
}

std::optional<kernel_needs> needs_of(const cudaKernelNodeParams& launch, std::size_t block_threads) {
  cudaFuncAttributes function{};
  int device = 0, blocks = 0, most_threads = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device) != cudaSuccess ||
      cudaFuncGetAttributes(&function, launch.func) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.func, static_cast<int>(block_threads),
                                                    launch.sharedMemBytes) != cudaSuccess)
    return std::nullopt;
  constexpr std::size_t warp = 32;
  const std::size_t block_warps = (block_threads + warp - 1) / warp;
  return kernel_needs{function.numRegs, function.sharedSizeBytes + launch.sharedMemBytes,
                      blocks * static_cast<double>(block_warps * warp) / most_threads};
}

std::optional<launch_shape> shape_of(cudaGraphNode_t kernel) {
  cudaKernelNodeParams as{};
  cudaLaunchAttributeValue value{};
  if (cudaGraphKernelNodeGetParams(kernel, &as) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  const auto volume = [](const auto& of) { return std::size_t{of.x} * of.y * of.z; };
  launch_shape shape{.blocks = volume(as.gridDim), .block_threads = volume(as.blockDim)};
  // Devices without clusters may not know the attribute.
  if (cudaGraphKernelNodeGetAttribute(kernel, cudaLaunchAttributeClusterDimension, &value) == cudaSuccess)
    shape.cluster_blocks = std::max<std::size_t>(1, volume(value.clusterDim));
  value = {};
  if (cudaGraphKernelNodeGetAttribute(kernel, cudaLaunchAttributeCooperative, &value) == cudaSuccess)
    shape.cooperative = value.cooperative != 0;
  shape.needs = needs_of(as, shape.block_threads);
  cudaGetLastError();
  return shape;
}

}  // namespace

std::optional<launched> launches_of(const contender& one, cudaStream_t stream) {
  if (one.record->waits_for_host) return std::nullopt;
  try {
    const graph captured = capture(one, 1, stream);
    std::size_t count = 0;
    check(cudaGraphGetNodes(captured.get(), nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    if (count != 0) check(cudaGraphGetNodes(captured.get(), nodes.data(), &count));
    launched all;
    for (const auto node : nodes) {
      cudaGraphNodeType type;
      check(cudaGraphNodeGetType(node, &type));
      if (type != cudaGraphNodeTypeKernel) continue;
      ++all.kernels;
      const auto shape = shape_of(node);
      if (shape && (!all.largest || shape->blocks > all.largest->blocks)) all.largest = shape;
    }
    return all;
  } catch (const cuda_error&) {
    cudaGetLastError();
    return std::nullopt;
  }
}

std::size_t event_bench::flush_bytes(const device_facts& facts) {
  return std::max<std::size_t>(4 * facts.l2_bytes, std::size_t{256} << 20);
}

event_bench::event_bench(const device_facts& facts)
    : flush_(flush_bytes(facts)), stamps_(capacity * sizeof(device_work::stamp)) {
  for (int i = 0; i < capacity; ++i) {
    starts_.push_back(make_event());
    stops_.push_back(make_event());
  }
  check(cudaMemsetAsync(flush_.get(), 0x5a, flush_.size(), stream()));
  synchronize();
}

void event_bench::synchronize() const { check(cudaStreamSynchronize(stream())); }

void event_bench::prepare(mode how, device_work::stamp* seen) const {
  switch (how) {
    case mode::cold:
      check(device_work::read_flush(flush_.get(), flush_.size(), seen, stream()));
      break;
    case mode::dirty:
      check(device_work::spin(10'000, seen, stream()));
      check(cudaMemsetAsync(flush_.get(), 0x5a, flush_.size(), stream()));
      break;
    case mode::warm:
      check(device_work::spin(40'000, seen, stream()));
      break;
    case mode::graph:  // launching a graph of 20 calls takes the host longer than launching one kernel
      check(device_work::spin(100'000, seen, stream()));
      break;
    case mode::host:
      break;
  }
}

std::vector<reading> event_bench::read(int count) const {
  std::vector<device_work::stamp> stamps(static_cast<std::size_t>(count));
  check(cudaMemcpyAsync(stamps.data(), stamps_.get(), stamps.size() * sizeof stamps[0], cudaMemcpyDeviceToHost,
                        stream()));
  synchronize();
  // One clock for the batch: %globaltimer may tick once a microsecond, too coarse for one sample.
  unsigned long long clocks = 0, nanoseconds = 0;
  for (const auto& seen : stamps) {
    clocks += seen.clocks;
    nanoseconds += seen.nanoseconds;
  }
  const double clock_mhz = nanoseconds == 0 ? 0 : 1e3 * static_cast<double>(clocks) / static_cast<double>(nanoseconds);
  std::vector<reading> readings;
  for (int i = 0; i < count; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_of(i), stop_of(i)));
    readings.push_back({1e3 * milliseconds, clock_mhz});
  }
  return readings;
}

device_instrument::device_instrument(const event_bench& with, mode how, std::vector<const contender*> contenders)
    : bench_(with), mode_(how), contenders_(std::move(contenders)) {
  if (mode_ != mode::graph) return;
  for (const contender* one : contenders_) {
    const graph captured = capture(*one, calls_per_graph, bench_.stream());
    cudaGraphExec_t executable;
    check(cudaGraphInstantiate(&executable, captured.get(), 0));
    graphs_.emplace_back(executable);
    check(cudaGraphUpload(executable, bench_.stream()));
  }
  bench_.synchronize();
}

void device_instrument::enqueue(std::size_t which) {
  if (mode_ == mode::graph) {
    check(cudaGraphLaunch(graphs_[which].get(), bench_.stream()));
  } else {
    check(contenders_[which]->call(bench_.stream()));
  }
}

std::vector<reading> device_instrument::run(std::span<const int> order) {
  std::vector<reading> readings;
  while (!order.empty()) {
    const auto batch = order.first(std::min<std::size_t>(order.size(), event_bench::capacity));
    int sample = 0;
    for (const int which : batch) {
      bench_.prepare(mode_, bench_.stamp_of(sample));
      check(cudaEventRecord(bench_.start_of(sample), bench_.stream()));
      enqueue(static_cast<std::size_t>(which));
      check(cudaEventRecord(bench_.stop_of(sample), bench_.stream()));
      ++sample;
    }
    for (reading one : bench_.read(sample)) {
      if (mode_ == mode::graph) one.microseconds /= calls_per_graph;
      readings.push_back(one);
    }
    order = order.subspan(batch.size());
  }
  return readings;
}

void device_instrument::repeat(int which, int calls) {
  for (int i = 0; i < calls; ++i) enqueue(static_cast<std::size_t>(which));
  bench_.synchronize();
}

std::vector<reading> host_instrument::run(std::span<const int> order) {
  using clock = std::chrono::steady_clock;
  std::vector<reading> readings;
  for (const int which : order) {
    const auto start = clock::now();
    check(contenders_[static_cast<std::size_t>(which)]->call(nullptr));
    readings.push_back({std::chrono::duration<double, std::micro>(clock::now() - start).count(), 0});
  }
  return readings;
}

}  // namespace rungs::bench
