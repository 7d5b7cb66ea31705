// What rungs of dot products share: products of items and of vectors, how those are read, and the grid.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// sum + x * y in T: of floating-point types rounded once, whatever the compiler may contract.
template <class T, class Item>
__device__ T add_product(T sum, const Item& x, const Item& y) {
  if constexpr (std::is_floating_point_v<T>)
    return fma(static_cast<T>(x), static_cast<T>(y), sum);
  else
    return sum + static_cast<T>(x) * static_cast<T>(y);
}

inline bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

// Vector i of an array that is aligned to 16 bytes. Volatile, because the compiler would delay the load to its use.
template <class Item>
__device__ vector<Item> load_vector(const Item* items, std::size_t i) {
  vector<Item> loaded;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded.words[0]), "=r"(loaded.words[1]), "=r"(loaded.words[2]), "=r"(loaded.words[3])
               : "l"(items + i * vector<Item>::num_items));
  return loaded;
}

// The products of two vectors, added up. Four bytes at once where they are accumulated in 32-bit integers.
template <class T, class Item>
__device__ T dot_of_vectors(const vector<Item>& x, const vector<Item>& y) {
  T sum{};
  if constexpr (std::is_same_v<Item, signed char> && std::is_same_v<T, int>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum = __dp4a(static_cast<int>(x.words[i]), static_cast<int>(y.words[i]), sum);
  } else {
#pragma unroll
    for (int i = 0; i < vector<Item>::num_items; ++i) sum = add_product(sum, x[i], y[i]);
  }
  return sum;
}

// The same of vector i of two arrays at any addresses, whose items are read one by one: the same bits.
template <class T, class Item>
__device__ T dot_of_items(const Item* d_x, const Item* d_y, std::size_t i) {
  T sum{};
#pragma unroll
  for (int k = 0; k < vector<Item>::num_items; ++k)
    sum = add_product(sum, d_x[i * vector<Item>::num_items + k], d_y[i * vector<Item>::num_items + k]);
  return sum;
}

// A block for block_items pairs, at most so many on each multiprocessor of the current device, at least one.
inline cudaError_t plan_blocks(std::size_t num_items, int block_items, int blocks_per_multiprocessor,
                               std::size_t& grid_blocks) {
  int num_multiprocessors = 1;
  const cudaError_t error = multiprocessors(num_multiprocessors);
  const std::size_t wanted = ceil_div(num_items, block_items);
  grid_blocks = at_most(wanted > 0 ? wanted : 1, std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
  return error;
}

}  // namespace rungs::RUNGS_ABI::parts
