// The ceiling of everything that only writes: every byte of d_out becomes 0, 16 bytes a store.
#pragma once

#include "rungs/roofs/parts/tiles.cuh"

namespace rungs::RUNGS_ABI::roofs {

template <int vectors_per_thread>
__global__ void __launch_bounds__(parts::block_threads)
    fill_kernel(unsigned char* d_out, parts::vectors_and_ends layout) {
  uint4* const vectors = reinterpret_cast<uint4*>(d_out + layout.head);
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) {
    const std::size_t i = parts::vector_of_thread<vectors_per_thread>(u);
    if (i < layout.num_vectors) vectors[i] = uint4{};
  }
  parts::for_ends(layout, [&](std::size_t offset) { d_out[offset] = 0; });
}

struct fill {
  static constexpr auto operation = catalog::operation::fill;
  static constexpr auto idea = "write zeros once, 16 bytes a store";
  static constexpr int block_threads = parts::block_threads, items_per_thread = 4 * parts::max_vectors_per_thread;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t move(void* d_temp_storage, std::size_t& temp_storage_bytes, const T*, T* d_out,
                          std::size_t num_items, cudaStream_t stream = nullptr) {
    const parts::vectors_and_ends layout(d_out, num_items * sizeof(T));
    return parts::for_tiles(d_temp_storage, temp_storage_bytes, layout, [&](auto per_thread, std::size_t grid_blocks) {
      return rungs::parts::launch(fill_kernel<per_thread()>, grid_blocks, block_threads, stream,
                                  reinterpret_cast<unsigned char*>(d_out), layout);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::roofs
