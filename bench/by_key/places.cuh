// A call's arguments as its types.
#pragma once

#include "by_key/calls.hpp"

namespace rungs::bench::by_key {

template <class T>
const T* first_in(const catalog::arguments& a) {
  return static_cast<const T*>(a.d_in);
}
template <class T>
const T* second_in(const catalog::arguments& a) {
  return static_cast<const T*>(a.d_second);
}

// Of calls with two outputs for each item, or with one.
template <class First, class Second>
struct outputs {
  First* first;
  Second* second;
  int* count;

  explicit outputs(const catalog::arguments& a) {
    char* const begin = static_cast<char*>(a.d_out);
    const places at = places_of(a.num_items, sizeof(First), sizeof(Second));
    first = static_cast<First*>(a.d_out);
    second = reinterpret_cast<Second*>(begin + at.second_at);
    count = reinterpret_cast<int*>(begin + at.behind);
  }
};
template <class First>
struct outputs<First, void> {
  First* first;
  int* count;

  explicit outputs(const catalog::arguments& a)
      : first(static_cast<First*>(a.d_out)),
        count(reinterpret_cast<int*>(static_cast<char*>(a.d_out) + places_of(a.num_items, sizeof(First), 0).behind)) {}
};

// The number of items as CUB's shortest offsets want it.
inline int num_items(const catalog::arguments& a) { return static_cast<int>(a.num_items); }

}  // namespace rungs::bench::by_key
