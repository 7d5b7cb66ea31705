#include "faults/fake_runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace rungs::tests::fake {

runtime& current() {
  static runtime it;
  return it;
}

namespace {

std::mutex one_at_a_time;

std::map<const void*, std::string>& kernels() {
  static std::map<const void*, std::string> it;  // files register theirs before main
  return it;
}

std::set<void*>& allocations() {
  static std::set<void*> it;
  return it;
}

// Notes the call; returns what it is to answer.
cudaError_t note(call made) {
  const std::lock_guard turn(one_at_a_time);
  runtime& r = current();
  if (r.executes) return cudaSuccess;
  r.calls.push_back(std::move(made));
  const int index = static_cast<int>(r.calls.size());
  if (r.failing_call > 0 && (index == r.failing_call || (r.failing_ever_after && index > r.failing_call))) {
    r.last_error = r.error;
    return r.error;
  }
  return cudaSuccess;
}
cudaError_t note(const char* name) { return note(call{.name = name}); }
cudaError_t note_on(cudaStream_t stream, const char* name, const void* memory = nullptr) {
  return note(call{.name = name, .enqueues = true, .stream = stream, .memory = memory});
}

// What was never registered is no kernel.
cudaError_t find(const void* kernel) {
  const std::lock_guard turn(one_at_a_time);
  if (kernels().count(kernel) != 0 || current().executes) return cudaSuccess;
  current().unregistered.push_back(kernel);
  return cudaErrorInvalidDeviceFunction;
}
cudaError_t note_about(const char* name, const void* kernel) {
  const cudaError_t status = note(name);
  return status == cudaSuccess ? find(kernel) : status;
}

// Answers a question, unless it failed.
template <class T, class Value>
cudaError_t answer(cudaError_t status, T* into, Value value) {
  if (status == cudaSuccess) *into = static_cast<T>(value);
  return status;
}

int value_of(cudaDeviceAttr attribute) {
  const runtime& r = current();
  const std::map<cudaDeviceAttr, int> values = {
      {cudaDevAttrMultiProcessorCount, r.multiprocessors},
      {cudaDevAttrComputeCapabilityMajor, r.capability / 10},
      {cudaDevAttrComputeCapabilityMinor, r.capability % 10},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, r.shared_bytes_optin},
      {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, r.shared_bytes_optin + 1024},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMaxGridDimX, 0x7fffffff},
      {cudaDevAttrL2CacheSize, 50 << 20},
      {cudaDevAttrWarpSize, 32}};
  const auto found = values.find(attribute);
  return found == values.end() ? 1 : found->second;  // what is asked whether it is supported, is
}

cudaError_t allocate(cudaError_t status, void** memory, std::size_t bytes) {
  if (status != cudaSuccess) return status;
  const std::lock_guard turn(one_at_a_time);
  // Memory of the host, so that no two allocations have one address; as cudaMalloc aligns it.
  *memory = std::aligned_alloc(256, (bytes / 256 + 1) * 256);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  allocations().insert(*memory);
  return status;
}
// Of shared memory, for whoever has the lock.
std::size_t most_dynamic_bytes(const void* function) {
  const auto& allowed = current().shared_bytes_allowed;
  const auto found = allowed.find(function);
  return found == allowed.end() ? 48 * 1024 : found->second;
}

// A free that fails frees nothing.
cudaError_t release(cudaError_t status, void* memory) {
  if (status != cudaSuccess || memory == nullptr) return status;
  const std::lock_guard turn(one_at_a_time);
  if (allocations().erase(memory) == 0) return cudaErrorInvalidValue;
  std::free(memory);
  return status;
}

// Handles point to what they stand for: an event to the time at which it was recorded, a graph to its nodes.
template <class T, class Handle>
T& behind(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}
template <class T, class Handle>
cudaError_t create(cudaError_t status, Handle* handle, T value) {
  *handle = status == cudaSuccess ? reinterpret_cast<Handle>(new T(std::move(value))) : nullptr;
  return status;
}
template <class T, class Handle>
cudaError_t destroy(cudaError_t status, Handle handle) {
  if (status == cudaSuccess) delete reinterpret_cast<T*>(handle);
  return status;
}

struct node {
  double microseconds;
  std::function<void()> work;
};
using nodes = std::vector<node>;
std::optional<nodes> capturing;

void execute(const node& one) {
  runtime& r = current();
  r.seen += r.in_view;
  r.flushed = false;
  r.now_us += one.microseconds;
  one.work();
}

}  // namespace

const std::map<const void*, std::string>& registered_kernels() { return kernels(); }

std::size_t num_allocations() {
  const std::lock_guard turn(one_at_a_time);
  return allocations().size();
}

cudaError_t launch(double microseconds, std::function<void()> work) {
  node one{microseconds, std::move(work)};
  if (capturing)
    capturing->push_back(std::move(one));
  else
    execute(one);
  return cudaSuccess;
}

}  // namespace rungs::tests::fake

using namespace rungs::tests::fake;

// Stands in for `name` wherever the program calls it: see the --wrap options in tests/CMakeLists.txt.
#define STANDS_IN(name) __wrap_##name

extern "C" {

// What each file does before main, for each of its kernels. The runtime itself hears of it, too.
void __real___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void STANDS_IN(__cudaRegisterFunction)(void** binary, const char* host_function, char* device_function,
                                       const char* device_name, int thread_limit, uint3* thread, uint3* block,
                                       dim3* block_dim, dim3* grid_dim, int* warp_size) {
  kernels()[host_function] = device_name;
  __real___cudaRegisterFunction(binary, host_function, device_function, device_name, thread_limit, thread, block,
                                block_dim, grid_dim, warp_size);
}

cudaError_t STANDS_IN(cudaGetDevice)(int* device) { return answer(note("cudaGetDevice"), device, 0); }
cudaError_t STANDS_IN(cudaGetDeviceCount)(int* count) { return answer(note("cudaGetDeviceCount"), count, 1); }
cudaError_t STANDS_IN(cudaDeviceGetAttribute)(int* value, cudaDeviceAttr attribute, int) {
  return answer(note("cudaDeviceGetAttribute"), value, value_of(attribute));
}

cudaError_t STANDS_IN(cudaFuncGetAttributes)(cudaFuncAttributes* attributes, const void* function) {
  const cudaError_t status = note_about("cudaFuncGetAttributes", function);
  if (status != cudaSuccess) return status;
  const std::lock_guard turn(one_at_a_time);
  std::memset(attributes, 0, sizeof *attributes);
  const auto& r = current();
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->sharedSizeBytes = r.static_shared_bytes;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_bytes(function));
  attributes->ptxVersion = r.ptx_version != 0 ? r.ptx_version : r.capability;
  attributes->binaryVersion = r.binary_version != 0 ? r.binary_version : r.capability;
  return status;
}

cudaError_t STANDS_IN(cudaFuncSetAttribute)(const void* function, cudaFuncAttribute attribute, int value) {
  const cudaError_t status = note_about("cudaFuncSetAttribute", function);
  if (status != cudaSuccess || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return status;
  {
    const std::lock_guard turn(one_at_a_time);
    current().shared_bytes_allowed[function] = static_cast<std::size_t>(value);
  }
  std::this_thread::yield();  // what another thread sets now is what holds
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, const void* function, int threads,
                                                                     size_t dynamic_bytes) {
  const cudaError_t status = note_about("cudaOccupancyMaxActiveBlocksPerMultiprocessor", function);
  if (current().executes) current().asked = {threads, dynamic_bytes};
  return answer(status, blocks, current().blocks_per_multiprocessor);
}
cudaError_t STANDS_IN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int* blocks, const void* function, int,
                                                                              size_t, unsigned) {
  return answer(note_about("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", function), blocks,
                current().blocks_per_multiprocessor);
}
cudaError_t STANDS_IN(cudaOccupancyAvailableDynamicSMemPerBlock)(size_t* bytes, const void* function, int num_blocks,
                                                                 int) {
  return answer(note_about("cudaOccupancyAvailableDynamicSMemPerBlock", function), bytes,
                current().shared_bytes_optin / num_blocks);
}
cudaError_t STANDS_IN(cudaOccupancyMaxPotentialClusterSize)(int* size, const void* function,
                                                            const cudaLaunchConfig_t*) {
  return answer(note_about("cudaOccupancyMaxPotentialClusterSize", function), size, current().cluster_blocks);
}
cudaError_t STANDS_IN(cudaOccupancyMaxActiveClusters)(int* clusters, const void* function, const cudaLaunchConfig_t*) {
  return answer(note_about("cudaOccupancyMaxActiveClusters", function), clusters, current().clusters);
}

cudaError_t STANDS_IN(cudaMemsetAsync)(void* memory, int value, size_t bytes, cudaStream_t stream) {
  const cudaError_t status = note_on(stream, "cudaMemsetAsync", memory);
  if (!current().executes) return status;
  if (bytes < size_t{64} << 20) std::memset(memory, value, bytes);  // a flush buffer holds nothing that is looked at
  current().now_us += static_cast<double>(bytes) / 4.5e6;
  return status;
}
cudaError_t STANDS_IN(cudaMemcpyAsync)(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const cudaError_t status = note_on(stream, "cudaMemcpyAsync", to);
  if (current().executes) std::memcpy(to, from, bytes);
  return status;
}
cudaError_t STANDS_IN(cudaStreamSynchronize)(cudaStream_t) { return note("cudaStreamSynchronize"); }
cudaError_t STANDS_IN(cudaDeviceSynchronize)() { return note("cudaDeviceSynchronize"); }

cudaError_t STANDS_IN(cudaStreamIsCapturing)(cudaStream_t, cudaStreamCaptureStatus* capture) {
  return answer(note("cudaStreamIsCapturing"), capture, current().capture);
}
cudaError_t STANDS_IN(cudaStreamGetCaptureInfo)(cudaStream_t, cudaStreamCaptureStatus* capture, unsigned long long* id,
                                                cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                                size_t* num_dependencies) {
  const cudaError_t status = answer(note("cudaStreamGetCaptureInfo"), capture, current().capture);
  if (status != cudaSuccess) return status;
  if (id != nullptr) *id = 1;
  if (num_dependencies != nullptr) *num_dependencies = 0;
  return status;
}

// An allocation in a capture would become a node of the graph.
cudaError_t STANDS_IN(cudaMallocAsync)(void** memory, size_t bytes, cudaStream_t stream) {
  return allocate(note_on(stream, "cudaMallocAsync"), memory, bytes);
}
cudaError_t STANDS_IN(cudaFreeAsync)(void* memory, cudaStream_t stream) {
  return release(note_on(stream, "cudaFreeAsync", memory), memory);
}
cudaError_t STANDS_IN(cudaMalloc)(void** memory, size_t bytes) { return allocate(note("cudaMalloc"), memory, bytes); }
cudaError_t STANDS_IN(cudaFree)(void* memory) {
  return release(note(call{.name = "cudaFree", .memory = memory}), memory);
}

cudaError_t STANDS_IN(cudaStreamCreateWithFlags)(cudaStream_t* stream, unsigned) {
  return create(note("cudaStreamCreateWithFlags"), stream, 0);
}
cudaError_t STANDS_IN(cudaStreamDestroy)(cudaStream_t stream) {
  return destroy<int>(note("cudaStreamDestroy"), stream);
}
cudaError_t STANDS_IN(cudaEventCreate)(cudaEvent_t* event) { return create(note("cudaEventCreate"), event, 0.0); }
cudaError_t STANDS_IN(cudaEventCreateWithFlags)(cudaEvent_t* event, unsigned) {
  return create(note("cudaEventCreateWithFlags"), event, 0.0);
}
cudaError_t STANDS_IN(cudaEventRecord)(cudaEvent_t event, cudaStream_t stream) {
  return answer(note_on(stream, "cudaEventRecord"), &behind<double>(event), current().now_us);
}
cudaError_t STANDS_IN(cudaEventElapsedTime)(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  return answer(note("cudaEventElapsedTime"), milliseconds, (behind<double>(stop) - behind<double>(start)) * 1e-3);
}
cudaError_t STANDS_IN(cudaStreamWaitEvent)(cudaStream_t stream, cudaEvent_t, unsigned) {
  return note_on(stream, "cudaStreamWaitEvent");
}
cudaError_t STANDS_IN(cudaEventDestroy)(cudaEvent_t event) { return destroy<double>(note("cudaEventDestroy"), event); }

cudaError_t STANDS_IN(cudaProfilerStart)() {
  current().flushed_before += current().flushed;
  current().in_view = true;
  return note("cudaProfilerStart");
}
cudaError_t STANDS_IN(cudaProfilerStop)() {
  current().in_view = false;
  return note("cudaProfilerStop");
}

cudaError_t STANDS_IN(cudaStreamBeginCapture)(cudaStream_t, cudaStreamCaptureMode) {
  capturing.emplace();
  return note("cudaStreamBeginCapture");
}
cudaError_t STANDS_IN(cudaStreamEndCapture)(cudaStream_t, cudaGraph_t* graph) {
  nodes captured = std::move(*capturing);
  capturing.reset();
  return create(note("cudaStreamEndCapture"), graph, std::move(captured));
}
cudaError_t STANDS_IN(cudaGraphDestroy)(cudaGraph_t graph) { return destroy<nodes>(note("cudaGraphDestroy"), graph); }
cudaError_t STANDS_IN(cudaGraphGetNodes)(cudaGraph_t graph, cudaGraphNode_t* handles, size_t* count) {
  auto& all = behind<nodes>(graph);
  for (size_t i = 0; handles != nullptr && i < all.size(); ++i) handles[i] = reinterpret_cast<cudaGraphNode_t>(&all[i]);
  return answer(note("cudaGraphGetNodes"), count, all.size());
}
cudaError_t STANDS_IN(cudaGraphNodeGetType)(cudaGraphNode_t, cudaGraphNodeType* type) {
  return answer(note("cudaGraphNodeGetType"), type, cudaGraphNodeTypeKernel);
}
// Every kernel of a graph is a cooperative one of 264 blocks of 128 threads in clusters of four.
cudaError_t STANDS_IN(cudaGraphKernelNodeGetParams)(cudaGraphNode_t, cudaKernelNodeParams* of) {
  of->gridDim = dim3(132, 2);
  of->blockDim = dim3(128);
  of->sharedMemBytes = 1024;
  return note("cudaGraphKernelNodeGetParams");
}
cudaError_t STANDS_IN(cudaGraphKernelNodeGetAttribute)(cudaGraphNode_t, cudaLaunchAttributeID id,
                                                       cudaLaunchAttributeValue* of) {
  if (id == cudaLaunchAttributeClusterDimension) of->clusterDim.x = 4, of->clusterDim.y = of->clusterDim.z = 1;
  if (id == cudaLaunchAttributeCooperative) of->cooperative = 1;
  return note("cudaGraphKernelNodeGetAttribute");
}
cudaError_t STANDS_IN(cudaGraphInstantiate)(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return create(note("cudaGraphInstantiate"), executable, behind<nodes>(graph));
}
cudaError_t STANDS_IN(cudaGraphExecDestroy)(cudaGraphExec_t executable) {
  return destroy<nodes>(note("cudaGraphExecDestroy"), executable);
}
cudaError_t STANDS_IN(cudaGraphUpload)(cudaGraphExec_t, cudaStream_t) { return note("cudaGraphUpload"); }
cudaError_t STANDS_IN(cudaGraphLaunch)(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const node& one : behind<nodes>(executable)) execute(one);
  return note_on(stream, "cudaGraphLaunch");
}

cudaError_t STANDS_IN(cudaLaunchKernelExC)(const cudaLaunchConfig_t* config, const void* function, void**) {
  call made{.name = "cudaLaunchKernelExC",
            .enqueues = true,
            .grid_blocks = config->gridDim.x,
            .block_threads = config->blockDim.x,
            .stream = config->stream,
            .kernel = function};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& each = config->attrs[i];
    if (each.id == cudaLaunchAttributeClusterDimension) made.cluster_blocks = static_cast<int>(each.val.clusterDim.x);
    if (each.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      made.overlaps = each.val.programmaticStreamSerializationAllowed != 0;
    if (each.id == cudaLaunchAttributeCooperative) made.is_cooperative = each.val.cooperative != 0;
  }
  cudaError_t status = note(made);
  if (status == cudaSuccess) status = find(function);
  if (status != cudaSuccess) return status;
  if (made.grid_blocks == 0 || made.block_threads == 0) return cudaErrorInvalidConfiguration;
  const std::lock_guard turn(one_at_a_time);
  return config->dynamicSmemBytes > most_dynamic_bytes(function) ? cudaErrorInvalidValue : status;
}

// What <<<>>> becomes: a handle, and a launch whose error only cudaGetLastError tells.
cudaError_t STANDS_IN(__cudaGetKernel)(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  const cudaError_t status = find(function);
  if (status != cudaSuccess) current().last_error = status;
  return status;
}
cudaError_t STANDS_IN(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 grid, dim3 block, void**, size_t,
                                          cudaStream_t stream) {
  return note({.name = "<<<>>>",
               .enqueues = true,
               .grid_blocks = grid.x,
               .block_threads = block.x,
               .stream = stream,
               .kernel = kernel});
}

cudaError_t STANDS_IN(cudaGetLastError)() {
  const cudaError_t last = current().last_error;
  current().last_error = cudaSuccess;
  return last;
}
cudaError_t STANDS_IN(cudaPeekAtLastError)() { return current().last_error; }

}  // extern "C"
