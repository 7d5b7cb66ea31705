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
    bool is_first = true;
#pragma unroll 1
    for (unsigned tile = threadIdx.x; is_first || tile < this->places_; tile += at_once * block_threads) {
      uint4 vectors[at_once];
#pragma unroll
      for (unsigned v = 0; v < at_once; ++v)
        if (tile + v * block_threads < this->places_) vectors[v] = this->read(tile + v * block_threads);
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
