// Reading tiles 16 bytes a thread at a time, several loads in flight, and folding them in registers.
//
// Thread t of a block owns the vectors t, t + block_threads, t + 2 * block_threads … of its tile, counted from d_in and
// not from an aligned address: items meet in the same order at any alignment, so deterministic rungs stay so. Where the
// pointer is not aligned to 16 bytes, a vector is read item by item.
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::v0::parts {

template <class InputIteratorT>
using item_of = std::remove_cv_t<typename std::iterator_traits<InputIteratorT>::value_type>;

// Plain pointers to items of 1, 2, 4, 8 or 16 bytes can be read as vectors; any other iterator is read item by item.
template <class InputIteratorT>
inline constexpr bool is_vectorisable = std::is_pointer_v<InputIteratorT> &&
                                        std::is_trivially_copyable_v<item_of<InputIteratorT>> &&
                                        16 % sizeof(item_of<InputIteratorT>) == 0;

template <class Item>
struct alignas(16) vector {
  static_assert(16 % sizeof(Item) == 0);
  static constexpr int num_items = 16 / sizeof(Item);
  Item items[num_items];
};

template <class T, int num_items, class Item, class ReductionOpT>
__device__ T fold(const Item* items, ReductionOpT reduction_op) {
  if constexpr (num_items == 1) {
    return static_cast<T>(items[0]);
  } else {
    constexpr int half = num_items / 2;
    return reduction_op(fold<T, half>(items, reduction_op), fold<T, num_items - half>(items + half, reduction_op));
  }
}

// Pairwise, so that a vector adds log2(items) levels to the summation height. Four bytes at once where they are summed
// into a 32-bit integer: dp4a with ones.
template <class T, class Item, class ReductionOpT>
__device__ T fold(const vector<Item>& loaded, ReductionOpT reduction_op) {
  if constexpr (sizeof(Item) == 1 && sizeof(T) == 4 && std::is_integral_v<T> && std::is_same_v<ReductionOpT, plus>) {
    using word = std::conditional_t<std::is_signed_v<Item>, int, unsigned>;
    const auto words = reinterpret_cast<const word*>(loaded.items);
    word sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum = __dp4a(words[i], word(0x01010101), sum);
    return static_cast<T>(sum);
  } else {
    return fold<T, vector<Item>::num_items>(loaded.items, reduction_op);
  }
}

constexpr int log2_ceil(std::size_t n) { return n <= 1 ? 0 : 1 + log2_ceil((n + 1) / 2); }

// Tiles of block_threads * vectors_per_thread vectors.
template <int block_threads, int vectors_per_thread, class InputIteratorT>
struct tile_reader {
  using item = item_of<InputIteratorT>;
  static constexpr bool vectorised = is_vectorisable<InputIteratorT>;
  static constexpr int vector_items = vectorised ? 16 / sizeof(item) : 1;
  static constexpr int num_vectors = vectorised ? vectors_per_thread : 4 * vectors_per_thread;
  static constexpr int tile_items = block_threads * num_vectors * vector_items;

  // The thread's aggregate over the tiles first_tile, first_tile + stride … of num_items items.
  template <class T, class ReductionOpT>
  static __device__ T reduce_tiles(InputIteratorT d_in, std::size_t num_items, std::size_t first_tile,
                                   std::size_t stride, ReductionOpT reduction_op) {
    bool aligned = true;
    if constexpr (vectorised) aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0;
    return aligned ? reduce_tiles<true, T>(d_in, num_items, first_tile, stride, reduction_op)
                   : reduce_tiles<false, T>(d_in, num_items, first_tile, stride, reduction_op);
  }

 private:
  template <bool aligned, class T, class ReductionOpT>
  static __device__ T reduce_tiles(InputIteratorT d_in, std::size_t num_items, std::size_t first_tile,
                                   std::size_t stride, ReductionOpT reduction_op) {
    T aggregate = ReductionOpT::template identity<T>();
    std::size_t first = first_tile * tile_items;
    for (; first + tile_items <= num_items; first += stride * tile_items)
      aggregate = reduction_op(aggregate, reduce_tile<aligned, true, T>(d_in, first, num_items, reduction_op));
    if (first < num_items)
      aggregate = reduction_op(aggregate, reduce_tile<aligned, false, T>(d_in, first, num_items, reduction_op));
    return aggregate;
  }

  template <bool aligned, bool full, class T, class ReductionOpT>
  static __device__ T reduce_tile(InputIteratorT d_in, std::size_t first, std::size_t num_items,
                                  ReductionOpT reduction_op) {
    const auto begin = [&](int k) { return first + (std::size_t(k) * block_threads + threadIdx.x) * vector_items; };
    const auto whole = [&](int k) { return full || begin(k) + vector_items <= num_items; };
    if constexpr (vectorised) {
      vector<item> loaded[num_vectors];
#pragma unroll
      for (int k = 0; k < num_vectors; ++k)
        if (whole(k)) loaded[k] = load<aligned>(d_in + begin(k));
      T values[num_vectors];
#pragma unroll
      for (int k = 0; k < num_vectors; ++k)
        values[k] = whole(k) ? fold<T>(loaded[k], reduction_op) : fold_tail<T>(d_in, begin(k), num_items, reduction_op);
      return fold<T, num_vectors>(values, reduction_op);
    } else {
      T aggregate = ReductionOpT::template identity<T>();
#pragma unroll
      for (int k = 0; k < num_vectors; ++k)
        if (whole(k)) aggregate = reduction_op(aggregate, static_cast<T>(d_in[begin(k)]));
      return aggregate;
    }
  }

  template <bool aligned>
  static __device__ auto load(const item* from) {
    vector<item> loaded;
    if constexpr (aligned) {
      *reinterpret_cast<uint4*>(&loaded) = __ldg(reinterpret_cast<const uint4*>(from));
    } else {
#pragma unroll
      for (int i = 0; i < vector_items; ++i) loaded.items[i] = from[i];
    }
    return loaded;
  }

  template <class T, class ReductionOpT>
  static __device__ T fold_tail(InputIteratorT d_in, std::size_t first, std::size_t num_items,
                                ReductionOpT reduction_op) {
    T aggregate = ReductionOpT::template identity<T>();
    for (std::size_t i = first; i < num_items; ++i) aggregate = reduction_op(aggregate, static_cast<T>(d_in[i]));
    return aggregate;
  }
};

}  // namespace rungs::v0::parts
