// An item and where it stands: which of two is the least or the greatest, as rungs::DeviceReduce::ArgMin and ArgMax say
// it. A NaN comes before every number, -0 and +0 are equal, and of equals the first is meant.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"

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
  template <class T>
  __device__ placed<T> operator()(const placed<T>& a, const placed<T>& b) const {
    if (is_better<ReductionOpT>(b.item, a.item)) return b;
    return b.index < a.index && !is_better<ReductionOpT>(a.item, b.item) ? b : a;
  }
};

// What any item displaces.
template <class ReductionOpT, class T>
__device__ placed<T> no_item() {
  return {ReductionOpT::template identity<T>(), nowhere};
}

// Of no items the index is 1, as CUB has it.
template <class T>
__device__ void write_place(const placed<T>& found, T* d_item, long long* d_index) {
  *d_item = found.item;
  *d_index = found.index == nowhere ? 1 : found.index;
}

// A block for block_items items, at most so many on each multiprocessor of the current device, at least one.
inline cudaError_t plan_extremum(std::size_t num_items, int block_items, int blocks_per_multiprocessor,
                                 std::size_t& grid_blocks) {
  int num_multiprocessors = 1;
  const cudaError_t error = multiprocessors(num_multiprocessors);
  const std::size_t wanted = ceil_div(num_items, block_items);
  grid_blocks = at_most(wanted > 0 ? wanted : 1, std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
  return error;
}

}  // namespace rungs::RUNGS_ABI::parts
