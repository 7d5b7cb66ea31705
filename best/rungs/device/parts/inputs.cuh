// Input iterators of the front door's own: items as a function makes them, and items with their index.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/parts/iterator_traits.cuh"

namespace rungs::RUNGS_ABI::device {

// Item i is transform_op(d_in[i]), of type Otherwise where transform_op does not name its result.
template <class InputIteratorT, class TransformOpT, class Otherwise>
struct transformed {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename decltype(result_or<Otherwise, TransformOpT, parts::item_of<InputIteratorT>>())::type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  InputIteratorT d_in;
  TransformOpT transform_op;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    TransformOpT own = transform_op;  // which may not promise to stay as it is
    return own(static_cast<parts::item_of<InputIteratorT>>(d_in[static_cast<difference_type>(i)]));
  }
  template <class Offset>
  __device__ transformed operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), transform_op};
  }
};

// Items that are converted as they are read, one by one: those that cannot be had without a value.
template <class InputIteratorT>
struct singly {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = parts::item_of<InputIteratorT>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = decltype(*std::declval<InputIteratorT>());

  InputIteratorT d_in;

  template <class Offset>
  __device__ reference operator[](Offset i) const {
    return d_in[static_cast<difference_type>(i)];
  }
  template <class Offset>
  __device__ singly operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i)};
  }
};

// Items as they are read by a rung that accumulates in Carried, or in what may be one.
template <class Carried, class InputIteratorT>
auto readable(InputIteratorT d_in) {
  using item = parts::item_of<InputIteratorT>;
  constexpr bool in_boxes = std::is_same_v<typename parts::type_under<Carried>::named, boxed<item>>;
  if constexpr (in_boxes && lies_in_boxes<item, InputIteratorT>)
    return reinterpret_cast<const boxed<item>*>(d_in);
  else if constexpr (parts::is_vectorisable<InputIteratorT> && !std::is_default_constructible_v<item>)
    return singly<InputIteratorT>{d_in};
  else
    return d_in;
}

// A value and where it stood; -1: nowhere.
template <class T>
struct indexed {
  T value;
  long long index;
};

template <class InputIteratorT, class T>
struct with_index {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = indexed<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  InputIteratorT d_in;
  long long first = 0;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    return {static_cast<T>(d_in[static_cast<difference_type>(i)]), first + static_cast<long long>(i)};
  }
  template <class Offset>
  __device__ with_index operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), first + static_cast<long long>(i)};
  }
};

// Of two indexed items the one that is less, or greater; of equals the first. A NaN is less, and greater, than every
// number, so that a minimum propagates it here, too.
template <bool least>
struct first_extremum {
  template <class T, class Value = decltype(std::declval<T>().value)>
  static __host__ __device__ constexpr T identity() {
    return {Value{}, -1};
  }
  template <class T>
  __host__ __device__ indexed<T> operator()(const indexed<T>& a, const indexed<T>& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    if (precedes(b.value, a.value)) return b;
    if (precedes(a.value, b.value)) return a;
    return b.index < a.index ? b : a;
  }

 private:
  template <class T>
  static __host__ __device__ bool precedes(const T& a, const T& b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return a != a && !(b != b);
    }
    return least ? a < b : b < a;
  }
};

// The first or the last item of an order of the caller's: compare_op(a, b) says whether a precedes b.
template <bool least, class CompareOpT>
struct first_by {
  CompareOpT compare_op;

  template <class T, class Value = decltype(std::declval<T>().value)>
  static __host__ __device__ constexpr T identity() {
    return {Value{}, -1};
  }
  template <class T>
  __device__ indexed<T> operator()(const indexed<T>& a, const indexed<T>& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    if (precedes(b.value, a.value)) return b;
    if (precedes(a.value, b.value)) return a;
    return b.index < a.index ? b : a;
  }

 private:
  template <class T>
  __device__ bool precedes(const T& a, const T& b) const {
    CompareOpT own = compare_op;  // which may not promise to stay as it is
    return least ? own(a, b) : own(b, a);
  }
};

template <class CompareOpT, class InputIteratorT, class Item = parts::item_of<InputIteratorT>>
inline constexpr bool compares = std::is_invocable_v<CompareOpT&, Item, Item>;
template <class InputIteratorT, class Item>
inline constexpr bool compares<void, InputIteratorT, Item> = false;
template <class CompareOpT, class InputIteratorT>
using if_compares = std::enable_if_t<compares<CompareOpT, InputIteratorT>>;

// Where an indexed item is parted again. What stands for nothing is written as the extremum of nothing, at index 1, as
// CUB does.
template <class ExtremumOutIteratorT, class IndexOutIteratorT, class T>
struct parting {
  struct reference {
    parting to;
    __device__ const reference& operator=(const indexed<T>& found) const {
      ExtremumOutIteratorT d_extremum = to.d_extremum_out;
      IndexOutIteratorT d_index = to.d_index_out;
      const bool is_any = found.index >= 0;
      *d_extremum = is_any ? found.value : to.of_nothing;
      *d_index = is_any ? found.index : 1;
      return *this;
    }
  };

  ExtremumOutIteratorT d_extremum_out;
  IndexOutIteratorT d_index_out;
  T of_nothing;

  __device__ reference operator*() const { return {*this}; }
  template <class Offset>
  __device__ reference operator[](Offset) const {
    return {*this};  // there is but one result
  }
  template <class Offset>
  __device__ parting operator+(Offset) const {
    return *this;
  }
};

// Where an indexed item is written as a pair of its key, the index, and its value.
template <class OutputIteratorT, class Pair, class T>
struct pairing {
  struct reference {
    pairing to;
    __device__ const reference& operator=(const indexed<T>& found) const {
      OutputIteratorT d_pair = to.d_out;
      Pair pair{};
      *parting<decltype(&pair.value), decltype(&pair.key), T>{&pair.value, &pair.key, to.of_nothing} = found;
      *d_pair = pair;
      return *this;
    }
  };

  OutputIteratorT d_out;
  T of_nothing;

  __device__ reference operator*() const { return {*this}; }
  template <class Offset>
  __device__ reference operator[](Offset) const {
    return {*this};
  }
  template <class Offset>
  __device__ pairing operator+(Offset) const {
    return *this;
  }
};

}  // namespace rungs::RUNGS_ABI::device
