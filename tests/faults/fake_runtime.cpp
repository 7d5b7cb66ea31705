#include "faults/fake_runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

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
  if (kernels().count(kernel) != 0) return cudaSuccess;
  current().unregistered.push_back(kernel);
  return cudaErrorInvalidDeviceFunction;
}

cudaError_t allocate(cudaError_t status, void** memory, std::size_t bytes) {
  if (status != cudaSuccess) return status;
  const std::lock_guard turn(one_at_a_time);
  *memory = std::malloc(bytes);  // memory of the host, so that no two allocations have one address
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

}  // namespace

const std::map<const void*, std::string>& registered_kernels() { return kernels(); }

std::size_t num_allocations() {
  const std::lock_guard turn(one_at_a_time);
  return allocations().size();
}

}  // namespace rungs::tests::fake

using rungs::tests::fake::allocate;
using rungs::tests::fake::current;
using rungs::tests::fake::find;
using rungs::tests::fake::most_dynamic_bytes;
using rungs::tests::fake::note;
using rungs::tests::fake::note_on;
using rungs::tests::fake::one_at_a_time;
using rungs::tests::fake::release;

// Stands in for `name` wherever the program calls it: see the --wrap options in tests/CMakeLists.txt.
#define STANDS_IN(name) __wrap_##name

extern "C" {

// What each file does before main, for each of its kernels. The runtime itself hears of it, too.
void __real___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void STANDS_IN(__cudaRegisterFunction)(void** binary, const char* host_function, char* device_function,
                                       const char* device_name, int thread_limit, uint3* thread, uint3* block,
                                       dim3* block_dim, dim3* grid_dim, int* warp_size) {
  rungs::tests::fake::kernels()[host_function] = device_name;
  __real___cudaRegisterFunction(binary, host_function, device_function, device_name, thread_limit, thread, block,
                                block_dim, grid_dim, warp_size);
}

cudaError_t STANDS_IN(cudaGetDevice)(int* device) {
  const cudaError_t status = note("cudaGetDevice");
  if (status == cudaSuccess) *device = 0;
  return status;
}

cudaError_t STANDS_IN(cudaGetDeviceCount)(int* count) {
  const cudaError_t status = note("cudaGetDeviceCount");
  if (status == cudaSuccess) *count = 1;
  return status;
}

cudaError_t STANDS_IN(cudaDeviceGetAttribute)(int* value, cudaDeviceAttr attribute, int) {
  const cudaError_t status = note("cudaDeviceGetAttribute");
  if (status != cudaSuccess) return status;
  const auto& r = current();
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = r.multiprocessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = r.capability / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = r.capability % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = r.shared_bytes_optin;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 49152;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = r.shared_bytes_optin + 1024;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 50 << 20;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    default:
      *value = 1;  // what is asked whether it is supported, is
  }
  return status;
}

cudaError_t STANDS_IN(cudaFuncGetAttributes)(cudaFuncAttributes* attributes, const void* function) {
  cudaError_t status = note("cudaFuncGetAttributes");
  if (status == cudaSuccess) status = find(function);
  if (status != cudaSuccess) return status;
  const std::lock_guard turn(one_at_a_time);
  std::memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_bytes(function));
  const auto& r = current();
  attributes->ptxVersion = r.ptx_version != 0 ? r.ptx_version : r.capability;
  attributes->binaryVersion = r.binary_version != 0 ? r.binary_version : r.capability;
  return status;
}

cudaError_t STANDS_IN(cudaFuncSetAttribute)(const void* function, cudaFuncAttribute attribute, int value) {
  cudaError_t status = note("cudaFuncSetAttribute");
  if (status == cudaSuccess) status = find(function);
  if (status != cudaSuccess || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return status;
  {
    const std::lock_guard turn(one_at_a_time);
    current().shared_bytes_allowed[function] = static_cast<std::size_t>(value);
  }
  std::this_thread::yield();  // what another thread sets now is what holds
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, const void* function, int, size_t) {
  cudaError_t status = note("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (status == cudaSuccess) status = find(function);
  if (status == cudaSuccess) *blocks = current().blocks_per_multiprocessor;
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int* blocks, const void* function, int,
                                                                              size_t, unsigned) {
  cudaError_t status = note("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  if (status == cudaSuccess) status = find(function);
  if (status == cudaSuccess) *blocks = current().blocks_per_multiprocessor;
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyAvailableDynamicSMemPerBlock)(size_t* bytes, const void* function, int num_blocks,
                                                                 int) {
  cudaError_t status = note("cudaOccupancyAvailableDynamicSMemPerBlock");
  if (status == cudaSuccess) status = find(function);
  if (status == cudaSuccess) *bytes = static_cast<std::size_t>(current().shared_bytes_optin / num_blocks);
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxPotentialClusterSize)(int* size, const void* function,
                                                            const cudaLaunchConfig_t*) {
  cudaError_t status = note("cudaOccupancyMaxPotentialClusterSize");
  if (status == cudaSuccess) status = find(function);
  if (status == cudaSuccess) *size = current().cluster_blocks;
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveClusters)(int* clusters, const void* function, const cudaLaunchConfig_t*) {
  cudaError_t status = note("cudaOccupancyMaxActiveClusters");
  if (status == cudaSuccess) status = find(function);
  if (status == cudaSuccess) *clusters = current().clusters;
  return status;
}

cudaError_t STANDS_IN(cudaMemsetAsync)(void* memory, int, size_t, cudaStream_t stream) {
  return note_on(stream, "cudaMemsetAsync", memory);
}
cudaError_t STANDS_IN(cudaMemcpyAsync)(void* memory, const void*, size_t, cudaMemcpyKind, cudaStream_t stream) {
  return note_on(stream, "cudaMemcpyAsync", memory);
}
cudaError_t STANDS_IN(cudaStreamSynchronize)(cudaStream_t) { return note("cudaStreamSynchronize"); }
cudaError_t STANDS_IN(cudaDeviceSynchronize)() { return note("cudaDeviceSynchronize"); }

cudaError_t STANDS_IN(cudaStreamIsCapturing)(cudaStream_t, cudaStreamCaptureStatus* capture) {
  const cudaError_t status = note("cudaStreamIsCapturing");
  if (status == cudaSuccess) *capture = current().capture;
  return status;
}
cudaError_t STANDS_IN(cudaStreamGetCaptureInfo)(cudaStream_t, cudaStreamCaptureStatus* capture, unsigned long long* id,
                                                cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                                size_t* num_dependencies) {
  const cudaError_t status = note("cudaStreamGetCaptureInfo");
  if (status != cudaSuccess) return status;
  *capture = current().capture;
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
  return release(note(rungs::tests::fake::call{.name = "cudaFree", .memory = memory}), memory);
}
cudaError_t STANDS_IN(cudaEventCreateWithFlags)(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return note("cudaEventCreateWithFlags");
}
cudaError_t STANDS_IN(cudaEventRecord)(cudaEvent_t, cudaStream_t stream) { return note_on(stream, "cudaEventRecord"); }
cudaError_t STANDS_IN(cudaStreamWaitEvent)(cudaStream_t stream, cudaEvent_t, unsigned) {
  return note_on(stream, "cudaStreamWaitEvent");
}
cudaError_t STANDS_IN(cudaEventDestroy)(cudaEvent_t) { return note("cudaEventDestroy"); }

cudaError_t STANDS_IN(cudaLaunchKernelExC)(const cudaLaunchConfig_t* config, const void* function, void**) {
  rungs::tests::fake::call made{.name = "cudaLaunchKernelExC",
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
