// The least and the greatest item, found in one read, and where they stand. The rungs reduce two places an item, of the
// kinds that one extremum has (extremum.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/extremum.cuh"
#include "rungs/device/parts/inputs.cuh"

namespace rungs::RUNGS_ABI::device {

template <class Place>
struct both_places {
  Place least, greatest;
};

// The lesser index is answered among equals. Where the last one is wanted, indices count down from here.
template <class Place>
inline constexpr long long last_index = std::is_same_v<Place, ranked_index> ? most_in_a_word - 1 : ~(1ll << 63) - 1;

template <bool least, class Place, class T, class Offset>
__device__ Place place_of(const T& item, Offset index) {
  if constexpr (std::is_same_v<Place, ranked_index>)
    return static_cast<Place>(rank_of<least>(item)) << 32 | index;
  else if constexpr (std::is_same_v<Place, ranked_place>)
    return {rank_of<least>(item), static_cast<unsigned long long>(index)};
  else
    return {item, static_cast<long long>(index)};
}

template <bool last_greatest, class T, class Place, class InputIteratorT>
struct placed_twice {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = both_places<Place>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;
  using offset = std::conditional_t<std::is_same_v<Place, ranked_index>, unsigned, long long>;

  InputIteratorT d_in;
  offset first = 0;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    const T item = static_cast<T>(d_in[static_cast<difference_type>(i)]);
    const offset index = first + static_cast<offset>(i);
    constexpr auto last = static_cast<offset>(last_index<Place>);
    return {place_of<true, Place>(item, index), place_of<false, Place>(item, last_greatest ? last - index : index)};
  }
  template <class Offset>
  __device__ placed_twice operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), first + static_cast<offset>(i)};
  }
};

struct both_extrema {
  template <class Both, class Place = decltype(std::declval<Both>().least)>
  static __host__ __device__ constexpr Both identity() {
    return {nothing<Place>(), nothing<Place>()};
  }
  template <class Place>
  __device__ both_places<Place> operator()(const both_places<Place>& a, const both_places<Place>& b) const {
    if constexpr (is_rank<Place>)
      return {first_rank{}(a.least, b.least), first_rank{}(a.greatest, b.greatest)};
    else
      return {first_extremum<true>{}(a.least, b.least), first_extremum<false>{}(a.greatest, b.greatest)};
  }

 private:
  template <class Place>
  static constexpr bool is_rank = std::is_same_v<Place, ranked_index> || std::is_same_v<Place, ranked_place>;
  template <class Place>
  static __host__ __device__ constexpr Place nothing() {
    if constexpr (is_rank<Place>)
      return first_rank::identity<Place>();
    else
      return first_extremum<true>::identity<Place>();
  }
};

// The same by an order of the caller's.
template <class CompareOpT>
struct both_extrema_by {
  first_by<true, CompareOpT> least;
  first_by<false, CompareOpT> greatest;

  template <class Both, class Place = decltype(std::declval<Both>().least)>
  static __host__ __device__ constexpr Both identity() {
    return {{{}, -1}, {{}, -1}};
  }
  template <class Place>
  __device__ both_places<Place> operator()(const both_places<Place>& a, const both_places<Place>& b) const {
    return {least(a.least, b.least), greatest(a.greatest, b.greatest)};
  }
};

// Where both are written as four results. Items that have ranks are read once more.
template <bool last_greatest, class T, class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT,
          class MaxOutIteratorT, class MaxIndexIteratorT>
struct parting_both {
  struct reference {
    parting_both to;
    template <class Place>
    __device__ const reference& operator=(const both_places<Place>& found) const {
      *parting<MinOutIteratorT, MinIndexIteratorT, T>{to.d_min_out, to.d_min_index_out, to.least_of_nothing} =
          item_at<false>(found.least);
      *parting<MaxOutIteratorT, MaxIndexIteratorT, T>{to.d_max_out, to.d_max_index_out, to.greatest_of_nothing} =
          item_at<last_greatest>(found.greatest);
      return *this;
    }

   private:
    template <bool counts_down, class Place>
    __device__ indexed<T> item_at(const Place& place) const {
      long long index;
      if constexpr (std::is_same_v<Place, ranked_index>)
        index = place == no_index ? -1 : static_cast<long long>(place & 0xffffffffu);
      else
        index = static_cast<long long>(place.index);  // of nothing, -1
      if (index < 0) return {T{}, -1};
      if (counts_down) index = last_index<Place> - index;
      if constexpr (std::is_same_v<Place, indexed<T>>)
        return {place.value, index};
      else
        return {static_cast<T>(to.d_in[index]), index};
    }
  };

  InputIteratorT d_in;
  MinOutIteratorT d_min_out;
  MinIndexIteratorT d_min_index_out;
  MaxOutIteratorT d_max_out;
  MaxIndexIteratorT d_max_index_out;
  T least_of_nothing, greatest_of_nothing;

  __device__ reference operator*() const { return {*this}; }
  template <class Offset>
  __device__ reference operator[](Offset) const {
    return {*this};
  }
  template <class Offset>
  __device__ parting_both operator+(Offset) const {
    return *this;
  }
};

}  // namespace rungs::RUNGS_ABI::device
