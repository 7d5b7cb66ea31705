// Rows: what the 32 lanes of a warp read, scan and write together, 16 bytes a lane. A lane's items are neighbours, and
// so are the lanes: accesses are coalesced, and nothing has to be transposed through shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "rungs/parts/launch.cuh"
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
  using general = rows;
  static constexpr bool is_whole = false;
  static constexpr int rows_of_warp = num_rows;
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

  // The lane's first item in a row, counted from the warp's first.
  static __device__ int position(int row) { return (row * warp_threads + threadIdx.x % warp_threads) * lane_items; }

  // All rows of the warp whose items begin at `first`, without a predicate: they are all there, and aligned.
  __device__ void load(InputIteratorT d_in, std::size_t first) { load_vectors(d_in + first); }
  __device__ void store(OutputIteratorT d_out, std::size_t first) const {
    if constexpr (writes_vectors) {
#pragma unroll
      for (int row = 0; row < num_rows; ++row)
        *reinterpret_cast<vector_of_lane<output>*>(d_out + first + position(row)) = pack(row);
    }
  }

  // The same for any alignment and any number of items; what is not there reads as the identity.
  template <class ScanOpT>
  __device__ void load_present(InputIteratorT d_in, std::size_t first, std::size_t num_items, bool by_vectors,
                               ScanOpT) {
    const int left = present(first, num_items);
    const InputIteratorT from = d_in + first;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      if constexpr (reads_vectors) {
        if (by_vectors && position(row) + lane_items <= left) {
          unpack(row, *reinterpret_cast<const vector_of_lane<input>*>(from + position(row)));
          continue;
        }
      }
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        items[row][i] =
            position(row) + i < left ? static_cast<T>(from[position(row) + i]) : ScanOpT::template identity<T>();
    }
  }
  __device__ void store_present(OutputIteratorT d_out, std::size_t first, std::size_t num_items,
                                bool by_vectors) const {
    const int left = present(first, num_items);
    const OutputIteratorT to = d_out + first;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      if constexpr (writes_vectors) {
        if (by_vectors && position(row) + lane_items <= left) {
          *reinterpret_cast<vector_of_lane<output>*>(to + position(row)) = pack(row);
          continue;
        }
      }
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        if (position(row) + i < left) parts::store(to + (position(row) + i), items[row][i]);
    }
  }

  // From shared memory: by vectors where the items lie aligned to 16 bytes, else item by item.
  __device__ void load_shared(const input* from, bool by_vectors) {
    if constexpr (reads_vectors) {
      if (by_vectors) {
        load_vectors(from);
        return;
      }
    }
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i) items[row][i] = static_cast<T>(from[position(row) + i]);
  }
  // Replaces what stands behind the first `left` items by the identity.
  template <class ScanOpT>
  __device__ void mask(int left, ScanOpT) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        if (position(row) + i >= left) items[row][i] = ScanOpT::template identity<T>();
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

  // What precedes each of a lane's rows in the warp. All the shuffles of a scan are in here, none in finish(), so this
  // can be done before what precedes the warp is known.
  struct lane_prefixes {
    T of_rows[num_rows];
  };
  template <class ScanOpT>
  __device__ lane_prefixes scan_lanes(ScanOpT scan_op) const {
    lane_prefixes lanes;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) lanes.of_rows[row] = fold<T, 0, lane_items>(items[row], scan_op);
    // Row by row would be one chain of dependent shuffles; step by step, the rows' chains run side by side.
    const int lane = threadIdx.x % warp_threads;
#pragma unroll
    for (int offset = 1; offset < warp_threads; offset *= 2) {
#pragma unroll
      for (int row = 0; row < num_rows; ++row) {
        const T left = shuffle_up(lanes.of_rows[row], offset);
        if (is_idempotent<ScanOpT> || lane >= offset) lanes.of_rows[row] = scan_op(left, lanes.of_rows[row]);
      }
    }
    T rows_before = ScanOpT::template identity<T>();
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const T of_row = shuffle_from(lanes.of_rows[row], warp_threads - 1);
      const T left = shuffle_up(lanes.of_rows[row], 1);
      lanes.of_rows[row] = lane == 0 ? rows_before : scan_op(rows_before, left);
      rows_before = scan_op(rows_before, of_row);
    }
    return lanes;
  }

  // Makes every item the aggregate of `before` and the warp's items up to it: with it, or for an exclusive scan
  // without.
  template <scan_kind kind, class ScanOpT>
  __device__ void finish(const lane_prefixes& lanes, const T& before, ScanOpT scan_op) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      T prefix = scan_op(before, lanes.of_rows[row]);
#pragma unroll
      for (int i = 0; i < lane_items; ++i) {
        const T next = scan_op(prefix, items[row][i]);
        items[row][i] = kind == scan_kind::inclusive ? next : prefix;
        prefix = next;
      }
    }
  }
  template <scan_kind kind, class ScanOpT>
  __device__ void scan(const T& before, ScanOpT scan_op) {
    finish<kind>(scan_lanes(scan_op), before, scan_op);
  }

 protected:
  template <class Item>
  struct alignas(lane_items * sizeof(Item)) vector_of_lane {
    Item items[lane_items];
  };

  // How many of the warp's items are there.
  static __device__ int present(std::size_t first, std::size_t num_items) {
    return first < num_items ? static_cast<int>(at_most(num_items - first, warp_items)) : 0;
  }

  // The lane's vector in a row.
  template <class Item>
  static __device__ auto& vector_at(Item* from, int row) {
    using vector = vector_of_lane<std::remove_const_t<Item>>;
    return *reinterpret_cast<std::conditional_t<std::is_const_v<Item>, const vector, vector>*>(from + position(row));
  }

  template <class Iterator>
  __device__ void load_vectors(Iterator from) {
    if constexpr (reads_vectors) {
      vector_of_lane<input> loaded[num_rows];
#pragma unroll
      for (int row = 0; row < num_rows; ++row)
        loaded[row] = *reinterpret_cast<const vector_of_lane<input>*>(from + position(row));
#pragma unroll
      for (int row = 0; row < num_rows; ++row) unpack(row, loaded[row]);
    }
  }

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

// The same rows where there is nothing but whole vectors: a short straight path. Where a kernel runs for microseconds,
// its instructions come from DRAM as its items do.
template <class Rows>
struct whole_vectors : Rows {
  using typename Rows::accumulator;
  static constexpr bool is_whole = true;

  template <class ScanOpT>
  __device__ void load_present(typename Rows::input_iterator d_in, std::size_t first, std::size_t num_items, bool,
                               ScanOpT) {
    const int left = Rows::present(first, num_items);
    typename Rows::template vector_of_lane<typename Rows::input> loaded[Rows::rows_of_warp];
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row)
      if (Rows::position(row) < left)
        loaded[row] = Rows::template vector_at<const typename Rows::input>(d_in + first, row);
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row) {
      if (Rows::position(row) < left)
        this->unpack(row, loaded[row]);
      else
        for (accumulator& item : this->items[row]) item = ScanOpT::template identity<accumulator>();
    }
  }
  __device__ void store_present(typename Rows::output_iterator d_out, std::size_t first, std::size_t num_items,
                                bool) const {
    const int left = Rows::present(first, num_items);
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row)
      if (Rows::position(row) < left)
        Rows::template vector_at<typename Rows::output>(d_out + first, row) = this->pack(row);
  }
};

// Calls call(type<...>) with whole_vectors<Rows> where that will do, else with Rows or what else there is for the rest.
template <class Rows, class Otherwise = Rows, class Call>
cudaError_t with_rows(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out, std::size_t num_items,
                      Call call) {
  if constexpr (Rows::reads_vectors && Rows::writes_vectors) {
    if (Rows::vectorised(d_in, d_out) && num_items % Rows::lane_items == 0) return call(type<whole_vectors<Rows>>{});
  }
  return call(type<Otherwise>{});
}

// What is aggregated before warp `warp` of a block, from the aggregates that each warp left in shared memory.
template <int num_warps, class T, class ScanOpT>
__device__ T before_warp(const T* warp_aggregates, int warp, ScanOpT scan_op) {
  static_assert(num_warps <= warp_threads);
  const int lane = threadIdx.x % warp_threads;
  return warp_aggregate(lane < warp ? warp_aggregates[lane] : ScanOpT::template identity<T>(), scan_op);
}

}  // namespace rungs::v0::parts
