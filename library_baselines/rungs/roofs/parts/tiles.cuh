// What the roofs share: memory seen as 16-byte vectors with loose bytes at its ends, one tile of vectors a block.
// Small inputs are spread over many blocks with one vector a thread; large ones have eight a thread in flight, 64 KB a
// block, the best shape of those tried on an H200 from 64 Mi floats on.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "catalog.hpp"
#include "rungs/contract.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::roofs::parts {

inline constexpr int block_threads = 512, max_vectors_per_thread = 8;

// [address, address + num_bytes): head bytes up to the first 16-byte boundary, vectors, tail bytes.
struct vectors_and_ends {
  std::size_t head, num_vectors, tail;

  vectors_and_ends(const void* address, std::size_t num_bytes) {
    const std::size_t to_boundary = (16 - reinterpret_cast<std::uintptr_t>(address) % 16) % 16;
    head = rungs::parts::at_most(to_boundary, num_bytes);
    num_vectors = (num_bytes - head) / 16;
    tail = (num_bytes - head) % 16;
  }
};

// Calls run(vectors_per_thread, grid_blocks), the first an integral_constant, behind the two phases of d_temp_storage.
template <class Run>
cudaError_t for_tiles(void* d_temp_storage, std::size_t& temp_storage_bytes, const vectors_and_ends& layout, Run run) {
  char* unused;
  cudaError_t error;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  if (layout.num_vectors + layout.head + layout.tail == 0) return cudaSuccess;
  int num_multiprocessors = 0;
  if ((error = rungs::parts::multiprocessors(num_multiprocessors))) return error;
  const auto grid_blocks = [&](int vectors_per_thread) {
    const std::size_t blocks =
        rungs::parts::ceil_div(layout.num_vectors, std::size_t(block_threads) * vectors_per_thread);
    return blocks == 0 ? 1 : blocks;
  };
  const std::size_t enough = std::size_t(4) * num_multiprocessors;
  if (grid_blocks(1) <= enough) return run(std::integral_constant<int, 1>{}, grid_blocks(1));
  if (grid_blocks(2) <= enough) return run(std::integral_constant<int, 2>{}, grid_blocks(2));
  if (grid_blocks(4) <= enough) return run(std::integral_constant<int, 4>{}, grid_blocks(4));
  return run(std::integral_constant<int, max_vectors_per_thread>{}, grid_blocks(max_vectors_per_thread));
}

// Vector u of this thread's share of its block's tile.
template <int vectors_per_thread>
__device__ std::size_t vector_of_thread(int u) {
  return (std::size_t(blockIdx.x) * vectors_per_thread + u) * block_threads + threadIdx.x;
}

// Calls visit(offset in bytes) for each loose byte, all in the first block.
template <class Visit>
__device__ void for_ends(const vectors_and_ends& layout, Visit visit) {
  if (blockIdx.x != 0) return;
  if (threadIdx.x < layout.head) visit(std::size_t(threadIdx.x));
  if (threadIdx.x < layout.tail) visit(layout.head + 16 * layout.num_vectors + threadIdx.x);
}

}  // namespace rungs::RUNGS_ABI::roofs::parts
