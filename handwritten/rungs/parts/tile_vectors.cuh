// The vectors that a thread takes of a tile, of an array at any address.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

#include "rungs/parts/pairs.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// Vector i of an array: by one load, or put together from its items where the array is not aligned to 16 bytes.
template <bool aligned, class T>
__device__ vector<T> vector_at(const T* d_in, std::size_t i) {
  if constexpr (aligned) return load_vector(d_in, i);
  constexpr int num_items = vector<T>::num_items;
  T items[num_items];
#pragma unroll
  for (int k = 0; k < num_items; ++k) items[k] = d_in[i * num_items + k];
  vector<T> loaded;
  memcpy(loaded.words, items, sizeof items);
  return loaded;
}

// The items of several vectors folded, by a tree over each vector and over the vectors.
template <class T, int num_vectors, class ReductionOpT>
__device__ T fold_vectors(const vector<T> (&loaded)[num_vectors], ReductionOpT reduction_op) {
  T folded[num_vectors];
#pragma unroll
  for (int k = 0; k < num_vectors; ++k) folded[k] = fold_vector<T>(loaded[k], reduction_op);
  return fold<T, 0, num_vectors>(folded, reduction_op);
}

}  // namespace rungs::RUNGS_ABI::parts
