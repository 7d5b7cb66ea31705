// The few items before the first vector that is aligned to 16 bytes, and those behind the last one.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// Offset is an unsigned type that holds the number of items.
template <class Item, class Offset>
struct vector_edges {
  static constexpr unsigned vector_items = vector<Item>::num_items;
  Offset num_items;
  unsigned num_before, num_edges;  // num_edges: before and behind

  __device__ vector_edges(const Item* d_in, Offset num_items) : num_items(num_items) {
    const unsigned behind_aligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(d_in)) / sizeof(Item);
    const unsigned to_aligned = (0u - behind_aligned) % vector_items;
    num_before = num_items < to_aligned ? static_cast<unsigned>(num_items) : to_aligned;
    num_edges = num_before + static_cast<unsigned>(num_items - num_before) % vector_items;
  }
  __device__ Offset whole_vectors() const { return (num_items - num_before) / vector_items; }
  // Of edge i, which is less than num_edges.
  __device__ Offset index_of(unsigned i) const { return i < num_before ? i : num_items - num_edges + i; }
};

}  // namespace rungs::RUNGS_ABI::parts
