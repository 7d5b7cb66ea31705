// What the roofs that widen share: items of one or two bytes in, a word of four bytes out for each. A lane reads four
// neighbours with one load and writes their words with one store of 16 bytes, so that a warp's loads and its stores are
// both whole lines without an exchange between lanes. Four stores a thread at most, where the other roofs have eight
// vectors (256 Mi bytes on an H200: 339 us against 348); nothing tried was faster by more than 0.4 %: 16-byte loads,
// rings of bulk copies, streaming stores, blocks of 128 to 1024 threads.
#pragma once

#include "rungs/roofs/parts/tiles.cuh"

namespace rungs::RUNGS_ABI::roofs::parts {

inline constexpr int max_stores_per_thread = 4;

// Four items as one load brings them, and their words.
template <class Input>
using four = std::conditional_t<sizeof(Input) == 1, unsigned, uint2>;

__device__ inline uint4 words_of(unsigned bytes) {
  return {bytes & 0xff, bytes >> 8 & 0xff, bytes >> 16 & 0xff, bytes >> 24};
}
__device__ inline uint4 words_of(uint2 halves) {
  return {halves.x & 0xffff, halves.x >> 16, halves.y & 0xffff, halves.y >> 16};
}

template <int vectors_per_thread, class Input>
__global__ void __launch_bounds__(block_threads)
    widen_kernel(const Input* d_in, std::uint32_t* d_out, vectors_and_ends layout) {
  const std::size_t head_items = layout.head / sizeof(std::uint32_t);
  const auto* const fours = reinterpret_cast<const four<Input>*>(d_in + head_items);
  auto* const vectors = reinterpret_cast<uint4*>(d_out + head_items);
  four<Input> loaded[vectors_per_thread];
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) {
    const std::size_t i = vector_of_thread<vectors_per_thread>(u);
    if (i < layout.num_vectors) loaded[u] = __ldg(fours + i);
  }
#pragma unroll
  for (int u = 0; u < vectors_per_thread; ++u) {
    const std::size_t i = vector_of_thread<vectors_per_thread>(u);
    if (i < layout.num_vectors) vectors[i] = words_of(loaded[u]);
  }
  for_ends(layout, [&](std::size_t offset) {
    if (offset % sizeof(std::uint32_t) == 0)
      d_out[offset / sizeof(std::uint32_t)] = d_in[offset / sizeof(std::uint32_t)];
  });
}

// Where four items of the input do not begin where a load of them may.
template <class Input>
__global__ void __launch_bounds__(block_threads)
    widen_items_kernel(const Input* d_in, std::uint32_t* d_out, std::size_t num_items) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  if (i < num_items) d_out[i] = d_in[i];
}

template <catalog::operation kind>
struct widening {
  static constexpr auto operation = kind;
  static constexpr int block_threads = parts::block_threads, items_per_thread = 4 * max_stores_per_thread;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Input>
  static cudaError_t move(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in,
                          std::uint32_t* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    const vectors_and_ends layout(d_out, num_items * sizeof(std::uint32_t));
    const auto first_four = reinterpret_cast<std::uintptr_t>(d_in + layout.head / sizeof(std::uint32_t));
    const bool aligned = first_four % sizeof(four<Input>) == 0;
    return for_tiles(d_temp_storage, temp_storage_bytes, layout, [&](auto per_thread, std::size_t grid_blocks) {
      if (!aligned)
        return rungs::parts::launch(widen_items_kernel<Input>, rungs::parts::ceil_div(num_items, block_threads),
                                    block_threads, stream, d_in, d_out, num_items);
      constexpr int stores = per_thread() < max_stores_per_thread ? per_thread() : max_stores_per_thread;
      return rungs::parts::launch(widen_kernel<stores, Input>, grid_blocks * (per_thread() / stores), block_threads,
                                  stream, d_in, d_out, layout);
    });
  }
};

}  // namespace rungs::RUNGS_ABI::roofs::parts
