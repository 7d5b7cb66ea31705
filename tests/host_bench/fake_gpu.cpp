#include "fake_gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device_work.hpp"

namespace rungs::bench::fake_gpu {
namespace {

struct node {
  double microseconds;
  std::function<void()> work;
};
using nodes = std::vector<node>;
std::optional<nodes> capturing;

void execute(const node& one) {
  ++now().launches;
  now().seen += now().in_view;
  now().flushed = false;
  now().now_us += one.microseconds;
  one.work();
}

template <class Handle>
nodes& graph_of(Handle handle) {
  return *reinterpret_cast<nodes*>(handle);
}

}  // namespace

state& now() {
  static state only;
  return only;
}

cudaError_t launch(double microseconds, std::function<void()> work) {
  node one{microseconds, std::move(work)};
  if (capturing)
    capturing->push_back(std::move(one));
  else
    execute(one);
  return cudaSuccess;
}

}  // namespace rungs::bench::fake_gpu

namespace rungs::bench::device_work {

using fake_gpu::launch, fake_gpu::now;

namespace {
void leave(stamp* seen, double microseconds) {
  if (seen != nullptr)
    *seen = {static_cast<unsigned long long>(microseconds * now().clock_mhz),
             static_cast<unsigned long long>(microseconds * 1e3)};
}
}  // namespace

cudaError_t read_flush(const void*, std::size_t, stamp* seen, cudaStream_t) {
  return launch(60, [=] {
    leave(seen, 60);
    now().flushed = true;
  });
}

cudaError_t spin(unsigned long long nanoseconds, stamp* seen, cudaStream_t) {
  const double microseconds = static_cast<double>(nanoseconds) * 1e-3;
  return launch(microseconds, [=] { leave(seen, microseconds); });
}

cudaError_t generate(const workload& from, void* items, cudaStream_t) {
  return launch(1, [=] { bench::generate(from, items); });
}

cudaError_t generate(const sample_source& from, void* samples, cudaStream_t) {
  return launch(1, [=] { bench::generate(from, samples); });
}

cudaError_t summarise(catalog::scalar type, const void* items, std::size_t num_items, summary_of_items* summaries,
                      cudaStream_t) {
  return launch(1, [=] {
    for (int i = 0; i < max_summaries; ++i) summaries[i] = {};
    summaries[1] = summarise_items(type, items, num_items / 2);
    const std::size_t rest = num_items - num_items / 2;
    summaries[max_summaries - 1] =
        summarise_items(type, static_cast<const char*>(items) + (num_items - rest) * catalog::size_of(type), rest);
  });
}

cudaError_t fold_chunks(const scan_question& of, running* chunks, cudaStream_t) {
  return launch(1, [=] {
    const auto all = bench::fold_chunks(of);
    std::copy(all.begin(), all.end(), chunks);
  });
}

cudaError_t check_scan(const scan_question& of, const tolerance& within, const running* befores, const void* output,
                       tally* tallies, cudaStream_t) {
  return launch(1, [=] {
    for (std::size_t i = 0; i < num_tallies(of); ++i) tallies[i] = {};
    tallies[num_tallies(of) - 1] = bench::check_scan(of, within, {befores, befores + of.num_chunks()}, output);
  });
}

cudaError_t count_samples(const histogram_question& of, const void* samples, std::uint64_t* counts, cudaStream_t) {
  return launch(1, [=] {
    const counted all = bench::count_samples(of, samples);
    const std::size_t copies = num_copies(of), counters = of.num_counters();
    for (std::size_t i = 0; i < counters; ++i) counts[(i % copies) * counters + i] += all.counters[i];
    counts[copies * counters] += all.inside;
  });
}

cudaError_t fold_updates(const update_question& of, std::uint64_t* words, std::uint32_t* counts, cudaStream_t) {
  return launch(1, [=] {
    const updated all = bench::fold_updates(of);
    const std::size_t copies = num_copies(of);
    for (std::size_t i = 0; i < of.num_addresses; ++i) {
      const std::size_t at = (i % copies) * of.num_addresses + i;
      words[at] = fold_words(how_folded(of), words[at], all.words[i]);
      counts[at] += all.counts[i];
    }
  });
}

cudaError_t hash(const void* bytes, std::size_t num_bytes, std::uint64_t* into, cudaStream_t) {
  return launch(1, [=] { *into += bench::hash(bytes, num_bytes); });
}

}  // namespace rungs::bench::device_work

// The runtime's own names. Handles point to what they stand for; an event is the time at which it was recorded.
using rungs::bench::fake_gpu::now;

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorFake"; }
const char* cudaGetErrorString(cudaError_t) { return "a fake error"; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 0, cudaErrorNoDevice; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int) { return cudaErrorNoDevice; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  if (which != cudaDevAttrMaxThreadsPerMultiProcessor) return cudaErrorNoDevice;
  return *value = 2048, cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char*, int, int) { return cudaErrorNoDevice; }
cudaError_t cudaMemGetInfo(size_t*, size_t*) { return cudaErrorNoDevice; }

cudaError_t cudaProfilerStart() {
  now().flushed_before += now().flushed;
  return now().in_view = true, cudaSuccess;
}
cudaError_t cudaProfilerStop() { return now().in_view = false, cudaSuccess; }

cudaError_t cudaMalloc(void** address, size_t size) {
  *address = std::aligned_alloc(256, (size + 255) / 256 * 256);
  ++now().allocations;
  return *address != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* address) {
  now().allocations -= address != nullptr;
  std::free(address);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t) {
  if (size < size_t{64} << 20) std::memset(to, value, size);  // the flush buffer holds nothing that is looked at
  now().now_us += static_cast<double>(size) / 4.5e6;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return *stream = reinterpret_cast<cudaStream_t>(new int), cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete reinterpret_cast<int*>(stream), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return *event = reinterpret_cast<cudaEvent_t>(new double), cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete reinterpret_cast<double*>(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return *reinterpret_cast<double*>(event) = now().now_us, cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = static_cast<float>((*reinterpret_cast<double*>(stop) - *reinterpret_cast<double*>(start)) * 1e-3);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  rungs::bench::fake_gpu::capturing.emplace();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  using namespace rungs::bench::fake_gpu;
  *graph = reinterpret_cast<cudaGraph_t>(new nodes(std::move(*capturing)));
  capturing.reset();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete &rungs::bench::fake_gpu::graph_of(graph), cudaSuccess; }
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* handles, size_t* count) {
  auto& all = rungs::bench::fake_gpu::graph_of(graph);
  for (size_t i = 0; handles != nullptr && i < all.size(); ++i) handles[i] = reinterpret_cast<cudaGraphNode_t>(&all[i]);
  *count = all.size();
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType* type) {
  return *type = cudaGraphNodeTypeKernel, cudaSuccess;
}
// Every kernel is a cooperative one of 264 blocks of 128 threads in clusters of four. It declares 1 KiB of shared
// memory and is launched with as much again; with it and 40 registers a thread, eight blocks fit a multiprocessor.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t, cudaKernelNodeParams* of) {
  return of->gridDim = dim3(132, 2), of->blockDim = dim3(128), of->sharedMemBytes = 1024, cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* of, const void*) {
  return of->numRegs = 40, of->sharedSizeBytes = 1024, cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t dynamic) {
  return *blocks = threads == 128 && dynamic == 1024 ? 8 : 0, cudaSuccess;
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, cudaLaunchAttributeID id, cudaLaunchAttributeValue* of) {
  if (id == cudaLaunchAttributeClusterDimension) of->clusterDim.x = 4, of->clusterDim.y = of->clusterDim.z = 1;
  if (id == cudaLaunchAttributeCooperative) of->cooperative = 1;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  using namespace rungs::bench::fake_gpu;
  *executable = reinterpret_cast<cudaGraphExec_t>(new nodes(graph_of(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return delete &rungs::bench::fake_gpu::graph_of(executable), cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  for (const auto& one : rungs::bench::fake_gpu::graph_of(executable)) rungs::bench::fake_gpu::execute(one);
  return cudaSuccess;
}

}  // extern "C"
