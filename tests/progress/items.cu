#include "progress/items.hpp"

#include <cuda_runtime.h>

namespace rungs::tests::progress {
namespace {

__device__ unsigned mixed(std::size_t i) {
  unsigned x = static_cast<unsigned>(i) * 0x9e3779b9u ^ static_cast<unsigned>(i >> 32);
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

__device__ void make(float& item, unsigned bits, std::size_t) {
  item = bits % 64 == 0 ? static_cast<float>(static_cast<int>(bits / 64 % 5) - 2) : 0.0f;
}
__device__ void make(long long& item, unsigned bits, std::size_t i) {
  item = static_cast<long long>(bits) * 0x1234567 - static_cast<long long>(i);
}
__device__ void make(unsigned char& item, unsigned bits, std::size_t) { item = static_cast<unsigned char>(bits); }
__device__ void make(int& item, unsigned bits, std::size_t) { item = static_cast<int>(bits % most_sample); }
__device__ void make(map& item, unsigned bits, std::size_t i) { item = {bits | 1u, static_cast<unsigned>(i)}; }

template <class T>
__global__ void make_all(T* items, std::size_t num_items) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride)
    make(items[i], mixed(i), i);
}

template <class T>
cudaError_t fill_with(void* d_items, std::size_t num_items) {
  make_all<<<1024, 256>>>(static_cast<T*>(d_items), num_items);
  return cudaGetLastError();
}

// As item_type counts them.
constexpr struct {
  std::size_t bytes;
  cudaError_t (*fill)(void*, std::size_t);
} types[] = {{4, fill_with<float>},
             {8, fill_with<long long>},
             {1, fill_with<unsigned char>},
             {4, fill_with<int>},
             {8, fill_with<map>}};

__global__ void count_differences(const unsigned* a, const unsigned* b, std::size_t num_words, unsigned* differ) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_words; i += stride)
    if (a[i] != b[i]) *differ = 1;
}

}  // namespace

std::size_t bytes_of(item_type type) { return types[static_cast<int>(type)].bytes; }

cudaError_t fill(item_type type, void* d_items, std::size_t num_items) {
  return types[static_cast<int>(type)].fill(d_items, num_items);
}

cudaError_t compare(const void* d_a, const void* d_b, std::size_t bytes, bool& are_same) {
  static unsigned* d_differ = nullptr;
  unsigned differ = 0;
  cudaError_t error = d_differ == nullptr ? cudaMalloc(&d_differ, sizeof(unsigned)) : cudaSuccess;
  if (error == cudaSuccess) error = cudaMemset(d_differ, 0, sizeof(unsigned));
  if (error != cudaSuccess) return error;
  count_differences<<<1024, 256>>>(static_cast<const unsigned*>(d_a), static_cast<const unsigned*>(d_b), bytes / 4,
                                   d_differ);
  error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaMemcpy(&differ, d_differ, sizeof differ, cudaMemcpyDeviceToHost);
  are_same = error == cudaSuccess && differ == 0;
  return error;
}

}  // namespace rungs::tests::progress
