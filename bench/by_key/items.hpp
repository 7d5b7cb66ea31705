// What the calls of rungs_by_key work on. Everything is a pure function of the item's index, so that host and device
// make the same items.
#pragma once

#include <cstddef>
#include <cstdint>

#include "by_key/plan.hpp"
#include "workload.hpp"

namespace rungs::bench::by_key {

// The predicate of all calls with one. Of flagged items, it is true of the same ones as their flags are.
struct is_odd {
  template <class T>
  __host__ __device__ bool operator()(const T& item) const {
    return (item & 1) != 0;
  }
};

__host__ __device__ inline bool is_chosen(std::size_t i, unsigned percent) {
  return random_bits(11, i) % 100 < percent;
}

template <class T>
__host__ __device__ T item_of(std::size_t i, unsigned percent) {
  return static_cast<T>((random_bits(12, i) & ~std::uint64_t{1}) | (is_chosen(i, percent) ? 1 : 0));
}

// The number of the run that item i is in. Two neighbouring runs have 2 * mean_length items, split at random: each has
// 1 to 2 * mean_length - 1. A mean of 0 means one run of all items.
__host__ __device__ inline std::size_t run_of(std::size_t i, std::size_t mean_length) {
  if (mean_length == 0) return 0;
  if (mean_length == 1) return i;
  const std::size_t both = i / (2 * mean_length), place = i % (2 * mean_length);
  return 2 * both + (place > random_bits(13, both) % (2 * mean_length - 1) ? 1 : 0);
}

// The number of the segment that item i of num_items is in. Segments are runs; none is empty.
__host__ __device__ inline std::size_t segment_of(std::size_t i, std::size_t structure, std::size_t num_items) {
  if (structure != mixed) return run_of(i, structure);
  return i < num_items / 2 ? 0 : 1 + run_of(i - num_items / 2, 4);
}

// Keys of neighbouring runs differ, in one bit at least.
template <class T>
__host__ __device__ T key_of(std::size_t run) {
  return static_cast<T>((random_bits(14, run) & ~std::uint64_t{1}) | (run & 1));
}

// Whole numbers from -3 to 3, so that sums of floats are exact in every order of additions: of 2^28 items no stretch
// sums to more than 2^17.
template <class T>
__host__ __device__ T value_of(std::size_t i) {
  return static_cast<T>(static_cast<int>(random_bits(15, i) % 7) - 3);
}

}  // namespace rungs::bench::by_key
