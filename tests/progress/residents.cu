#include "progress/residents.hpp"

#include <cuda_runtime.h>

#include <chrono>

namespace rungs::tests::progress {
namespace {

constexpr unsigned most_multiprocessors = 1024;

// taken[0] counts blocks that stay, taken[1 + i] those that came to multiprocessor i. The first block on a
// multiprocessor stays, all others leave at once. They look at a word in the device's memory: reads of 131 blocks over
// the bus, even one every 20 us each, made CUB's calls beside them 8 to 20 times slower.
__global__ void stay(volatile int* is_over, int* num_staying, unsigned* taken, unsigned num_wanted) {
  if (threadIdx.x != 0) return;
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (atomicAdd(taken + 1 + multiprocessor % most_multiprocessors, 1u) != 0 || atomicAdd(taken, 1u) >= num_wanted)
    return;
  atomicAdd_system(num_staying, 1);
  while (*is_over == 0) __nanosleep(20'000);
}

}  // namespace

residents::residents(int num_multiprocessors, std::size_t shared_bytes)
    : num_multiprocessors_(num_multiprocessors), shared_bytes_(shared_bytes) {
  void* host = nullptr;
  cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&releasing_, cudaStreamNonBlocking);
  cudaHostAlloc(&host, sizeof(mapped), cudaHostAllocMapped);
  cudaHostGetDevicePointer(reinterpret_cast<void**>(&d_host_), host, 0);
  cudaMalloc(&d_is_over_, sizeof(int));
  cudaMalloc(&d_taken_, (1 + most_multiprocessors) * sizeof(unsigned));
  cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  host_ = static_cast<volatile mapped*>(host);
}

residents::~residents() {
  release();
  cudaFree(d_is_over_);
  cudaFree(d_taken_);
  cudaFreeHost(const_cast<mapped*>(host_));
  cudaStreamDestroy(releasing_);
  cudaStreamDestroy(stream_);
}

bool residents::start() {
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  host_->num_staying = 0;
  cudaMemsetAsync(d_is_over_, 0, sizeof(int), stream_);
  cudaMemsetAsync(d_taken_, 0, (1 + most_multiprocessors) * sizeof(unsigned), stream_);
  // So many blocks that one comes to every multiprocessor, whether it holds one of them or many.
  const int num_blocks = multiprocessors * (shared_bytes_ > 100 * 1024 ? 2 : 16);
  stay<<<num_blocks, 32, shared_bytes_, stream_>>>(d_is_over_, &d_host_->num_staying, d_taken_,
                                                   static_cast<unsigned>(num_multiprocessors_));
  if (cudaGetLastError() != cudaSuccess) return false;
  const auto start = std::chrono::steady_clock::now();
  while (host_->num_staying != num_multiprocessors_)
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(1)) return false;
  return true;
}

cudaError_t residents::hold_up(cudaStream_t stream) const {
  cudaEvent_t ended = nullptr;
  cudaError_t error = cudaEventCreateWithFlags(&ended, cudaEventDisableTiming);
  if (error != cudaSuccess) return error;
  error = cudaEventRecord(ended, stream_);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(stream, ended, 0);
  cudaEventDestroy(ended);
  return error;
}

cudaError_t residents::release() {
  // By a copy, which needs no multiprocessor.
  host_->one = 1;
  const cudaError_t error =
      cudaMemcpyAsync(d_is_over_, const_cast<int*>(&host_->one), sizeof(int), cudaMemcpyHostToDevice, releasing_);
  return error == cudaSuccess ? cudaStreamSynchronize(stream_) : error;
}

}  // namespace rungs::tests::progress
