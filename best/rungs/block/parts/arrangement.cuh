// Where a thread's items stand among those of its block, as BlockLoad and BlockStore have them.
#pragma once

#include <cstdint>

#include "rungs/block/parts/place.cuh"
#include "rungs/warp/parts/exchanged.cuh"

namespace rungs::RUNGS_ABI::device {

template <class Place, class T, int items_per_thread>
struct arrangement {
  static constexpr int num_items = Place::num_threads * items_per_thread;

  // As many bytes as one instruction may move of a thread's items, from an address that is a multiple of them.
  static constexpr std::size_t vector_bytes() {
    std::size_t bytes = 16;
    while (bytes > sizeof(T) && (items_per_thread * sizeof(T) % bytes != 0 || bytes % sizeof(T) != 0)) bytes /= 2;
    return std::is_trivially_copyable_v<T> && bytes > sizeof(T) && bytes >= alignof(T) ? bytes : 0;
  }
  static constexpr bool has_vectors = vector_bytes() != 0;
  static constexpr int items_per_vector = has_vectors ? static_cast<int>(vector_bytes() / sizeof(T)) : 1;
  struct alignas(vector_bytes()) vector {
    T items[items_per_vector];
  };
  template <class Pointer>
  static __device__ bool is_aligned(Pointer items) {
    return reinterpret_cast<std::uintptr_t>(items) % alignof(vector) == 0;
  }

  // A thread's items follow each other; or they stand as many items apart as there are threads.
  static __device__ int blocked(int i) { return static_cast<int>(Place::thread()) * items_per_thread + i; }
  static __device__ int striped(int i) { return static_cast<int>(Place::thread()) + i * Place::num_threads; }
  // A warp's items follow each other, and stand in it as many items apart as it has threads.
  static __device__ int warp_striped(int i) {
    const int first = Place::warp() * parts::warp_threads, left = Place::num_threads - first;
    const int num_lanes = Place::has_whole_warps || left > parts::warp_threads ? parts::warp_threads : left;
    return first * items_per_thread + Place::warp_lanes().rank + i * num_lanes;
  }
};

struct no_exchange {};

}  // namespace rungs::RUNGS_ABI::device
