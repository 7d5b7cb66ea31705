// Scanning over the 32 lanes of a warp. Unlike warp_reduce, all of this keeps the order of the lanes, for operators
// that do not commute.
#pragma once

#include <cstring>

#include "rungs/parts/warp.cuh"

namespace rungs::v0::parts {

// Operators whose operands may be swapped; any other functor is taken at its order.
template <class Op>
inline constexpr bool is_commutative =
    std::is_same_v<Op, plus> || std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum>;

// Moves any trivially copyable value between lanes, word by word.
template <class T, class Move>
__device__ T by_words(const T& value, Move move) {
  if constexpr (std::is_arithmetic_v<T> && sizeof(T) >= 4) {
    return move(value);
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "items travel between lanes bit by bit");
    unsigned words[(sizeof(T) + 3) / 4] = {};
    T moved;
    memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = move(word);
    memcpy(&moved, words, sizeof(T));
    return moved;
  }
}
template <class T>
__device__ T shuffle_up(const T& value, int offset) {
  return by_words(value, [=](auto word) { return __shfl_up_sync(full_mask, word, offset); });
}
template <class T>
__device__ T shuffle_xor(const T& value, int mask) {
  return by_words(value, [=](auto word) { return __shfl_xor_sync(full_mask, word, mask); });
}
template <class T>
__device__ T shuffle_from(const T& value, int lane) {
  return by_words(value, [=](auto word) { return __shfl_sync(full_mask, word, lane); });
}

// Which warp of the block the caller's is, told by one lane to all: so the compiler knows that a branch on it does not
// part the warp, and keeps shuffles behind it in line.
__device__ inline int warp_of_block() {
  return __shfl_sync(full_mask, static_cast<int>(threadIdx.x) / warp_threads, 0);
}

// The aggregate of the values of lanes 0 to the caller's.
template <class T, class ScanOpT>
__device__ T warp_scan(T value, ScanOpT scan_op) {
  const int lane = threadIdx.x % warp_threads;
#pragma unroll
  for (int offset = 1; offset < warp_threads; offset *= 2) {
    const T before = shuffle_up(value, offset);
    if (lane >= offset) value = scan_op(before, value);
  }
  return value;
}

// The aggregate of all lanes' values, the same bits in every lane.
template <class T, class ScanOpT>
__device__ T warp_aggregate(T value, ScanOpT scan_op) {
  if constexpr (has_redux && sizeof(T) == 4 && std::is_integral_v<T> && is_commutative<ScanOpT>) {
    return warp_reduce(value, scan_op);  // one instruction, which answers every lane
  } else if constexpr (is_commutative<ScanOpT>) {
#pragma unroll
    for (int mask = 1; mask < warp_threads; mask *= 2) value = scan_op(value, shuffle_xor(value, mask));
    return value;
  } else {
#pragma unroll
    for (int offset = 1; offset < warp_threads; offset *= 2) value = scan_op(value, shuffle_down(value, offset));
    return shuffle_from(value, 0);
  }
}

}  // namespace rungs::v0::parts
