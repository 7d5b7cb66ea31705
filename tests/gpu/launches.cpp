// Which kernels this process launched, by their mangled names. Linked in with --wrap, so that no kernel can be launched
// past it: <<<>>> asks for a kernel's handle before its first launch, everything else goes through cudaLaunchKernelExC.
#include "gpu/launches.hpp"

#include <cuda_runtime_api.h>

#include <mutex>

namespace rungs::tests {
namespace {

std::mutex guard;
std::set<const void*>& functions() {
  static std::set<const void*> seen;
  return seen;
}
void note(const void* function) {
  const std::lock_guard lock(guard);
  functions().insert(function);
}

}  // namespace

std::set<std::string> launched_kernels() {
  const std::lock_guard lock(guard);
  std::set<std::string> names;
  for (const void* const function : functions()) {
    const char* name = nullptr;
    if (cudaFuncGetName(&name, function) == cudaSuccess && name != nullptr) names.insert(name);
  }
  cudaGetLastError();
  return names;
}

}  // namespace rungs::tests

extern "C" {

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  rungs::tests::note(function);
  return __real_cudaLaunchKernelExC(config, function, arguments);
}

cudaError_t __real___cudaGetKernel(cudaKernel_t* kernel, const void* function);
cudaError_t __wrap___cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  rungs::tests::note(function);
  return __real___cudaGetKernel(kernel, function);
}

}  // extern "C"
