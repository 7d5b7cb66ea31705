// Narrow integers of an array, transformed into integers: they are read by vectors, where one by one they would come
// by too many loads. In which order they meet depends on the alignment, which integers do not tell.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/device/parts/inputs.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/vector_edges.cuh"

namespace rungs::RUNGS_ABI::device {

template <class Item, class TransformOpT, class Value>
struct transformed_array {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  const Item* d_in;
  TransformOpT transform_op;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    return value_of(d_in[static_cast<difference_type>(i)]);
  }
  template <class Offset>
  __device__ transformed_array operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), transform_op};
  }
  __device__ value_type value_of(const Item& item) const {
    TransformOpT own = transform_op;  // which may not promise to stay as it is
    return static_cast<value_type>(own(static_cast<Item>(item)));
  }
};

// Whether such items, accumulated in Carried, have the same result in any order and want vectors.
template <class Item, class Value, class Carried>
inline constexpr bool suits_vectors =
    std::is_integral_v<Item> &&
    sizeof(Item) <= 2 && std::is_integral_v<Value>&& std::is_integral_v<typename parts::type_under<Carried>::named>;

// thrust::transform_iterator over an array is known by its form: its parameters, and its members base() and functor().
template <class InputIteratorT, class Carried, class = void>
inline constexpr bool transforms_array = false;
template <template <class, class, class, class> class Iterator, class TransformOpT, class Item, class Reference,
          class Value, class Carried>
inline constexpr bool transforms_array<
    Iterator<TransformOpT, Item*, Reference, Value>, Carried,
    std::enable_if_t<
        std::is_same_v<
            std::decay_t<decltype(std::declval<const Iterator<TransformOpT, Item*, Reference, Value>&>().base())>,
            Item*> &&
        std::is_same_v<
            std::decay_t<decltype(std::declval<const Iterator<TransformOpT, Item*, Reference, Value>&>().functor())>,
            TransformOpT>>> =
    suits_vectors<std::remove_cv_t<Item>, parts::item_of<Iterator<TransformOpT, Item*, Reference, Value>>, Carried>&&
        std::is_convertible_v<Item*, const std::remove_cv_t<Item>*>&&
            std::is_invocable_v<TransformOpT&, std::remove_cv_t<Item>>;

// Items as a reduction reads them.
template <class Carried, class InputIteratorT>
auto reducible(InputIteratorT d_in) {
  if constexpr (transforms_array<InputIteratorT, Carried>) {
    const auto first = d_in.base();
    return transformed_array<parts::item_of<std::decay_t<decltype(first)>>, std::decay_t<decltype(d_in.functor())>,
                             parts::item_of<InputIteratorT>>{first, d_in.functor()};
  } else {
    return readable<Carried>(d_in);
  }
}
template <class Carried, class InputIteratorT, class TransformOpT, class Otherwise>
auto reducible(transformed<InputIteratorT, TransformOpT, Otherwise> d_in) {
  using value = typename decltype(d_in)::value_type;
  using item = parts::item_of<InputIteratorT>;
  if constexpr (std::is_pointer_v<InputIteratorT> && std::is_convertible_v<InputIteratorT, const item*> &&
                suits_vectors<item, value, Carried>)
    return transformed_array<item, TransformOpT, value>{d_in.d_in, d_in.transform_op};
  else
    return readable<Carried>(d_in);
}

}  // namespace rungs::RUNGS_ABI::device

namespace rungs::RUNGS_ABI::parts {

template <class Item, class TransformOpT, class Value>
inline constexpr bool reads_vectors<device::transformed_array<Item, TransformOpT, Value>> = true;

template <int block_threads_, int vectors_per_thread, reading how, class Item, class TransformOpT, class Value>
struct tile_reader<block_threads_, vectors_per_thread, how, device::transformed_array<Item, TransformOpT, Value>> {
  using iterator = device::transformed_array<Item, TransformOpT, Value>;
  static constexpr int block_threads = block_threads_, vector_items = vector<Item>::num_items;
  // Few, as a functor may be long; of one tile one, so that more threads have a share of what there is to compute.
  static constexpr int num_vectors = how == reading::one_tile ? 1 : vectors_per_thread < 4 ? vectors_per_thread : 4;
  static constexpr int tile_vectors = block_threads * num_vectors, tile_items = tile_vectors * vector_items;

  // Folds the thread's items of the tiles first_tile, first_tile + stride … onto `aggregate`: full tiles without a
  // predicate, then the last one.
  template <class T, class ReductionOpT>
  static __device__ T reduce(const iterator& d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride,
                             T aggregate, ReductionOpT reduction_op) {
    const vector_edges<Item, std::size_t> edges(d_in.d_in, num_items);
    const Item* const aligned = d_in.d_in + edges.num_before;
    const std::size_t whole_vectors = edges.whole_vectors();
    const bool has_edge = first_tile == 0 && threadIdx.x < edges.num_edges;
    Item edge{};
    if (has_edge) edge = d_in.d_in[edges.index_of(threadIdx.x)];
    std::size_t mine = first_tile * tile_vectors + threadIdx.x;
    if constexpr (how != reading::one_tile) {
      for (; mine - threadIdx.x + tile_vectors <= whole_vectors; mine += stride * tile_vectors) {
        const auto all = [](int) { return true; };
        aggregate = reduce_present(d_in, aligned, mine, all, aggregate, reduction_op);
      }
    }
    const auto present = [=](int k) { return mine + k * block_threads < whole_vectors; };
    aggregate = reduce_present(d_in, aligned, mine, present, aggregate, reduction_op);
    if (has_edge) aggregate = reduction_op(aggregate, static_cast<typename type_under<T>::named>(d_in.value_of(edge)));
    return aggregate;
  }

 private:
  struct values {
    const iterator& of;
    const vector<Item>& loaded;
    __device__ Value operator[](int i) const { return of.value_of(loaded[i]); }
  };

  // Those of the thread's vectors of a tile that are present(k); `mine` is the first of them. All loads are issued
  // before the first of them is used: a branch between them would have ptxas load one after the other.
  template <class T, class Present, class ReductionOpT>
  static __device__ T reduce_present(const iterator& d_in, const Item* aligned, std::size_t mine, Present present,
                                     T aggregate, ReductionOpT reduction_op) {
    using value = typename type_under<T>::named;
    vector<Item> loaded[num_vectors];
#pragma unroll
    for (int k = 0; k < num_vectors; ++k)
      if (present(k)) loaded[k] = load_vector(aligned, mine + k * block_threads);
#pragma unroll
    for (int k = 0; k < num_vectors; ++k)
      if (present(k))
        aggregate = reduction_op(aggregate, fold<value, 0, vector_items>(values{d_in, loaded[k]}, reduction_op));
    return aggregate;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
