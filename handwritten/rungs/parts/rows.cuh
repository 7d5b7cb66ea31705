// Rows: what the 32 lanes of a warp read, scan and write together, 16 bytes a lane. A lane's items are neighbours, and
// so are the lanes: accesses are coalesced, and nothing has to be transposed through shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "rungs/parts/maybe.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::v0::parts {

// What an output iterator takes: items of the accumulator's type where it does not say.
template <class OutputIteratorT, class T, class = void>
struct written {
  using item = T;
};
template <class Item, class T>
struct written<Item*, T, void> {
  using item = Item;
};

template <class T>
struct type_under {
  using named = T;
};
template <class T>
struct type_under<maybe<T>> {
  using named = T;
};

constexpr std::size_t greatest_of(std::size_t a, std::size_t b, std::size_t c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

// Rows of a warp in registers. Items are accumulated in T; a lane holds as many neighbours of a row as make 16 bytes of
// the widest of input, accumulator and output.
template <int num_rows, class InputIteratorT, class OutputIteratorT, class T>
struct rows {
  using input_iterator = InputIteratorT;
  using output_iterator = OutputIteratorT;
  using accumulator = T;
  using input = item_of<InputIteratorT>;
  using output = typename written<OutputIteratorT, typename type_under<T>::named>::item;
  static constexpr std::size_t widest_bytes = greatest_of(sizeof(input), sizeof(output), sizeof(T));
  static constexpr int lane_items = widest_bytes < 16 ? 16 / widest_bytes : 1;
  static constexpr int row_items = lane_items * warp_threads, warp_items = row_items * num_rows;
  static constexpr bool reads_vectors = is_vectorisable<InputIteratorT> && 16 % (lane_items * sizeof(input)) == 0;
  static constexpr bool writes_vectors = is_vectorisable<OutputIteratorT> && 16 % (lane_items * sizeof(output)) == 0;

  T items[num_rows][lane_items];

  // Whether an end may be accessed by vectors. Unlike reductions, scans must not read by the non-coherent path: they
  // may work in place.
  static bool reads_aligned(InputIteratorT d_in) {
    if constexpr (reads_vectors) return reinterpret_cast<std::uintptr_t>(d_in) % (lane_items * sizeof(input)) == 0;
    return false;
  }
  static bool writes_aligned(OutputIteratorT d_out) {
    if constexpr (writes_vectors) return reinterpret_cast<std::uintptr_t>(d_out) % (lane_items * sizeof(output)) == 0;
    return false;
  }
  static bool vectorised(InputIteratorT d_in, OutputIteratorT d_out) {
    return reads_aligned(d_in) && writes_aligned(d_out);
  }

  // Position of the lane's first item in row r of a warp whose rows begin at `first`.
  static __device__ std::size_t position(std::size_t first, int row) {
    return first + (row * warp_threads + threadIdx.x % warp_threads) * lane_items;
  }

  // All rows, without a predicate: d_in is aligned, and there are that many items.
  __device__ void load(InputIteratorT d_in, std::size_t first) {
    if constexpr (reads_vectors) {
      vector_of_lane<input> loaded[num_rows];
#pragma unroll
      for (int row = 0; row < num_rows; ++row)
        loaded[row] = *reinterpret_cast<const vector_of_lane<input>*>(d_in + position(first, row));
#pragma unroll
      for (int row = 0; row < num_rows; ++row) unpack(row, loaded[row]);
    }
  }
  __device__ void store(OutputIteratorT d_out, std::size_t first) const {
    if constexpr (writes_vectors) {
#pragma unroll
      for (int row = 0; row < num_rows; ++row)
        *reinterpret_cast<vector_of_lane<output>*>(d_out + position(first, row)) = pack(row);
    }
  }

  // The same for any alignment and any number of items; what is not there reads as the identity.
  template <class ScanOpT>
  __device__ void load_present(InputIteratorT d_in, std::size_t first, std::size_t num_items, bool by_vectors,
                               ScanOpT) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const std::size_t at = position(first, row);
      if constexpr (reads_vectors) {
        if (by_vectors && at + lane_items <= num_items) {
          unpack(row, *reinterpret_cast<const vector_of_lane<input>*>(d_in + at));
          continue;
        }
      }
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        items[row][i] = at + i < num_items ? static_cast<T>(d_in[at + i]) : ScanOpT::template identity<T>();
    }
  }
  __device__ void store_present(OutputIteratorT d_out, std::size_t first, std::size_t num_items,
                                bool by_vectors) const {
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const std::size_t at = position(first, row);
      if constexpr (writes_vectors) {
        if (by_vectors && at + lane_items <= num_items) {
          *reinterpret_cast<vector_of_lane<output>*>(d_out + at) = pack(row);
          continue;
        }
      }
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        if (at + i < num_items) parts::store(d_out + (at + i), items[row][i]);
    }
  }

  // The aggregate of all the warp's items, in every lane.
  template <class ScanOpT>
  __device__ T aggregate(ScanOpT scan_op) const {
    if constexpr (is_commutative<ScanOpT>) {
      T of_rows[num_rows];
#pragma unroll
      for (int row = 0; row < num_rows; ++row) of_rows[row] = fold<T, 0, lane_items>(items[row], scan_op);
      return warp_aggregate(fold<T, 0, num_rows>(of_rows, scan_op), scan_op);
    } else {
      T total = warp_aggregate(fold<T, 0, lane_items>(items[0], scan_op), scan_op);
#pragma unroll
      for (int row = 1; row < num_rows; ++row)
        total = scan_op(total, warp_aggregate(fold<T, 0, lane_items>(items[row], scan_op), scan_op));
      return total;
    }
  }

  // Makes every item the aggregate of `before` and the warp's items up to it: with it, or for an exclusive scan without.
  // Returns the aggregate of `before` and all of them, in every lane.
  template <scan_kind kind, class ScanOpT>
  __device__ T scan(T before, ScanOpT scan_op) {
    T of_lanes[num_rows];
#pragma unroll
    for (int row = 0; row < num_rows; ++row) of_lanes[row] = fold<T, 0, lane_items>(items[row], scan_op);
    // Row by row would be one chain of dependent shuffles; step by step, the rows' chains run side by side.
    const int lane = threadIdx.x % warp_threads;
#pragma unroll
    for (int offset = 1; offset < warp_threads; offset *= 2) {
#pragma unroll
      for (int row = 0; row < num_rows; ++row) {
        const T left = shuffle_up(of_lanes[row], offset);
        if (lane >= offset) of_lanes[row] = scan_op(left, of_lanes[row]);
      }
    }
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const T of_row = shuffle_from(of_lanes[row], warp_threads - 1);
      const T left = shuffle_up(of_lanes[row], 1);
      T prefix = lane == 0 ? before : scan_op(before, left);
#pragma unroll
      for (int i = 0; i < lane_items; ++i) {
        const T next = scan_op(prefix, items[row][i]);
        items[row][i] = kind == scan_kind::inclusive ? next : prefix;
        prefix = next;
      }
      before = scan_op(before, of_row);
    }
    return before;
  }

  // Puts `before` in front of every item.
  template <class ScanOpT>
  __device__ void precede(const T& before, ScanOpT scan_op) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i) items[row][i] = scan_op(before, items[row][i]);
  }

 private:
  template <class Item>
  struct alignas(lane_items * sizeof(Item)) vector_of_lane {
    Item items[lane_items];
  };

  template <class Vector>
  __device__ void unpack(int row, const Vector& loaded) {
#pragma unroll
    for (int i = 0; i < lane_items; ++i) items[row][i] = static_cast<T>(loaded.items[i]);
  }
  __device__ vector_of_lane<output> pack(int row) const {
    vector_of_lane<output> packed;
#pragma unroll
    for (int i = 0; i < lane_items; ++i) parts::store(packed.items + i, items[row][i]);
    return packed;
  }
};

// What is aggregated before warp `warp` of a block, from the aggregates that each warp left in shared memory.
template <int num_warps, class T, class ScanOpT>
__device__ T before_warp(const T* warp_aggregates, int warp, ScanOpT scan_op) {
  static_assert(num_warps <= warp_threads);
  const int lane = threadIdx.x % warp_threads;
  return warp_aggregate(lane < warp ? warp_aggregates[lane] : ScanOpT::template identity<T>(), scan_op);
}

}  // namespace rungs::v0::parts
