// A block's share of a row that is read once: as much of it as fits stays in shared memory, and the rest is read again.
#pragma once

#include <cstring>

#include "rungs/production/sampling/row_share.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T>
class held_share : public row_share<T, false> {
  using all = row_share<T, false>;
  static constexpr unsigned block_threads = all::block_threads;

 public:
  using all::vector_items;
  using values_of_vector = float[vector_items];

  // `shared` has room for `num_held` places of 16 bytes.
  __device__ held_share(const T* row, unsigned num_columns, unsigned rank, unsigned num_blocks, uint4* shared,
                        unsigned num_held)
      : all(row, num_columns, rank, num_blocks, shared), held_(num_held) {}

  // take(values) for each of the thread's vectors, which it keeps. It has to come first. `meanwhile` is called while
  // the first vectors come.
  template <class Meanwhile, class Take>
  __device__ void read_all(Meanwhile meanwhile, Take take) const {
    constexpr unsigned at_once = 4;
    const unsigned distance = this->num_blocks_ * block_threads * vector_items,
                   whole = (at_once - 1) * distance + vector_items;  // columns that come at once
    const unsigned num_whole = this->size_ >= whole ? this->size_ - whole + 1 : 0;
    bool is_first = true;
#pragma unroll 1
    for (unsigned tile = threadIdx.x; is_first || tile < this->places_; tile += at_once * block_threads) {
      uint4 vectors[at_once];
      if (const unsigned first = this->column_of(tile); first < num_whole) {
        const T* const from = this->from_ + first;
#pragma unroll
        for (unsigned v = 0; v < at_once; ++v) vectors[v] = *reinterpret_cast<const uint4*>(from + v * distance);
      } else {
#pragma unroll
        for (unsigned v = 0; v < at_once; ++v)
          if (tile + v * block_threads < this->places_) vectors[v] = this->read(tile + v * block_threads);
      }
      if (is_first) meanwhile();
      is_first = false;
#pragma unroll
      for (unsigned v = 0; v < at_once; ++v) {
        const unsigned place = tile + v * block_threads;
        if (place >= this->places_) break;
        if (place < held_) this->shared_[place] = vectors[v];
        values_of_vector values;
        unpack(vectors[v], values);
        take(values);
      }
    }
  }
  // take(values, column of the first) for each of the thread's vectors.
  template <int loads_at_once = 2, class Take>
  __device__ void for_each_vector(Take take) const {
#pragma unroll 1
    for (unsigned tile = threadIdx.x; tile < this->places_; tile += loads_at_once * block_threads) {
      uint4 vectors[loads_at_once];
#pragma unroll
      for (int v = 0; v < loads_at_once; ++v) {
        const unsigned place = tile + v * block_threads;
        if (place < this->places_) vectors[v] = place < held_ ? this->shared_[place] : this->read(place);
      }
#pragma unroll
      for (int v = 0; v < loads_at_once; ++v) {
        const unsigned place = tile + v * block_threads;
        if (place >= this->places_) break;
        values_of_vector values;
        unpack(vectors[v], values);
        take(values, this->column_of(place));
      }
    }
  }
  // take(values, place of the first vector) for many of the thread's items at once. What it has not is NaN.
  static constexpr unsigned items_at_once = 16;
  template <class Take>
  __device__ void for_each_items(Take take) const {
    constexpr unsigned at_once = items_at_once / vector_items;
#pragma unroll 1
    for (unsigned tile = threadIdx.x; tile < this->places_; tile += at_once * block_threads) {
      uint4 vectors[at_once];
      if (const unsigned last = tile + (at_once - 1) * block_threads; last < this->places_ && last < held_) {
#pragma unroll
        for (unsigned v = 0; v < at_once; ++v) vectors[v] = this->shared_[tile + v * block_threads];
      } else {
#pragma unroll
        for (unsigned v = 0; v < at_once; ++v) {
          const unsigned place = tile + v * block_threads;
          vectors[v] = place >= this->places_ ? uint4{~0u, ~0u, ~0u, ~0u}
                       : place < held_        ? this->shared_[place]
                                              : this->read(place);
        }
      }
      float values[items_at_once];
#pragma unroll
      for (unsigned v = 0; v < at_once; ++v)
        unpack(vectors[v], *reinterpret_cast<values_of_vector*>(values + v * vector_items));
      take(values, tile);
    }
  }
  // Of for_each_items: an item, and its column.
  __device__ float value_of_item(unsigned first_place, unsigned i) const {
    const unsigned place = first_place + i / vector_items * block_threads;
    if (place < held_) return to_float(reinterpret_cast<const T*>(this->shared_ + place)[i % vector_items]);
    return to_float(this->from_[column_of_item(first_place, i)]);
  }
  __device__ unsigned column_of_item(unsigned first_place, unsigned i) const {
    return this->column_of(first_place + i / vector_items * block_threads) + i % vector_items;
  }
  template <int loads_at_once = 2, class Take>
  __device__ void for_each(Take take) const {
    for_each_vector<loads_at_once>([&](const values_of_vector& values, unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) take(values[i], first + i);
    });
  }

 private:
  static __device__ void unpack(const uint4& vector, values_of_vector& values) {
    T items[vector_items];
    memcpy(items, &vector, sizeof(vector));
#pragma unroll
    for (unsigned i = 0; i < vector_items; ++i) values[i] = to_float(items[i]);
  }

  const unsigned held_;
};

}  // namespace rungs::RUNGS_ABI::production
