// Two arrays read beside each other, and what is behind their last whole vector.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/pairs.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class Item>
struct pair_of_arrays {
  const Item *x, *y;
};

// sum + the products behind the last whole vector: less than a vector, one pair for each of the first threads with tile
// 0.
template <class T, class Item>
__device__ T add_behind(T sum, pair_of_arrays<Item> d_in, std::size_t num_items, std::size_t tile) {
  const unsigned num_behind = static_cast<unsigned>(num_items) % vector<Item>::num_items;
  if (tile != 0 || threadIdx.x >= num_behind) return sum;
  const std::size_t behind = num_items - num_behind + threadIdx.x;
  return add_product(sum, d_in.x[behind], d_in.y[behind]);
}

}  // namespace rungs::RUNGS_ABI::parts
