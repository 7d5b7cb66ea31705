// What extrema/03_tile_found_last remembers of the tiles that a thread has folded, for several operators at once.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/placed.cuh"
#include "rungs/parts/tile_vectors.cuh"

namespace rungs::RUNGS_ABI::parts {

// The best item of a thread's tiles so far, and the first tile that gave it.
template <class T, class ReductionOpT>
struct best_tile {
  T item{};
  std::size_t tile = ~std::size_t{0};  // none yet

  template <int num_vectors>
  __device__ void look_at(const vector<T> (&loaded)[num_vectors], std::size_t at) {
    const T of_tile = fold_vectors(loaded, ReductionOpT{});
    if (tile != ~std::size_t{0} && !is_better<ReductionOpT>(of_tile, item)) return;
    item = of_tile;
    tile = at;
  }
  // The tile is read once more, and its items are looked at backwards: what is found last stands first.
  template <bool aligned, int block_threads, int vectors_per_thread>
  __device__ placed<T> found(const T* d_in) const {
    constexpr int vector_items = vector<T>::num_items;
    placed<T> place = no_item<ReductionOpT, T>();
    if (tile == ~std::size_t{0}) return place;
    const std::size_t first = tile * (std::size_t(block_threads) * vectors_per_thread * vector_items);
#pragma unroll
    for (int k = vectors_per_thread - 1; k >= 0; --k) {
      const int at = k * block_threads + static_cast<int>(threadIdx.x);
      const vector<T> loaded = vector_at<aligned>(d_in + first, at);
#pragma unroll
      for (int i = vector_items - 1; i >= 0; --i)
        if (!is_better<ReductionOpT>(item, loaded[i]))
          place = {loaded[i], static_cast<long long>(first) + at * vector_items + i};
    }
    return place;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
