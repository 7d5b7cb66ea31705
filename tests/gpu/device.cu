#include "gpu/device.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "gpu/lent.cuh"
#include "oracles/bits.hpp"

namespace rungs::tests::device {
namespace {

constexpr int block_threads = 256;

int grid_for(std::size_t num_items, int most) {
  const std::size_t blocks = (num_items + block_threads - 1) / block_threads;
  return blocks == 0 ? 1 : blocks < static_cast<std::size_t>(most) ? static_cast<int>(blocks) : most;
}

template <class T>
__global__ void generate_items(T* items, sample s) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < s.num_items; i += stride)
    items[i] = item<T>(s, i);
}

// Thread 0 merges its block's summaries one by one: slow, and plainly right.
template <class T>
__global__ void __launch_bounds__(block_threads)
    summarise_items(const T* items, std::size_t num_items, summary* of_blocks) {
  __shared__ alignas(summary) unsigned char storage[block_threads * sizeof(summary)];
  auto* const of_threads = reinterpret_cast<summary*>(storage);
  summary mine;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < num_items; i += stride)
    mine.absorb(items[i], i);
  of_threads[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < block_threads; ++t) mine.merge(of_threads[t]);
    of_blocks[blockIdx.x] = mine;
  }
}

__device__ unsigned char canary(const unsigned char* address, std::uint64_t key) {
  return static_cast<unsigned char>(detail::hash(key, reinterpret_cast<std::uint64_t>(address)));
}

__global__ void paint_zones(zones painted, std::uint64_t key) {
  const zone z = painted.each[blockIdx.x];
  for (std::size_t i = threadIdx.x; i < z.bytes; i += blockDim.x) z.begin[i] = canary(z.begin + i, key);
}

// first_changed[zone]: offset of the first changed byte, or all ones.
__global__ void inspect_zones(zones painted, std::uint64_t key, unsigned long long* first_changed) {
  const zone z = painted.each[blockIdx.x];
  for (std::size_t i = threadIdx.x; i < z.bytes; i += blockDim.x)
    if (z.begin[i] != canary(z.begin + i, key))
      atomicMin(first_changed + blockIdx.x, static_cast<unsigned long long>(i));
}

__global__ void scramble_bytes(unsigned char* bytes, std::size_t count, std::uint64_t key) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    bytes[i] = static_cast<unsigned char>(detail::hash(key, i));
}

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(unsigned long long duration) {
  const unsigned long long end = nanoseconds() + duration;
  while (nanoseconds() < end) {
  }
}

__global__ void churn(unsigned* scratch, std::size_t words, unsigned long long duration) {
  const unsigned long long end = nanoseconds() + duration;
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  while (nanoseconds() < end) {
    scratch[i % words] = static_cast<unsigned>(i);
    i += stride;
  }
}

__global__ void squat(volatile int* started, const volatile int* released, unsigned long long duration) {
  extern __shared__ int whole_multiprocessor[];
  const unsigned long long end = nanoseconds() + duration;
  if (threadIdx.x == 0) {
    whole_multiprocessor[0] = 1;
    atomicAdd_system(const_cast<int*>(started), 1);
    while (*released == 0 && nanoseconds() < end) {
    }
  }
  __syncthreads();
}

int multiprocessors() {
  static const int count = [] {
    int device = 0, value = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return value;
  }();
  return count;
}

// Small answers travel through one pinned buffer a thread; device memory of that size is kept with it.
struct exchange {
  static constexpr int summaries = 264;
  summary* d_summaries = nullptr;
  summary* h_summaries = nullptr;
  unsigned long long* d_first = nullptr;
  unsigned long long* h_first = nullptr;
  exchange() {
    check(cudaMalloc(&d_summaries, summaries * sizeof(summary)), "cudaMalloc");
    // Its padding is copied, too. Other streams do not wait for the legacy one.
    check(cudaMemset(d_summaries, 0, summaries * sizeof(summary)), "cudaMemset");
    check(cudaStreamSynchronize(nullptr), "cudaMemset");
    check(cudaMallocHost(&h_summaries, summaries * sizeof(summary)), "cudaMallocHost");
    check(cudaMalloc(&d_first, max_zones * sizeof(*d_first)), "cudaMalloc");
    check(cudaMallocHost(&h_first, max_zones * sizeof(*h_first)), "cudaMallocHost");
  }
  ~exchange() {
    cudaFree(d_summaries);
    cudaFreeHost(h_summaries);
    cudaFree(d_first);
    cudaFreeHost(h_first);
  }
};
}  // namespace

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status));
}

void generate(catalog::scalar type, void* d_items, const sample& s, cudaStream_t stream) {
  if (s.num_items == 0) return;
  with_item_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    generate_items<T>
        <<<grid_for(s.num_items, 8 * multiprocessors()), block_threads, 0, stream>>>(static_cast<T*>(d_items), s);
  });
  check(cudaGetLastError(), "generate_items");
}

summary summarise(catalog::scalar type, const void* d_items, std::size_t num_items, cudaStream_t stream) {
  auto& buffers = lent<exchange>::mine();
  const int grid = grid_for(num_items, exchange::summaries);
  with_item_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    summarise_items<T>
        <<<grid, block_threads, 0, stream>>>(static_cast<const T*>(d_items), num_items, buffers.d_summaries);
  });
  check(cudaGetLastError(), "summarise_items");
  check(cudaMemcpyAsync(buffers.h_summaries, buffers.d_summaries, static_cast<std::size_t>(grid) * sizeof(summary),
                        cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "summarise_items");
  summary all = buffers.h_summaries[0];
  for (int b = 1; b < grid; ++b) all.merge(buffers.h_summaries[b]);
  return all;
}

void paint(const zones& painted, std::uint64_t key, cudaStream_t stream) {
  if (painted.count == 0) return;
  paint_zones<<<painted.count, block_threads, 0, stream>>>(painted, key);
  check(cudaGetLastError(), "paint_zones");
}

std::optional<damage> inspect(const zones& painted, std::uint64_t key, cudaStream_t stream) {
  if (painted.count == 0) return std::nullopt;
  auto& buffers = lent<exchange>::mine();
  check(cudaMemsetAsync(buffers.d_first, 0xff, max_zones * sizeof(*buffers.d_first), stream), "cudaMemsetAsync");
  inspect_zones<<<painted.count, block_threads, 0, stream>>>(painted, key, buffers.d_first);
  check(cudaGetLastError(), "inspect_zones");
  check(cudaMemcpyAsync(buffers.h_first, buffers.d_first, max_zones * sizeof(*buffers.d_first), cudaMemcpyDeviceToHost,
                        stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "inspect_zones");
  for (int z = 0; z < painted.count; ++z)
    if (buffers.h_first[z] != ~0ull) return damage{z, static_cast<std::size_t>(buffers.h_first[z])};
  return std::nullopt;
}

void scramble(void* d_bytes, std::size_t bytes, std::uint64_t key, cudaStream_t stream) {
  if (bytes == 0) return;
  scramble_bytes<<<grid_for(bytes, 8 * multiprocessors()), block_threads, 0, stream>>>(
      static_cast<unsigned char*>(d_bytes), bytes, key);
  check(cudaGetLastError(), "scramble_bytes");
}

void delay(double milliseconds, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(milliseconds * 1e6));
  check(cudaGetLastError(), "spin");
}

void make_noise(double milliseconds, void* d_scratch, std::size_t scratch_bytes, cudaStream_t stream) {
  churn<<<multiprocessors() / 2 + 1, block_threads, 0, stream>>>(static_cast<unsigned*>(d_scratch),
                                                                 scratch_bytes / sizeof(unsigned),
                                                                 static_cast<unsigned long long>(milliseconds * 1e6));
  check(cudaGetLastError(), "churn");
}

squatter::squatter(int left_free, double at_most_milliseconds) : blocks_(multiprocessors() - left_free) {
  int device = 0, smem = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&smem, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  check(cudaFuncSetAttribute(squat, cudaFuncAttributeMaxDynamicSharedMemorySize, smem), "cudaFuncSetAttribute");
  int* flags = nullptr;
  check(cudaHostAlloc(&flags, 2 * sizeof(int), cudaHostAllocMapped), "cudaHostAlloc");
  flags[0] = flags[1] = 0;
  started_ = flags;
  released_ = flags + 1;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  if (blocks_ > 0) {
    squat<<<blocks_, 1024, static_cast<std::size_t>(smem), stream_>>>(
        flags, flags + 1, static_cast<unsigned long long>(at_most_milliseconds * 1e6));
    check(cudaGetLastError(), "squat");
  }
}

squatter::~squatter() {
  release();
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaFreeHost(const_cast<int*>(started_));
}

bool squatter::settled() const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (*started_ < blocks_) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

void squatter::release() { *released_ = 1; }

}  // namespace rungs::tests::device
