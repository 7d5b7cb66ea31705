// The vectors of a row, at any address.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// Vector i of a row: by one load, or put together from its items where the row is not aligned to 16 bytes.
template <bool aligned, class Item>
__device__ vector<Item> row_vector(const Item* row, std::size_t i) {
  vector<Item> loaded;
  if constexpr (aligned) {
    const uint4 words = reinterpret_cast<const uint4*>(row)[i];
    memcpy(loaded.words, &words, sizeof words);
  } else {
    Item items[loaded.num_items];
#pragma unroll
    for (int k = 0; k < loaded.num_items; ++k) items[k] = row[i * loaded.num_items + k];
    memcpy(loaded.words, items, sizeof items);
  }
  return loaded;
}

}  // namespace rungs::RUNGS_ABI::parts
