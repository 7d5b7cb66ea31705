// Moving and folding vectors of 16 bytes, in the caller's memory and in windows, several in flight.
#pragma once

#include <cstdint>
#include <type_traits>

#include "rungs/across/parts/plan.cuh"
#include "rungs/across/parts/steps.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::across::parts {

using rungs::parts::vector;

// What items are folded in: halves in float, rounded once at the end; all others in their own type.
template <class T>
using accumulator_of = std::conditional_t<!std::is_arithmetic_v<T> && sizeof(T) == 2, float, T>;

// Puts item i into a vector of zeros.
template <class T>
__device__ void put(vector<T>& items, int i, T item) {
  if constexpr (sizeof(T) < 4) {
    unsigned bits = 0;
    memcpy(&bits, &item, sizeof(T));
    items.words[i * sizeof(T) / 4] |= bits << (i * sizeof(T) % 4 * 8);
  } else {
    memcpy(items.words + i * (sizeof(T) / 4), &item, sizeof(T));
  }
}

// A vector as accumulators.
template <class T>
struct sums {
  static constexpr int num_items = vector<T>::num_items;
  accumulator_of<T> values[num_items];

  __device__ void begin(const vector<T>& items) {
#pragma unroll
    for (int i = 0; i < num_items; ++i) values[i] = static_cast<accumulator_of<T>>(items[i]);
  }
  template <class ReductionOpT>
  __device__ void fold(const vector<T>& items, ReductionOpT reduction_op) {
#pragma unroll
    for (int i = 0; i < num_items; ++i) values[i] = reduction_op(values[i], static_cast<accumulator_of<T>>(items[i]));
  }
  __device__ vector<T> rounded() const {
    vector<T> items{};
#pragma unroll
    for (int i = 0; i < num_items; ++i) put(items, i, static_cast<T>(values[i]));
    return items;
  }
};

// Peers write what is read here while the kernel runs, so no load may go through the read-only cache.
template <class T>
__device__ vector<T> load_whole(const void* from) {
  vector<T> items;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(items.words[0]), "=r"(items.words[1]), "=r"(items.words[2]), "=r"(items.words[3])
               : "l"(from)
               : "memory");
  return items;
}
template <class T>
__device__ void store_whole(void* to, const vector<T>& items) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(items.words[0]), "r"(items.words[1]),
               "r"(items.words[2]), "r"(items.words[3])
               : "memory");
}

// Vectors of a window, or of the caller's items. `whole`: the caller's are aligned, and no item of the last is missing.
// Else the caller's items are taken one by one; those behind the last are zeros that nobody stores.
template <class T, bool whole>
struct span {
  char* begin;
  std::size_t num_items;  // of the caller's; of a window it has no meaning
  bool is_callers;

  __device__ vector<T> load(std::size_t v) const {
    vector<T> loaded{};
    if (whole || !is_callers) {
      loaded = load_whole<T>(begin + v * 16);
    } else {
#pragma unroll
      for (int i = 0; i < vector<T>::num_items; ++i) {
        const std::size_t at = v * vector<T>::num_items + i;
        if (at < num_items) put(loaded, i, reinterpret_cast<const T*>(begin)[at]);
      }
    }
    return loaded;
  }
  __device__ void store(std::size_t v, const vector<T>& stored) const {
    if (whole || !is_callers) {
      store_whole(begin + v * 16, stored);
    } else {
#pragma unroll
      for (int i = 0; i < vector<T>::num_items; ++i) {
        const std::size_t at = v * vector<T>::num_items + i;
        if (at < num_items) reinterpret_cast<T*>(begin)[at] = stored[i];
      }
    }
  }
};

template <class T>
__device__ bool is_aligned(const T* items) {
  return reinterpret_cast<std::uintptr_t>(items) % 16 == 0;
}

// Part of a step, in the caller's items: vectors first to first + count - 1, of which there may be none.
struct part_of_items {
  std::size_t first, count, num_items;
  bool may_be_whole;

  template <class T>
  __device__ part_of_items(const plan& plan, std::size_t step, int part, const T* d_in, const T* d_out,
                           std::size_t num_items)
      : first(plan.first_of(blockIdx.x, step, part)), num_items(num_items) {
    constexpr int vector_items = vector<T>::num_items;
    const std::size_t num_vectors = rungs::parts::ceil_div(num_items, vector_items);
    count = first < num_vectors ? rungs::parts::at_most(num_vectors - first, plan.part_vectors) : 0;
    may_be_whole = is_aligned(d_in) && is_aligned(d_out) && (first + count) * vector_items <= num_items;
  }

  template <bool whole, class T>
  __device__ span<T, whole> of(const T* items) const {
    const std::size_t before = rungs::parts::at_most(first * vector<T>::num_items, num_items);
    return {reinterpret_cast<char*>(const_cast<T*>(items + before)), num_items - before, true};
  }
};

// Calls body(std::true_type{}) where a part is whole, else body(std::false_type{}).
template <class Body>
__device__ void with_wholeness(const part_of_items& part, Body body) {
  if (part.may_be_whole)
    body(std::true_type{});
  else
    body(std::false_type{});
}

// The places of this block in the staging of a window.
struct places {
  char* begin;
  std::size_t bytes_of_place;

  __device__ places(const member& me, const plan& plan, int at, int half)
      : begin(me.windows[at] + staging_at(me.num_ranks, me.num_blocks, me.tagged_bytes) +
              plan.place_at(blockIdx.x, half, 0, me.staging_bytes)),
        bytes_of_place(plan.part_vectors * 16) {}

  template <bool whole, class T>
  __device__ span<T, whole> of(int place) const {
    return {begin + place * bytes_of_place, 0, false};
  }
};

// Calls body(v, present) so that every number below num_vectors is one of v + i * block_threads, i < batch, for one
// thread of the block; present(i) says whether there is such a vector.
template <int block_threads, int batch, class Body>
__device__ void for_batches(std::size_t num_vectors, Body body) {
  for (std::size_t v = threadIdx.x; v < num_vectors; v += batch * block_threads)
    body(v, [=](int i) { return v + i * block_threads < num_vectors; });
}

template <int block_threads, int batch, class From, class To>
__device__ void copy_vectors(std::size_t num_vectors, const From& from, const To& to) {
  for_batches<block_threads, batch>(num_vectors, [&](std::size_t v, auto present) {
    decltype(from.load(v)) held[batch] = {};
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (present(i)) held[i] = from.load(v + i * block_threads);
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (present(i)) to.store(v + i * block_threads, held[i]);
  });
}

}  // namespace rungs::RUNGS_ABI::across::parts
