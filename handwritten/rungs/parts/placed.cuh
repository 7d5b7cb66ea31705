// An item and where it stands: which of two is the least or the greatest, as rungs::DeviceReduce::ArgMin and ArgMax say
// it. A NaN comes before every number, -0 and +0 are equal, and of equals the first is meant.
#pragma once

#include <cuda_runtime.h>

#include <limits>
#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr long long nowhere = std::numeric_limits<long long>::max();

template <class T>
struct placed {
  T item;
  long long index;
};

// Whether `a` is answered rather than `b`, wherever they stand: by minimum the lesser, by maximum the greater.
template <class ReductionOpT, class T>
__device__ bool is_better(T a, T b) {
  static_assert(std::is_same_v<ReductionOpT, minimum> || std::is_same_v<ReductionOpT, maximum>);
  const bool is_beyond = std::is_same_v<ReductionOpT, minimum> ? a < b : b < a;
  if constexpr (std::is_floating_point_v<T>) return is_beyond || (a != a && b == b);
  return is_beyond;
}

template <class ReductionOpT>
struct first_of {
  // What any item displaces.
  template <class Placed>
  static __device__ Placed identity() {
    return {ReductionOpT::template identity<decltype(Placed::item)>(), nowhere};
  }
  template <class T>
  __device__ placed<T> operator()(const placed<T>& a, const placed<T>& b) const {
    if (is_better<ReductionOpT>(b.item, a.item)) return b;
    return b.index < a.index && !is_better<ReductionOpT>(a.item, b.item) ? b : a;
  }
};

template <class ReductionOpT, class T>
__device__ placed<T> no_item() {
  return first_of<ReductionOpT>::template identity<placed<T>>();
}

// Of no items the index is 1, as CUB has it.
template <class T>
__device__ void write_place(const placed<T>& found, T* d_item, long long* d_index) {
  *d_item = found.item;
  *d_index = found.index == nowhere ? 1 : found.index;
}

}  // namespace rungs::RUNGS_ABI::parts
