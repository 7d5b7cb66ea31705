// The ceiling of everything that only reads: all of the input once, 16 bytes a load, and no result. What a reduction
// does on top of this (adding up, and above all combining blocks) is what its percentage of the ceiling is about.
#pragma once

#include "rungs/roofs/parts/tiles.cuh"

namespace rungs::RUNGS_ABI::roofs {

template <int vectors_per_thread>
__global__ void __launch_bounds__(parts::block_threads)
    stream_read_kernel(const unsigned char* d_in, parts::vectors_and_ends layout, unsigned* never) {
  const uint4* const vectors = reinterpret_cast<const uint4*>(d_in + layout.head);
  uint4 loaded[vectors_per_thread];
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) {
    const std::size_t i = parts::vector_of_thread<vectors_per_thread>(u);
    loaded[u] = i < layout.num_vectors ? __ldg(vectors + i) : uint4{};
  }
  unsigned bits = 0;
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) bits |= loaded[u].x | loaded[u].y | loaded[u].z | loaded[u].w;
  parts::for_ends(layout, [&](std::size_t offset) { bits |= d_in[offset]; });
  // The bits decide about a store, so that the compiler keeps the loads; the host passes null, so that none is made.
  if (bits != 0 && never != nullptr) *never = bits;
}

struct stream_read {
  static constexpr auto operation = catalog::operation::stream_read;
  static constexpr auto idea = "read everything once, 16 bytes a load, and combine nothing";
  static constexpr int block_threads = parts::block_threads, items_per_thread = 4 * parts::max_vectors_per_thread;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t move(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T*,
                          std::size_t num_items, cudaStream_t stream = nullptr) {
    const parts::vectors_and_ends layout(d_in, num_items * sizeof(T));
    return parts::for_tiles(d_temp_storage, temp_storage_bytes, layout, [&](auto per_thread, std::size_t grid_blocks) {
      return rungs::parts::launch(stream_read_kernel<per_thread()>, grid_blocks, block_threads, stream,
                                  reinterpret_cast<const unsigned char*>(d_in), layout,
                                  static_cast<unsigned*>(nullptr));
    });
  }
};

}  // namespace rungs::RUNGS_ABI::roofs
