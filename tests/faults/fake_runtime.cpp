#include "faults/fake_runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace rungs::tests::fake {

runtime& current() {
  static runtime it;
  return it;
}

namespace {

std::mutex one_at_a_time;

// Notes the call; returns what it is to answer.
cudaError_t note(const char* name, bool enqueues = false, unsigned long long grid_blocks = 0,
                 unsigned block_threads = 0) {
  const std::lock_guard turn(one_at_a_time);
  runtime& r = current();
  r.calls.push_back({name, enqueues, grid_blocks, block_threads});
  const int index = static_cast<int>(r.calls.size());
  if (r.failing_call > 0 && (index == r.failing_call || (r.failing_ever_after && index > r.failing_call))) {
    r.last_error = r.error;
    return r.error;
  }
  return cudaSuccess;
}

// Of shared memory, for whoever has the lock.
std::size_t most_dynamic_bytes(const void* function) {
  const auto& allowed = current().shared_bytes_allowed;
  const auto found = allowed.find(function);
  return found == allowed.end() ? 48 * 1024 : found->second;
}

}  // namespace
}  // namespace rungs::tests::fake

using rungs::tests::fake::current;
using rungs::tests::fake::most_dynamic_bytes;
using rungs::tests::fake::note;
using rungs::tests::fake::one_at_a_time;

// Stands in for `name` wherever the catalog calls it: see the --wrap options in tests/CMakeLists.txt.
#define STANDS_IN(name) __wrap_##name

extern "C" {

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
  const cudaError_t status = note("cudaFuncGetAttributes");
  if (status != cudaSuccess) return status;
  const std::lock_guard turn(one_at_a_time);
  std::memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_bytes(function));
  attributes->binaryVersion = attributes->ptxVersion = current().capability;
  return status;
}

cudaError_t STANDS_IN(cudaFuncSetAttribute)(const void* function, cudaFuncAttribute attribute, int value) {
  const cudaError_t status = note("cudaFuncSetAttribute");
  if (status != cudaSuccess || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return status;
  {
    const std::lock_guard turn(one_at_a_time);
    current().shared_bytes_allowed[function] = static_cast<std::size_t>(value);
  }
  std::this_thread::yield();  // what another thread sets now is what holds
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, const void*, int, size_t) {
  const cudaError_t status = note("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (status == cudaSuccess) *blocks = current().blocks_per_multiprocessor;
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int* blocks, const void*, int, size_t,
                                                                              unsigned) {
  const cudaError_t status = note("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  if (status == cudaSuccess) *blocks = current().blocks_per_multiprocessor;
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxPotentialClusterSize)(int* size, const void*, const cudaLaunchConfig_t*) {
  const cudaError_t status = note("cudaOccupancyMaxPotentialClusterSize");
  if (status == cudaSuccess) *size = current().cluster_blocks;
  return status;
}

cudaError_t STANDS_IN(cudaOccupancyMaxActiveClusters)(int* clusters, const void*, const cudaLaunchConfig_t*) {
  const cudaError_t status = note("cudaOccupancyMaxActiveClusters");
  if (status == cudaSuccess) *clusters = current().clusters;
  return status;
}

cudaError_t STANDS_IN(cudaMemsetAsync)(void*, int, size_t, cudaStream_t) { return note("cudaMemsetAsync", true); }
cudaError_t STANDS_IN(cudaMemcpyAsync)(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t) {
  return note("cudaMemcpyAsync", true);
}
cudaError_t STANDS_IN(cudaStreamSynchronize)(cudaStream_t) { return note("cudaStreamSynchronize"); }

// Memory of the host, so that no two allocations have one address.
cudaError_t STANDS_IN(cudaMallocAsync)(void** memory, size_t bytes, cudaStream_t) {
  const cudaError_t status = note("cudaMallocAsync", true);
  if (status == cudaSuccess) *memory = std::malloc(bytes);
  return status;
}
cudaError_t STANDS_IN(cudaFreeAsync)(void* memory, cudaStream_t) {
  std::free(memory);
  return note("cudaFreeAsync", true);
}
cudaError_t STANDS_IN(cudaFree)(void* memory) {
  std::free(memory);
  return note("cudaFree");
}
cudaError_t STANDS_IN(cudaEventCreateWithFlags)(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return note("cudaEventCreateWithFlags");
}
cudaError_t STANDS_IN(cudaEventRecord)(cudaEvent_t, cudaStream_t) { return note("cudaEventRecord", true); }
cudaError_t STANDS_IN(cudaStreamWaitEvent)(cudaStream_t, cudaEvent_t, unsigned) {
  return note("cudaStreamWaitEvent", true);
}
cudaError_t STANDS_IN(cudaEventDestroy)(cudaEvent_t) { return note("cudaEventDestroy"); }

cudaError_t STANDS_IN(cudaLaunchKernelExC)(const cudaLaunchConfig_t* config, const void* function, void**) {
  const cudaError_t status = note("cudaLaunchKernelExC", true, config->gridDim.x, config->blockDim.x);
  const std::lock_guard turn(one_at_a_time);
  return status == cudaSuccess && config->dynamicSmemBytes > most_dynamic_bytes(function) ? cudaErrorInvalidValue
                                                                                          : status;
}

// What <<<>>> becomes: a handle, and a launch whose error only cudaGetLastError tells.
cudaError_t STANDS_IN(__cudaGetKernel)(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t STANDS_IN(__cudaLaunchKernel)(cudaKernel_t, dim3 grid, dim3 block, void**, size_t, cudaStream_t) {
  return note("<<<>>>", true, grid.x, block.x);
}

cudaError_t STANDS_IN(cudaGetLastError)() {
  const cudaError_t last = current().last_error;
  current().last_error = cudaSuccess;
  return last;
}
cudaError_t STANDS_IN(cudaPeekAtLastError)() { return current().last_error; }

}  // extern "C"
