#include "progress/green_context.hpp"

namespace rungs::tests::progress {
namespace {

// The driver's function of that name and type, or null.
template <class Function>
Function* from_driver(const char* name, Function*) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  if (cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &status) != cudaSuccess)
    cudaGetLastError();
  return status == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}
// Its type is that of the declaration; nothing is linked.
#define FROM_DRIVER(name) from_driver(#name, static_cast<decltype(&name)>(nullptr))

}  // namespace

bool green_context::succeeded(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS && reason_.empty()) reason_ = std::string(call) + " answered " + std::to_string(result);
  return result == CUDA_SUCCESS;
}

green_context::green_context(unsigned num_multiprocessors) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaFree(nullptr) != cudaSuccess) {
    reason_ = "no usable GPU";
    return;
  }
  const auto get_device = FROM_DRIVER(cuDeviceGet);
  const auto get_resource = FROM_DRIVER(cuDeviceGetDevResource);
  const auto split = FROM_DRIVER(cuDevSmResourceSplitByCount);
  const auto describe = FROM_DRIVER(cuDevResourceGenerateDesc);
  const auto create = FROM_DRIVER(cuGreenCtxCreate);
  if (!get_device || !get_resource || !split || !describe || !create || !FROM_DRIVER(cuGreenCtxDestroy) ||
      !FROM_DRIVER(cuGreenCtxStreamCreate)) {
    reason_ = "the driver has no green contexts";
    return;
  }
  CUdevice handle{};
  CUdevResource all{}, part{}, rest{};
  CUdevResourceDesc description{};
  unsigned num_groups = 1;
  if (succeeded(get_device(&handle, device), "cuDeviceGet") &&
      succeeded(get_resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource") &&
      succeeded(split(&part, &num_groups, &all, &rest, 0, num_multiprocessors), "cuDevSmResourceSplitByCount") &&
      succeeded(describe(&description, &part, 1), "cuDevResourceGenerateDesc") &&
      succeeded(create(&context_, description, handle, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate"))
    num_multiprocessors_ = part.sm.smCount;
}

green_context::~green_context() {
  for (const cudaStream_t each : streams_) cudaStreamDestroy(each);
  if (context_ != nullptr) FROM_DRIVER(cuGreenCtxDestroy)(context_);
}

cudaStream_t green_context::make_stream() {
  CUstream stream = nullptr;
  if (context_ == nullptr ||
      !succeeded(FROM_DRIVER(cuGreenCtxStreamCreate)(&stream, context_, CU_STREAM_NON_BLOCKING, 0),
                 "cuGreenCtxStreamCreate"))
    return nullptr;
  streams_.push_back(stream);
  return stream;
}

}  // namespace rungs::tests::progress
