// A row whose keys several blocks of a cluster share, or one block has alone: which keys a block has, and how blocks
// meet and store in each other's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rungs/cluster/parts/peers.cuh"
#include "rungs/production/top_k/order.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// All blocks of the cluster meet, or the threads of the only block.
__device__ inline void meet_blocks(unsigned num_blocks) {
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    cluster::parts::meet();
    return;
  }
#endif
  __syncthreads();
}
// Stores `value` at `place` in the shared memory of block `to`.
template <class T>
__device__ void store_in_block(T* place, unsigned to, unsigned num_blocks, T value) {
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    *cluster::parts::of_rank(place, to) = value;
    return;
  }
#endif
  *place = value;
}

// The part of a row that a block has. Parts begin at multiples of 16 bytes.
template <class Order>
__device__ key_stream<Order> part_of_row(const keys_of_rows<Order>& keys, const candidate_layout& layout,
                                         std::size_t row, unsigned part, unsigned num_parts) {
  using Storage = typename Order::Storage;
  constexpr unsigned vector_items = 16 / sizeof(Storage);
  const unsigned before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(keys.row(row)) % 16 / sizeof(Storage));
  const unsigned num_columns = layout.last + 1, vectors = (num_columns + before + vector_items - 1) / vector_items;
  const auto begin_of = [&](unsigned index) {
    const unsigned place =
        static_cast<unsigned>(static_cast<unsigned long long>(vectors) * index / num_parts) * vector_items;
    return place > before ? min(place - before, num_columns) : 0;
  };
  return {keys, layout, row, begin_of(part), begin_of(part + 1)};
}

}  // namespace rungs::RUNGS_ABI::production
