// The vectors of items that a thread ranks of a tile: how they are read, and where the best of them stands.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/parts/pairs.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/vector_edges.cuh"

namespace rungs::RUNGS_ABI::parts {

// Items of an array, for a reader of their vectors.
template <bool least, class T, class Place, class Item>
struct ranked_array : ranked<least, T, Place, Item*> {};

template <bool least, class T, class Place, class Item>
inline constexpr bool reads_vectors<ranked_array<least, T, Place, Item>> = true;

// An item before or behind the vectors, of the thread that takes it; only threads with tile 0 do.
template <class T, class Item, class Offset>
struct item_on_edge {
  bool is_there;
  Offset index;
  std::remove_cv_t<Item> loaded{};

  template <class Edges>
  __device__ item_on_edge(const Edges& edges, std::size_t first_tile)
      : is_there(first_tile == 0 && threadIdx.x < edges.num_edges), index(edges.index_of(threadIdx.x)) {}
  __device__ void load(const Item* d_in) {
    if (is_there) loaded = d_in[index];
  }
  template <bool least, class Place, class First>
  __device__ Place place(First first) const {
    return make_place<Place>(rank_of<least>(static_cast<T>(loaded)), first + index);
  }
};

template <int block_threads, int vectors_per_thread, bool least, class T, class Item>
struct ranked_vectors {
  using vector = parts::vector<Item>;
  using extremum = std::conditional_t<least, minimum, maximum>;

  // The one answered of two, of equals either; a NaN of them.
  struct better {
    __device__ T operator()(T a, T b) const {
      if constexpr (std::is_same_v<T, float>) return extremum{}(a, b);
      const bool is_behind = least ? !(a <= b) : !(b <= a);
      return is_behind && a == a ? b : a;
    }
  };

  // The thread's vector k of the tile whose first one is `first`. In place of vectors that are not there it takes the
  // last one: that has a thread of its own, which finds the items nearer.
  static __device__ unsigned place(unsigned first, int k, unsigned last) {
    const unsigned mine = first + threadIdx.x + k * block_threads;
    return mine < last ? mine : last;
  }
  // The last vector of a tile of which `left` are there, and of those behind it.
  template <class Offset>
  static __device__ unsigned last_of(Offset left) {
    constexpr unsigned tile_vectors = block_threads * vectors_per_thread;
    return left < tile_vectors ? static_cast<unsigned>(left) - 1 : tile_vectors - 1;
  }
  static __device__ void load(const Item* d_in, unsigned first, unsigned last, vector* loaded) {
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) loaded[k] = load_vector(d_in, place(first, k, last));
  }

  static __device__ T best_of(const vector* loaded) {
    T folded[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) folded[k] = fold<T, 0, vector::num_items>(loaded[k], better{});
    return fold<T, 0, vectors_per_thread>(folded, better{});
  }

  // From a thread's first item in a tile.
  static __device__ unsigned distance_of(int vector_in_tile, int in_vector) {
    return vector_in_tile * block_threads * vector::num_items + in_vector;
  }
  static __device__ unsigned distance_of(int i) { return distance_of(i / vector::num_items, i % vector::num_items); }

  // Whether item i of the thread's is as good as the best of them, which is no NaN.
  static __device__ bool is_as_good(T of_tile, const vector* loaded, int i) {
    const T other = static_cast<T>(loaded[i / vector::num_items][i % vector::num_items]);
    return least ? !(of_tile < other) : !(other < of_tile);
  }

  // To the first of the thread's items that is as good as the best of them, where they are many: one vector is read
  // again.
  static __device__ unsigned distance_to_narrow(T of_tile, const vector* loaded, const Item* d_in, unsigned first,
                                                unsigned last) {
    unsigned distance = 0;
    int its_vector = 0;
#pragma unroll
    for (int k = vectors_per_thread - 1; k >= 0; --k)
      if (!is_better<extremum>(of_tile, fold<T, 0, vector::num_items>(loaded[k], better{}))) its_vector = k;
    const vector again = load_vector(d_in, place(first, its_vector, last));
#pragma unroll
    for (int i = vector::num_items - 1; i >= 0; --i)
      if (!is_better<extremum>(of_tile, static_cast<T>(again[i]))) distance = distance_of(its_vector, i);
    return distance;
  }

  // To the first of them that is a NaN.
  static __device__ unsigned distance_to_nan(const Item* d_in, unsigned first, unsigned last) {
    unsigned distance = 0;
#pragma unroll 1
    for (int i = vectors_per_thread * vector::num_items - 1; i >= 0; --i) {
      const unsigned its_vector = place(first, i / vector::num_items, last);
      const T other = static_cast<T>(d_in[std::size_t{its_vector} * vector::num_items + i % vector::num_items]);
      if (other != other) distance = distance_of(i);
    }
    return distance;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
