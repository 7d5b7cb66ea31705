// Reducing and scanning over the lanes of a warp, or over some of them, values of any type in the order of the lanes:
// what the public collectives are made of. An operator and a type that are known take the parts of the rungs.
#pragma once

#include "rungs/device/parts/types.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::device {

// A value as it lies in shared memory.
template <class T>
using carried = std::conditional_t<is_carried<T>, T, boxed<T>>;

// Moves a value of any type between lanes, word by word, as CUB does.
template <class T, class Move>
__device__ T moved(const T& value, Move move) {
  if constexpr (is_carried<T>) {
    return parts::by_words(value, move);
  } else {
    unsigned words[(sizeof(T) + 3) / 4] = {};
    T there = value;
    memcpy(words, static_cast<const void*>(&value), sizeof(T));
    for (unsigned& word : words) word = move(word);
    memcpy(static_cast<void*>(&there), words, sizeof(T));
    return there;
  }
}

// Operators that take their operands in any order and name an identity: there, lanes without a value are padded.
template <class Op, class T>
inline constexpr bool is_padded = parts::is_commutative<Op>&& std::is_arithmetic_v<T> && sizeof(T) <= 8;
template <class Op, class T>
inline constexpr bool is_reduced_at_once = parts::has_redux&& is_padded<Op, T>&& std::is_integral_v<T> &&
                                           sizeof(T) == 4;

// Neighbouring lanes that work together, and which of them the caller is. Where not all of them are present, those that
// are not stand at the end.
template <int num_lanes_, bool all_present = true>
struct lanes {
  static_assert(num_lanes_ > 0 && num_lanes_ <= parts::warp_threads, "lanes of one warp");
  static constexpr int num_lanes = num_lanes_;
  static constexpr bool is_warp = num_lanes == parts::warp_threads && all_present;

  unsigned mask;    // of those that are present
  int first, rank;  // the lane of rank 0, and the caller's rank
};

// The caller's, where a warp is cut into as many groups of num_lanes lanes as there fit.
template <int num_lanes>
__device__ lanes<num_lanes> lanes_of_caller() {
  int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  const int first = num_lanes == parts::warp_threads ? 0 : lane / num_lanes * num_lanes;
  return {parts::full_mask >> (parts::warp_threads - num_lanes) << first, first, lane - first};
}

template <class T, class Lanes>
__device__ T from_rank(const T& value, Lanes at, int rank) {
  return moved(value, [=](auto word) { return __shfl_sync(at.mask, word, at.first + rank); });
}

// The aggregate of the values of the caller's rank to rank end - 1, for each caller its own end: the operator sees
// nothing but values in front of it, neighbours and in their order.
template <class T, class Op, class Lanes>
__device__ T reduce_until(T value, Op op, Lanes at, int end) {
#pragma unroll
  for (int offset = 1; offset < Lanes::num_lanes; offset *= 2) {
    const T after = moved(value, [=](auto word) { return __shfl_down_sync(at.mask, word, offset); });
    if (at.rank + offset < end) value = static_cast<T>(op(value, after));
  }
  return value;
}

// The aggregate of the values of ranks 0 to num_valid - 1, at rank 0 or everywhere; `whole` promises all lanes.
template <bool to_all, bool whole, class T, class Op, class Lanes>
__device__ T reduce_lanes(T value, Op op, Lanes at, int num_valid) {
  if constexpr (Lanes::is_warp && is_padded<Op, T>) {
    if (!whole && at.rank >= num_valid) value = Op::template identity<T>();
    if constexpr (to_all)
      return parts::warp_aggregate(value, op);
    else
      return parts::warp_reduce(value, op);
  } else {
    value = reduce_until(value, op, at, whole ? Lanes::num_lanes : num_valid);
    return to_all ? from_rank(value, at, 0) : value;
  }
}

__host__ __device__ constexpr int power_of_two_from(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// The aggregate of the first num_valid of num_values values in shared memory. A whole warp calls it; valid in its first
// lane, or in all.
template <bool to_all, int num_values, class T, class Op>
__device__ T reduce_shared(const carried<T>* values, int num_valid, Op op, lanes<parts::warp_threads> at) {
  constexpr int width = power_of_two_from(num_values);
  if constexpr (is_reduced_at_once<Op, T>) {
    return parts::warp_reduce(at.rank < num_valid ? values[at.rank] : Op::template identity<T>(), op);
  } else if constexpr (is_padded<Op, T>) {
    const int i = at.rank & (width - 1);
    T value = i < num_valid ? values[i] : Op::template identity<T>();
#pragma unroll
    for (int mask = 1; mask < width; mask *= 2) value = op(value, parts::shuffle_xor(value, mask));
    return value;
  } else {
    const T value = values[at.rank < num_valid ? at.rank : 0];
    const T aggregate = reduce_until(value, op, lanes<width>{at.mask, 0, at.rank}, num_valid);
    return to_all ? from_rank(aggregate, at, 0) : aggregate;
  }
}

// The aggregate of the values of rank 0 to the caller's. parts::warp_scan would count threadIdx.x, and blocks have
// three dimensions here. Unless `whole`, the operator sees values of ranks below `end` only, and other ranks get back
// their own.
template <bool whole = true, class T, class Op, class Lanes>
__device__ T scan_lanes(T value, Op op, Lanes at, int end = Lanes::num_lanes) {
  // A lane that has no neighbour so far up gets its own value, which these operators may take twice.
  constexpr bool takes_own = Lanes::num_lanes == parts::warp_threads && is_padded<Op, T> && parts::is_idempotent<Op>;
#pragma unroll
  for (int offset = 1; offset < Lanes::num_lanes; offset *= 2) {
    const T before = moved(value, [=](auto word) { return __shfl_up_sync(at.mask, word, offset); });
    if ((takes_own || at.rank >= offset) && (whole || at.rank < end)) value = static_cast<T>(op(before, value));
  }
  return value;
}

// The value of the rank before, anything for rank 0.
template <class T, class Lanes>
__device__ T from_before(const T& value, Lanes at) {
  return moved(value, [=](auto word) { return __shfl_up_sync(at.mask, word, 1); });
}

}  // namespace rungs::RUNGS_ABI::device
