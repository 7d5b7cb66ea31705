#include <algorithm>

#include "across/work.hpp"

namespace rungs::bench::across_gpus {
namespace {

constexpr int block_threads = 256, most_blocks = 1024;

int blocks_for(std::size_t num_items) {
  return static_cast<int>(std::clamp<std::size_t>((num_items + block_threads - 1) / block_threads, 1, most_blocks));
}

template <class T>
__global__ void fill_kernel(operation what, T* items, std::size_t num_items, std::uint64_t seed, int rank, bool whole) {
  const std::size_t stride = std::size_t{gridDim.x} * block_threads;
  for (std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x; i < num_items; i += stride) {
    if (whole)
      items[i] = static_cast<T>(
          static_cast<std::conditional_t<std::is_integral_v<T>, int, float>>(whole_item<T>(what, seed, rank, i)));
    else
      items[i] = rough_item<T>(seed, rank, i);
  }
}

template <class T>
__device__ std::uint64_t bits_of(T item) {
  if constexpr (sizeof(T) == 2)
    return __bfloat16_as_ushort(item);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint32_t>(item);
  else
    return __float_as_uint(item);
}

template <class T>
__global__ void examine_kernel(const T* items, std::size_t num_items, std::uint64_t seed, int num_ranks, bool is_sum,
                               findings_of_items* found) {
  unsigned long long wrong = 0, digest = 0;
  const std::size_t stride = std::size_t{gridDim.x} * block_threads;
  for (std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x; i < num_items; i += stride) {
    const std::uint64_t bits = bits_of(items[i]);
    wrong += bits != bits_of(expected_item<T>(seed, num_ranks, is_sum, i));
    digest += digest_of(i, bits);
  }
  atomicAdd(&found->wrong, wrong);
  atomicAdd(&found->digest, digest);
}

// All items of all ranks: modulo 2^64, as atomics of unsigned numbers add.
template <class T>
__global__ void total_kernel(std::size_t num_items, std::uint64_t seed, int num_ranks, unsigned long long* total) {
  long long sum = 0;
  const std::size_t stride = std::size_t{gridDim.x} * block_threads;
  for (std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x; i < num_items; i += stride) {
    for (int rank = 0; rank < num_ranks; ++rank) sum += whole_item<T>(operation::reduce, seed, rank, i);
  }
  atomicAdd(total, static_cast<unsigned long long>(sum));
}

template <class T>
__global__ void examine_total_kernel(const T* item, findings_of_items* found) {
  const T expected = static_cast<T>(static_cast<float>(static_cast<long long>(found->total)));
  found->wrong = bits_of(*item) != bits_of(expected);
  found->digest = digest_of(0, bits_of(*item));
}

}  // namespace

cudaError_t fill(problem about, void* items, std::size_t num_items, std::uint64_t seed, int rank, bool whole,
                 cudaStream_t stream) {
  return with_item(about, [&](auto item) {
    using T = decltype(item);
    fill_kernel<<<blocks_for(num_items), block_threads, 0, stream>>>(about.operation, static_cast<T*>(items), num_items,
                                                                     seed, rank, whole);
    return cudaGetLastError();
  });
}

cudaError_t examine(problem about, const void* items, std::size_t num_items, std::uint64_t seed, int num_ranks,
                    findings_of_items* found, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(found, 0, sizeof *found, stream);
  if (error != cudaSuccess) return error;
  return with_item(about, [&](auto item) {
    using T = decltype(item);
    if (about.operation == operation::reduce) {
      total_kernel<T><<<blocks_for(num_items), block_threads, 0, stream>>>(num_items, seed, num_ranks, &found->total);
      examine_total_kernel<<<1, 1, 0, stream>>>(static_cast<const T*>(items), found);
      return cudaGetLastError();
    }
    examine_kernel<<<blocks_for(num_items), block_threads, 0, stream>>>(
        static_cast<const T*>(items), num_items, seed, num_ranks, about.op == catalog::op::plus, found);
    return cudaGetLastError();
  });
}

}  // namespace rungs::bench::across_gpus
