// How a window is laid out. Zeros before its first use; its calls keep it in order.
//
//   counter     64 bits: the steps of all calls so far (the upper 52), and the blocks of the call under way that are
//               done (the lower 12)
//   aggregates  what the blocks of a call leave for the last of them
//   flags       64 bits for each block, kind of flag and source: the step after the last that the source has announced.
//               Each word has one writer
//   lines       two halves, in each one place for every source: tagged lines (lines.cuh), and nothing else
//   staging     two halves: data of any bits, announced by flags
//
// Steps are numbered alike on all ranks, from call to call, and use the halves by turns. Why a half is free when it is
// written again, two steps later: within a step every rank hears from every other one, directly or by another. What it
// hears was sent after the other one had ended the step before.
#pragma once

#include <cstddef>

#include "rungs/across/member.cuh"

namespace rungs::RUNGS_ABI::across::parts {

using word = unsigned long long;

inline constexpr int block_bits = 12;  // of the counter
inline constexpr word step_mask = ~word{0} >> block_bits;
static_assert(most_blocks < 1 << block_bits);

inline constexpr int kinds_of_flags = 2 * max_ranks;
inline constexpr std::size_t counter_bytes = 256;
inline constexpr std::size_t aggregate_bytes = 8;
inline constexpr std::size_t line_bytes = 16, line_payload = 8;

__host__ __device__ constexpr std::size_t aggregates_at() { return counter_bytes; }
__host__ __device__ constexpr std::size_t flags_at() { return aggregates_at() + most_blocks * aggregate_bytes; }
__host__ __device__ constexpr std::size_t flags_of_block() { return kinds_of_flags * max_ranks; }
__host__ __device__ constexpr std::size_t lines_at(int num_blocks) {
  return flags_at() + num_blocks * flags_of_block() * sizeof(word);
}
// A rank keeps no place for what it sends to itself. One rank alone has places that it never uses.
__host__ __device__ constexpr int sources(int num_ranks) { return num_ranks > 1 ? num_ranks - 1 : 1; }
__host__ __device__ constexpr int place_of(int source, int at) { return source < at ? source : source - 1; }
__host__ __device__ constexpr std::size_t lines_of_source(std::size_t tagged_bytes) {
  return tagged_bytes / line_payload;
}
__host__ __device__ constexpr std::size_t staging_at(int num_ranks, int num_blocks, std::size_t tagged_bytes) {
  return lines_at(num_blocks) + 2 * sources(num_ranks) * lines_of_source(tagged_bytes) * line_bytes;
}
__host__ __device__ constexpr std::size_t window_bytes(int num_ranks, int num_blocks, std::size_t tagged_bytes,
                                                       std::size_t staging_bytes) {
  return staging_at(num_ranks, num_blocks, tagged_bytes) + staging_bytes;
}

// Least sizes: a line for every digit of an exact sum, and a vector for every place that a block needs.
inline constexpr std::size_t least_tagged_bytes = 4096, least_staging_of_block = 1024;
inline constexpr std::size_t size_unit = 512;  // sizes are multiples of it

}  // namespace rungs::RUNGS_ABI::across::parts
