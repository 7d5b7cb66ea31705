// Ranks, by which numbers are compared as unsigned integers: the less, the sooner the item is answered. So a pair of an
// item and its index is compared without branches, and is one word where both have 32 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "rungs/parts/placed.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class T>
inline constexpr bool has_rank = std::is_arithmetic_v<T> && sizeof(T) <= 8;
// Whether its rank has 32 bits.
template <class T>
inline constexpr bool has_short_rank = has_rank<T> && sizeof(T) <= 4;
template <class T>
using rank = std::conditional_t<has_short_rank<T>, unsigned, unsigned long long>;
template <class T>
inline constexpr rank<T> rank_sign = rank<T>{1} << (8 * sizeof(rank<T>) - 1);

// NaN before all others; -0, which becomes +0, and +0 alike.
template <bool least, class T>
__device__ rank<T> rank_of(T item) {
  rank<T> found;
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (sizeof(T) == 4)
      found = __float_as_uint(__fadd_rn(item, 0.0f));
    else
      found = static_cast<rank<T>>(__double_as_longlong(__dadd_rn(item, 0.0)));
    found ^= rank_sign<T> | (rank<T>{0} - (found >> (8 * sizeof(found) - 1)));
    if constexpr (!least) found = ~found;
    return item != item ? 0 : found;
  } else {
    found = static_cast<rank<T>>(item) ^ (std::is_signed_v<T> ? rank_sign<T> : rank<T>{0});
    return least ? found : ~found;
  }
}

// The item at d_in[index], by its rank alone unless that is a NaN's or a zero's, which are several.
template <bool least, class T, class InputIteratorT>
__device__ T item_of_rank(rank<T> found, InputIteratorT d_in, std::ptrdiff_t index) {
  const rank<T> ascending = least ? found : ~found;
  if constexpr (std::is_floating_point_v<T>) {
    const rank<T> bits = ascending & rank_sign<T> ? ascending ^ rank_sign<T> : ~ascending;
    if (found == 0 || bits == 0) return static_cast<T>(d_in[index]);
    if constexpr (sizeof(T) == 4)
      return __uint_as_float(bits);
    else
      return __longlong_as_double(static_cast<long long>(bits));
  } else {
    return static_cast<T>(ascending ^ (std::is_signed_v<T> ? rank_sign<T> : rank<T>{0}));
  }
}

// A rank of 32 bits over an index. The highest indices are left to what a tile counts beyond the last item.
using ranked_index = unsigned long long;
inline constexpr long long most_in_a_word = 0xfffe0000ll;
// Two words.
struct ranked_place {
  unsigned long long rank, index;
};
template <class T>
using place_with = std::conditional_t<has_short_rank<T>, ranked_index, ranked_place>;
inline constexpr unsigned long long no_index = ~0ull;

template <class Place>
__device__ Place make_place(unsigned long long of_item, unsigned long long index) {
  if constexpr (std::is_same_v<Place, ranked_index>)
    return of_item << 32 | static_cast<unsigned>(index);
  else
    return {of_item, index};
}

// The lesser one. Its identity stands for nothing.
struct first_rank {
  template <class Place>
  static __host__ __device__ constexpr Place identity() {
    if constexpr (std::is_same_v<Place, ranked_index>)
      return no_index;
    else
      return {no_index, no_index};
  }
  __device__ ranked_place operator()(const ranked_place& a, const ranked_place& b) const {
    return b.rank < a.rank || (b.rank == a.rank && b.index < a.index) ? b : a;
  }
  __device__ ranked_index operator()(ranked_index a, ranked_index b) const { return b < a ? b : a; }
};

// As of any operator, in two instructions: the least rank, then the least index of those that have it. Found by calls
// without a namespace.
template <int lanes = warp_threads>
__device__ ranked_index warp_reduce(ranked_index value, first_rank first_of) {
  if constexpr (lanes < warp_threads) value = threadIdx.x % warp_threads < lanes ? value : no_index;
  if constexpr (has_redux) {
    const auto of_item = static_cast<unsigned>(value >> 32), index = static_cast<unsigned>(value);
    const unsigned least = warp_reduce(of_item, minimum{});
    return make_place<ranked_index>(least, warp_reduce(of_item == least ? index : ~0u, minimum{}));
  } else {
#pragma unroll
    for (int offset = lanes / 2; offset > 0; offset /= 2) value = first_of(value, shuffle_down(value, offset));
    return value;
  }
}

// The pair that such a place stands for, in d_in from whose first item indices count. Of nothing: nowhere.
template <bool least, class T, class InputIteratorT>
__device__ placed<T> place_of(const ranked_place& found, InputIteratorT d_in) {
  if (found.index == no_index) return {T{}, nowhere};
  const auto index = static_cast<long long>(found.index);
  return {item_of_rank<least, T>(static_cast<rank<T>>(found.rank), d_in, index), index};
}
template <bool least, class T, class InputIteratorT>
__device__ placed<T> place_of(ranked_index found, InputIteratorT d_in) {
  if (found == no_index) return {T{}, nowhere};
  return place_of<least, T>(ranked_place{found >> 32, found & 0xffffffffu}, d_in);
}

// Item i of d_in as its rank and first + i.
template <bool least, class T, class Place, class InputIteratorT>
struct ranked {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Place;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;
  using offset = std::conditional_t<std::is_same_v<Place, ranked_index>, unsigned, unsigned long long>;

  InputIteratorT d_in;
  offset first = 0;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    return make_place<Place>(rank_of<least>(static_cast<T>(d_in[static_cast<difference_type>(i)])),
                             first + static_cast<offset>(i));
  }
  template <class Offset>
  __device__ ranked operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), first + static_cast<offset>(i)};
  }
};

}  // namespace rungs::RUNGS_ABI::parts
