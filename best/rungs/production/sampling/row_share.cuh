// A block's share of a row: in its shared memory, or read from the device's memory each time.
//
// Warps of all blocks of a cluster take turns, 512 bytes each. What is not in the row is NaN, which has no weight.
// Which block has a column may depend on the row's address; nothing that is summed up or compared does.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rungs/cluster/parts/block_bits.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/segments/pieces.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool resident>
class row_share {
  static constexpr unsigned lanes = parts::warp_threads;

 public:
  static constexpr unsigned block_threads = 512, vector_items = 16 / sizeof(T);
  static constexpr int most_loads = resident ? 2 : 4;

  // `num_blocks` is a power of two.
  __device__ row_share(const T* row, unsigned num_columns, unsigned rank, unsigned num_blocks, uint4* shared)
      : from_(row), size_(num_columns), rank_(rank), num_blocks_(num_blocks), shared_(shared) {
    before_ = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from_) % 16 / sizeof(T));
    const unsigned segments = (size_ + before_ + lanes * vector_items - 1) / (lanes * vector_items);
    places_ = rank < segments ? ((segments - rank - 1) >> cluster::parts::block_bits(num_blocks)) * lanes + lanes : 0;
  }

  // Places of 16 bytes that a block needs for its share.
  static std::size_t most_places(std::size_t num_columns, std::size_t num_blocks) {
    const std::size_t segments = (num_columns + vector_items - 1 + lanes * vector_items - 1) / (lanes * vector_items);
    return (segments + num_blocks - 1) / num_blocks * lanes;
  }

  // Brings what stays in shared memory. A thread reads its own places alone, so no barrier is needed.
  __device__ void begin_copies() const {
    if constexpr (resident) {
#pragma unroll 1
      for (unsigned place = threadIdx.x; place < places_; place += block_threads) {
        const unsigned first = column_of(place);
        if (is_whole(first))
          copy_16_bytes(shared_ + place, reinterpret_cast<const uint4*>(from_ + first));
        else
          shared_[place] = read(place);
      }
    }
  }
  __device__ void end_copies() const {
    if constexpr (resident) wait_for_copies();
  }

  // Of the whole row, the same in each of its blocks: for each thread some vectors, in runs of 128 bytes at equal
  // distances.
  template <int count>
  __device__ void sample(uint4 (&vectors)[count]) const {
    constexpr unsigned run = 128 / sizeof(uint4);
    const unsigned total = (size_ + before_ + vector_items - 1) / vector_items;
    const unsigned stride = total > count * block_threads ? total / (count * block_threads) * run : run;
#pragma unroll
    for (int v = 0; v < count; ++v) {
      const unsigned number = v * block_threads + threadIdx.x;
      vectors[v] = read_from((number / run * stride + number % run) * vector_items - before_);
    }
  }
  template <class Take>
  static __device__ void for_each_in(const uint4& vector, Take take) {
    T items[vector_items];
    memcpy(items, &vector, sizeof(vector));
#pragma unroll
    for (unsigned i = 0; i < vector_items; ++i) take(to_float(items[i]));
  }

  // Whether four columns from a multiple of four on are in one vector.
  __device__ bool has_whole_fours() const { return before_ % 4 == 0; }
  // Segments of the row are what a warp reads at once, in the order of columns. Beside the row, columns wrap.
  static constexpr unsigned segment_columns = lanes * vector_items;
  __device__ unsigned num_segments() const { return (size_ + before_ + segment_columns - 1) / segment_columns; }
  __device__ unsigned segment_of(unsigned column) const { return (column + before_) / segment_columns; }
  __device__ unsigned first_column(unsigned segment) const { return segment * segment_columns - before_; }
  __device__ float value_at(unsigned column) const { return column < size_ ? to_float(from_[column]) : NAN; }

  // take(values, column of the first) for each of the thread's vectors.
  using values_of_vector = float[vector_items];
  template <int loads_at_once = most_loads, class Take>
  __device__ void for_each_vector(Take take) const {
#pragma unroll 1
    for (unsigned tile = threadIdx.x; tile < places_; tile += loads_at_once * block_threads) {
      uint4 vectors[loads_at_once];
#pragma unroll
      for (int v = 0; v < loads_at_once; ++v) {
        const unsigned place = tile + v * block_threads;
        if (place < places_) vectors[v] = resident ? shared_[place] : read(place);
      }
#pragma unroll
      for (int v = 0; v < loads_at_once; ++v) {
        const unsigned place = tile + v * block_threads;
        if (place >= places_) break;
        T items[vector_items];
        memcpy(items, &vectors[v], sizeof(uint4));
        values_of_vector values;
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i) values[i] = to_float(items[i]);
        take(values, column_of(place));
      }
    }
  }
  // The thread's own vectors: how many, and of any thread one of them, and the column of its first item.
  __device__ unsigned num_own() const {
    return places_ > threadIdx.x ? (places_ - threadIdx.x + block_threads - 1) / block_threads : 0;
  }
  __device__ uint4 own_vector(unsigned number, unsigned thread = threadIdx.x) const {
    const unsigned place = thread + number * block_threads;
    return resident ? shared_[place] : read(place);
  }
  __device__ unsigned column_of_own(unsigned number, unsigned thread = threadIdx.x) const {
    return column_of(thread + number * block_threads);
  }
  // take(values, number of the vector among the thread's own) for each of them, or from the last one on. Vectors that
  // come at once have one comparison, but for those at the row's ends.
  template <int loads_at_once, bool backwards, class Take>
  __device__ void for_each_own(Take take) const {
    const unsigned distance = num_blocks_ * block_threads * vector_items, number = num_own(),
                   whole = (loads_at_once - 1) * distance + vector_items;  // columns that come at once
    const unsigned num_whole = size_ >= whole ? size_ - whole + 1 : 0;
    unsigned group = backwards ? (number - 1) / loads_at_once * loads_at_once : 0;
#pragma unroll 1
    for (; group < number; group += backwards ? 0u - loads_at_once : loads_at_once) {
      const unsigned first = column_of_own(group);
      uint4 vectors[loads_at_once];
      if (!resident && first < num_whole) {
#pragma unroll
        for (int v = 0; v < loads_at_once; ++v)
          vectors[v] = *reinterpret_cast<const uint4*>(from_ + (first + v * distance));
      } else {
#pragma unroll
        for (int v = 0; v < loads_at_once; ++v)
          if (group + v < number) vectors[v] = own_vector(group + v);
      }
#pragma unroll
      for (int v = 0; v < loads_at_once; ++v) {
        if (group + v >= number) break;
        values_of_vector values;
        unpack(vectors[v], values);
        take(values, group + v);
      }
    }
  }
  // take(value, column) for each of its items.
  template <int loads_at_once = most_loads, class Take>
  __device__ void for_each(Take take) const {
    for_each_vector<loads_at_once>([&](const values_of_vector& values, unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) take(values[i], first + i);
    });
  }
  // take(value, column) for those that `wanted(value)` says, which are few: they are read once more.
  template <class Wanted, class Take>
  __device__ void for_each_of(Wanted wanted, Take take) const {
    for_each_vector([&](const values_of_vector& values, unsigned first) {
      unsigned mask = 0;
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) mask |= static_cast<unsigned>(wanted(values[i])) << i;
#pragma unroll 1
      for (; mask != 0; mask &= mask - 1) {
        const unsigned column = first + __ffs(static_cast<int>(mask)) - 1;
        take(to_float(from_[column]), column);
      }
    });
  }

 protected:
  // Of a vector's first item. Those before the row wrap to numbers beyond any size.
  __device__ unsigned column_of(unsigned place) const {
    return ((place / lanes * num_blocks_ + rank_) * lanes + place % lanes) * vector_items - before_;
  }
  __device__ bool is_whole(unsigned first) const { return first < size_ && size_ - first >= vector_items; }
  static __device__ void unpack(const uint4& vector, values_of_vector& values) {
    T items[vector_items];
    memcpy(items, &vector, sizeof(vector));
#pragma unroll
    for (unsigned i = 0; i < vector_items; ++i) values[i] = to_float(items[i]);
  }
  __device__ uint4 read(unsigned place) const { return read_from(column_of(place)); }
  __device__ uint4 read_from(unsigned first) const {
    if (is_whole(first)) return *reinterpret_cast<const uint4*>(from_ + first);
    uint4 vector{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    T items[vector_items];
    memcpy(items, &vector, sizeof(vector));
#pragma unroll
    for (unsigned i = 0; i < vector_items; ++i)
      if (first + i < size_) items[i] = from_[first + i];
    memcpy(&vector, items, sizeof(vector));
    return vector;
  }

  const T* const from_;
  const unsigned size_, rank_, num_blocks_;
  uint4* const shared_;
  unsigned before_, places_;  // items from a multiple of 16 bytes to the first; places that the block has
};

}  // namespace rungs::RUNGS_ABI::production
