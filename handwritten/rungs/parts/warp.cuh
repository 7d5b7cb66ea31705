// Reducing over the 32 lanes of a warp.
#pragma once

#include <cstring>
#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr int warp_threads = 32;
inline constexpr unsigned full_mask = 0xffffffffu;

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
__device__ T shuffle_down(const T& value, int offset) {
  return by_words(value, [=](auto word) { return __shfl_down_sync(full_mask, word, offset); });
}

// Since sm_80 a warp reduces 32-bit integers in one instruction.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
inline constexpr bool has_redux = true;
#else
inline constexpr bool has_redux = false;
#endif

// The aggregate of the first `lanes` values (a power of two) of the warp, valid in lane 0. All 32 lanes call it.
template <int lanes = warp_threads, class T, class ReductionOpT>
__device__ T warp_reduce(T value, ReductionOpT reduction_op) {
  static_assert(lanes > 0 && lanes <= warp_threads && (lanes & (lanes - 1)) == 0);
  constexpr bool redux = has_redux && lanes == warp_threads && sizeof(T) == 4 && std::is_integral_v<T>;
  if constexpr (redux && std::is_same_v<ReductionOpT, plus>) {
    return __reduce_add_sync(full_mask, value);
  } else if constexpr (redux && std::is_same_v<ReductionOpT, minimum>) {
    return __reduce_min_sync(full_mask, value);
  } else if constexpr (redux && std::is_same_v<ReductionOpT, maximum>) {
    return __reduce_max_sync(full_mask, value);
  } else {
#pragma unroll
    for (int offset = lanes / 2; offset > 0; offset /= 2) value = reduction_op(value, shuffle_down(value, offset));
    return value;
  }
}

}  // namespace rungs::RUNGS_ABI::parts
