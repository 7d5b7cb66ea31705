// The ceiling of everything that reads and writes as much: each item once from d_in to d_out, 16 bytes a load and
// store. Addresses that are not equally far from a 16-byte boundary are left to cudaMemcpyAsync.
#pragma once

#include "rungs/roofs/parts/tiles.cuh"

namespace rungs::RUNGS_ABI::roofs {

template <int vectors_per_thread>
__global__ void __launch_bounds__(parts::block_threads)
    copy_kernel(const unsigned char* d_in, unsigned char* d_out, parts::vectors_and_ends layout) {
  const uint4* const vectors_in = reinterpret_cast<const uint4*>(d_in + layout.head);
  uint4* const vectors_out = reinterpret_cast<uint4*>(d_out + layout.head);
  uint4 loaded[vectors_per_thread];
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) {
    const std::size_t i = parts::vector_of_thread<vectors_per_thread>(u);
    if (i < layout.num_vectors) loaded[u] = __ldg(vectors_in + i);
  }
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) {
    const std::size_t i = parts::vector_of_thread<vectors_per_thread>(u);
    if (i < layout.num_vectors) vectors_out[i] = loaded[u];
  }
  parts::for_ends(layout, [&](std::size_t offset) { d_out[offset] = d_in[offset]; });
}

struct copy {
  static constexpr auto operation = catalog::operation::copy;
  static constexpr auto idea = "read everything once and write it once, 16 bytes at a time";
  static constexpr int block_threads = parts::block_threads, items_per_thread = 4 * parts::max_vectors_per_thread;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t move(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                          std::size_t num_items, cudaStream_t stream = nullptr) {
    const parts::vectors_and_ends layout(d_out, num_items * sizeof(T));
    const bool alike = reinterpret_cast<std::uintptr_t>(d_in) % 16 == reinterpret_cast<std::uintptr_t>(d_out) % 16;
    return parts::for_tiles(d_temp_storage, temp_storage_bytes, layout, [&](auto per_thread, std::size_t grid_blocks) {
      if (!alike) return cudaMemcpyAsync(d_out, d_in, num_items * sizeof(T), cudaMemcpyDeviceToDevice, stream);
      return rungs::parts::launch(copy_kernel<per_thread()>, grid_blocks, block_threads, stream,
                                  reinterpret_cast<const unsigned char*>(d_in), reinterpret_cast<unsigned char*>(d_out),
                                  layout);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::roofs
