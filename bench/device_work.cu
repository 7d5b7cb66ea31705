#include "device_work.hpp"

namespace rungs::bench::device_work {
namespace {

constexpr int flush_threads = 512, summary_threads = 256;

__device__ unsigned long long global_timer() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ stamp read_clocks() {
  unsigned long long clocks;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clocks));
  return {clocks, global_timer()};
}

__device__ void store_passed(const stamp& since, stamp* seen) {
  const stamp now = read_clocks();
  if (seen != nullptr) *seen = {now.clocks - since.clocks, now.nanoseconds - since.nanoseconds};
}

__global__ void __launch_bounds__(flush_threads)
    read_flush_kernel(const uint4* vectors, std::size_t num_vectors, unsigned* never, stamp* seen) {
  const stamp start = read_clocks();
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  unsigned bits = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_vectors; i += 4 * stride) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (i + u * stride < num_vectors) {
        const uint4 vector = vectors[i + u * stride];
        bits |= vector.x | vector.y | vector.z | vector.w;
      }
    }
  }
  // The host passes null, so nothing is stored; the compiler cannot know that.
  if (bits != 0 && never != nullptr) *never = bits;
  if (blockIdx.x == 0 && threadIdx.x == 0) store_passed(start, seen);
}

__global__ void spin_kernel(unsigned long long nanoseconds, stamp* seen) {
  const stamp start = read_clocks();
  while (global_timer() - start.nanoseconds < nanoseconds) {
  }
  store_passed(start, seen);
}

template <class T>
__global__ void generate_kernel(workload from, T* items) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < from.num_items; i += stride)
    items[i] = item<T>(from, i);
}

template <class T>
__global__ void __launch_bounds__(summary_threads)
    summarise_kernel(const T* items, std::size_t num_items, summary_of_items* summaries) {
  summary_of_items about;
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_items; i += stride)
    include(about, items[i]);
  __shared__ alignas(summary_of_items) unsigned char storage[summary_threads * sizeof(summary_of_items)];
  summary_of_items* const shared = reinterpret_cast<summary_of_items*>(storage);
  shared[threadIdx.x] = about;
  for (int distance = summary_threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) merge(shared[threadIdx.x], shared[threadIdx.x + distance]);
  }
  if (threadIdx.x == 0) summaries[blockIdx.x] = shared[0];
}

int multiprocessors() {
  int device = 0, count = 1;
  if (cudaGetDevice(&device) == cudaSuccess) cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

}  // namespace

cudaError_t read_flush(const void* buffer, std::size_t num_bytes, stamp* seen, cudaStream_t stream) {
  // One wave, so that the first block sees the clock over the whole flush.
  read_flush_kernel<<<3 * multiprocessors(), flush_threads, 0, stream>>>(static_cast<const uint4*>(buffer),
                                                                         num_bytes / 16, nullptr, seen);
  return cudaGetLastError();
}

cudaError_t spin(unsigned long long nanoseconds, stamp* seen, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(nanoseconds, seen);
  return cudaGetLastError();
}

cudaError_t generate(const workload& from, void* items, cudaStream_t stream) {
  with_type(from.type, [&]<class T>(T) {
    generate_kernel<T><<<8 * multiprocessors(), 256, 0, stream>>>(from, static_cast<T*>(items));
  });
  return cudaGetLastError();
}

cudaError_t summarise(catalog::scalar type, const void* items, std::size_t num_items, summary_of_items* summaries,
                      cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    summarise_kernel<T>
        <<<max_summaries, summary_threads, 0, stream>>>(static_cast<const T*>(items), num_items, summaries);
  });
  return cudaGetLastError();
}

}  // namespace rungs::bench::device_work
