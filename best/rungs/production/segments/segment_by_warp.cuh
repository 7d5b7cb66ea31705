// A segment of more than 256 items, reduced by one warp: in the warp's own order, or to the bits of a block's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/fixed_segments.cuh"
#include "rungs/production/segments/pieces.cuh"
#include "rungs/production/segments/segment_chunks.cuh"

namespace rungs::RUNGS_ABI::production {

// Operators by which a T has the same bits in any order.
template <class T, class Op>
inline constexpr bool has_no_order = std::is_integral_v<T>&& parts::is_commutative<Op>;

// Pieces of a lane that are on their way at once, in the first launch of offset_segments.cuh.
template <class T>
inline constexpr unsigned tile_pieces_at_once = sizeof(T) > 4 ? 8 : 4;

// With these a warp's pieces begin where memory is aligned.
template <class T, class InputIteratorT, class Op>
inline constexpr bool may_begin_aligned = has_no_order<T, Op>&& pieces_of<InputIteratorT>::in_vectors&&
    std::is_arithmetic_v<typename pieces_of<InputIteratorT>::item>;

// The aggregate of more than 256 items, in the first lane of the warp.
template <class T, class InputIteratorT, class Op>
__device__ T reduce_by_warp(const InputIteratorT& items, unsigned size, const Op& op) {
  constexpr unsigned at_once = tile_pieces_at_once<T>;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  if constexpr (may_begin_aligned<T, InputIteratorT, Op>) {
    using share = share_of_items<parts::warp_threads, T, InputIteratorT, Op, at_once>;
    using item = typename share::item;
    const auto address = reinterpret_cast<std::uintptr_t>(pieces_of<InputIteratorT>::address(items));
    // Of the items before the first piece, the first lanes have one each.
    const unsigned before = (16 - static_cast<unsigned>(address % 16)) / sizeof(item) % share::piece_items;
    const unsigned num_behind = size - before;
    T value = share::reduce_aligned(items + static_cast<std::ptrdiff_t>(before), num_behind, lane, op);
    if (lane < before) value = op(static_cast<T>(items[static_cast<std::ptrdiff_t>(lane)]), value);
    return reduce_valid_lanes<parts::warp_threads>(value, share::num_valid(num_behind), op);
  } else {
    using share = share_of_items<parts::warp_threads, T, InputIteratorT, Op, at_once, at_once>;
    const T value = share::reduce(items, size, lane, op);
    return reduce_valid_lanes<parts::warp_threads>(value, share::num_valid(size), op);
  }
}

// A chunk by one warp, in the order of a block. Each lane does what threads lane, lane + 32 … of the block would do.
template <class T, class InputIteratorT, class Op>
struct chunk_by_warp {
  using share = share_of_items<segment_block_threads, T, InputIteratorT, Op, 8, 4>;
  using pieces = pieces_of<InputIteratorT>;
  using item = typename pieces::item;
  static constexpr unsigned piece_items = share::piece_items;
  // Whether a lane has all its values in registers. Then pieces come in the order of memory.
  static constexpr bool in_rows = pieces::in_vectors && sizeof(T) <= 8 && sizeof(item) >= 4;
  static constexpr unsigned row_pieces = segment_block_threads;
  static constexpr unsigned at_once = 4;

  // The aggregate of `size` items, at least one, in the first lane.
  static __device__ T reduce(const InputIteratorT& items, unsigned size, const Op& op) {
    const unsigned num_valid = share::num_valid(size);
    const auto valid_warps = static_cast<unsigned>(parts::ceil_div(num_valid, parts::warp_threads));
    return reduce_valid_lanes<segment_block_warps>(of_warps(items, size, num_valid, op), valid_warps, op);
  }

 private:
  // What the block's warps would have, in the first lanes.
  static __device__ T of_warps(const InputIteratorT& items, unsigned size, unsigned num_valid, const Op& op) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const auto valid_lanes = [=](unsigned warp) {
      const unsigned before = warp * parts::warp_threads;
      return num_valid > before ? num_valid - before : 0;
    };
    if constexpr (in_rows) {
      constexpr int distance = parts::warp_threads / segment_block_warps;
      T values[segment_block_warps];
      take_rows(values, items, size, op);
      const T value = reduce_valid_transposed<parts::warp_threads>(values, valid_lanes, op);
      return parts::shuffle_from(value, static_cast<int>(lane % segment_block_warps) * distance);
    } else {
      T of_warps;
#pragma unroll 1
      for (unsigned warp = 0; warp < segment_block_warps; ++warp) {
        const T value = share::reduce(items, size, warp * parts::warp_threads + lane, op);
        of_warps = with_chunk(of_warps, warp, reduce_valid_lanes<parts::warp_threads>(value, valid_lanes(warp), op));
      }
      return of_warps;
    }
  }

  static __device__ void take_rows(T (&values)[segment_block_warps], const InputIteratorT& items, unsigned size,
                                   const Op& op) {
    const unsigned lane = threadIdx.x % parts::warp_threads, whole = size / piece_items;
    if (reinterpret_cast<std::uintptr_t>(pieces::address(items)) % 16 == 0)
      take_pieces<true>(values, items, whole, op);
    else
      take_pieces<false>(values, items, whole, op);
    if (size % piece_items == 0 || lane != whole % parts::warp_threads) return;
    // The items behind the last whole piece.
    const unsigned its_warp = whole % row_pieces / parts::warp_threads;
    bool has_value = whole >= row_pieces;
    T value;
#pragma unroll
    for (unsigned warp = 0; warp < segment_block_warps; ++warp)
      if (warp == its_warp) value = values[warp];
#pragma unroll 1
    for (unsigned i = whole * piece_items; i < size; ++i) {
      const T next = static_cast<T>(items[static_cast<std::ptrdiff_t>(i)]);
      value = has_value ? op(value, next) : next;
      has_value = true;
    }
#pragma unroll
    for (unsigned warp = 0; warp < segment_block_warps; ++warp)
      if (warp == its_warp) values[warp] = value;
  }

  template <bool aligned>
  static __device__ void take_pieces(T (&values)[segment_block_warps], const InputIteratorT& items, unsigned whole,
                                     const Op& op) {
    unsigned row = 0;
#pragma unroll 1
    for (; row + row_pieces <= whole; row += row_pieces)
      take_row<aligned>(
          values, items, row, [](unsigned) { return true; }, op);
    if (row < whole)
      take_row<aligned>(
          values, items, row, [=](unsigned piece) { return piece < whole; }, op);
  }

  // The lane's pieces of a row that are there, which are the first ones.
  template <bool aligned, class IsThere>
  static __device__ void take_row(T (&values)[segment_block_warps], const InputIteratorT& items, unsigned row,
                                  IsThere is_there, const Op& op) {
    const unsigned first = row + threadIdx.x % parts::warp_threads;
#pragma unroll
    for (unsigned warp = 0; warp < segment_block_warps; warp += at_once) {
      parts::vector<item> loaded[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        const unsigned piece = first + (warp + k) * parts::warp_threads;
        if (is_there(piece)) loaded[k] = piece_at<aligned>(items, piece);
      }
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        const unsigned piece = first + (warp + k) * parts::warp_threads;
        if (!is_there(piece)) break;
        const T next = pieces::template fold<T>(loaded[k], items, piece * piece_items, op);
        values[warp + k] = row > 0 ? op(values[warp + k], next) : next;
      }
    }
  }

  template <bool aligned>
  static __device__ parts::vector<item> piece_at(const InputIteratorT& items, unsigned piece) {
    const item* const from = pieces::address(items) + std::size_t{piece} * piece_items;
    parts::vector<item> loaded;
    if constexpr (aligned) {
      const uint4 words = *reinterpret_cast<const uint4*>(from);
      memcpy(loaded.words, &words, sizeof(words));
    } else {
#pragma unroll
      for (unsigned i = 0; i < piece_items; ++i) {
        const item each = from[i];
        memcpy(reinterpret_cast<unsigned char*>(loaded.words) + i * sizeof(item), &each, sizeof(item));
      }
    }
    return loaded;
  }
};

// A segment of few chunks by one warp, to the bits of a block. Its aggregate in the first lane.
template <class T, unsigned chunk_items, class InputIteratorT, class Op>
__device__ T reduce_chunks_by_warp(InputIteratorT items, unsigned size, const Op& op) {
  if constexpr (has_no_order<T, Op>) {
    return reduce_by_warp<T>(items, size, op);
  } else {
    T of_chunks;  // one each
    unsigned chunk = 0;
#pragma unroll 1
    for (unsigned left = size; left > 0; ++chunk) {
      const auto chunk_size = static_cast<unsigned>(parts::at_most(left, chunk_items));
      of_chunks = with_chunk(of_chunks, chunk, chunk_by_warp<T, InputIteratorT, Op>::reduce(items, chunk_size, op));
      items = items + static_cast<std::ptrdiff_t>(chunk_size);
      left -= chunk_size;
    }
    return reduce_valid_lanes<parts::warp_threads>(of_chunks, chunk, op);
  }
}

}  // namespace rungs::RUNGS_ABI::production
