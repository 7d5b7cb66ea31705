// The items that are reduced and what must come out: whole numbers of which sums over eight ranks are exact in each
// type, so that any order of addition has one right answer.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "across/plan.hpp"

#if defined(__CUDACC__)
#define RUNGS_ACROSS_BOTH __host__ __device__
#else
#define RUNGS_ACROSS_BOTH
#endif

namespace rungs::bench::across_gpus {

// Splitmix64's finaliser over a counter.
RUNGS_ACROSS_BOTH inline std::uint64_t mixed(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

RUNGS_ACROSS_BOTH inline std::uint64_t word_of(std::uint64_t seed, int rank, std::uint64_t i) {
  return mixed(mixed(seed * 8 + static_cast<std::uint64_t>(rank)) + i);
}

// Of magnitude up to 2^20 in floats (eight of them sum below 2^24), up to 2^4 in bf16 (below 2^8) and any in integers.
// Where all items become one: up to 2^4. Their sums wander about zero, and stay far below 2^24 for 2^31 of them.
template <class T>
RUNGS_ACROSS_BOTH int whole_item(operation what, std::uint64_t seed, int rank, std::uint64_t i) {
  const std::uint64_t word = word_of(seed, rank, i);
  if constexpr (std::is_integral_v<T>)
    return static_cast<int>(static_cast<std::uint32_t>(word));
  else if (sizeof(T) == 2 || what == operation::reduce)
    return static_cast<int>(word % 33) - 16;
  else
    return static_cast<int>(word & ((1u << 21) - 1)) - (1 << 20);
}

// Of any size that a sum rounds: the sign, 8 binades and all bits of the fraction.
template <class T>
RUNGS_ACROSS_BOTH T rough_item(std::uint64_t seed, int rank, std::uint64_t i) {
  const std::uint64_t word = word_of(seed, rank, i);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint32_t>(word));
  } else {
    const float fraction = 1.0f + static_cast<float>(word >> 41) * 0x1p-23f;
    const float scaled = fraction * static_cast<float>(1 << ((word >> 1) & 7));
    return static_cast<T>((word & 1) != 0 ? -scaled : scaled);
  }
}

// The sum, or the greatest, of what all ranks have at i, of an all-reduce.
template <class T>
RUNGS_ACROSS_BOTH T expected_item(std::uint64_t seed, int num_ranks, bool is_sum, std::uint64_t i) {
  int all = whole_item<T>(operation::all_reduce, seed, 0, i);
  for (int rank = 1; rank < num_ranks; ++rank) {
    const int item = whole_item<T>(operation::all_reduce, seed, rank, i);
    all = is_sum ? all + item : (item > all ? item : all);
  }
  return static_cast<T>(static_cast<std::conditional_t<std::is_integral_v<T>, int, float>>(all));
}

// What is known of an output: how many items are not what they must be, and a digest of its bits and their places.
struct findings_of_items {
  unsigned long long wrong = 0, digest = 0;
  unsigned long long total = 0;  // of all items of all ranks, where they become one
};

RUNGS_ACROSS_BOTH inline std::uint64_t digest_of(std::uint64_t i, std::uint64_t bits) { return mixed(mixed(i) ^ bits); }

// Calls visit(T{}) for the type of a problem.
template <class Visit>
auto with_item(problem about, Visit visit) {
  if (about.type == catalog::scalar::f32) return visit(float{});
  if (about.type == catalog::scalar::bf16) return visit(__nv_bfloat16{});
  return visit(int{});
}

}  // namespace rungs::bench::across_gpus

#undef RUNGS_ACROSS_BOTH
