// The work of the two studies of costs: a chain of collectives, each of which needs the result of the one before, and a
// chain of phases, in each of which everyone waits for everyone. What goes in is a pure function of a seed, so nothing
// is read, and whoever knows the functions can say what must come out. Plain C++: the oracles call them too.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr unsigned golden = 0x9E3779B1u;
// So many links take seconds; a counter of 32 bits holds them.
inline constexpr std::size_t most_links = std::size_t{1} << 30;

__host__ __device__ constexpr unsigned mixed(unsigned bits) {
  bits ^= bits >> 16;
  bits *= 0x7FEB352Du;
  return bits ^ bits >> 15;
}

// Collective k over num_threads threads: thread i brings value_of(i, k), a whole number of 14 bits and a sign,
// but one of them brings the negative of the result of collective k - 1. It is thread 0 of a reduction and the last one
// of a scan: the one to which a result that everybody has a part in comes. Values repeat once, so that the sums with
// alternating signs stay below 2^24 and floats are exact.
struct collective_chain {
  unsigned seed = 0;

  __host__ __device__ constexpr unsigned word_of(unsigned thread) const { return mixed(seed + thread * golden) | 1; }
  static __host__ __device__ constexpr int value_of(unsigned word, unsigned link) {
    return static_cast<int>(word * ((link >> 1) + 1)) >> 17;
  }
  // What is kept of all results: none can be wrong, left out or done twice, and the last one be right.
  static __host__ __device__ constexpr unsigned noted(unsigned note, int result) {
    return note * golden + static_cast<unsigned>(result);
  }
};

// Phase k: everyone shows a word, waits until everyone has, and makes the next one of its neighbour's. The neighbour is
// in the next block, and in another warp where there are more than two.
struct phase_chain {
  static constexpr unsigned distance = 33;  // between neighbours' threads
  unsigned num_blocks = 1, num_threads = 1, seed = 0;

  __host__ __device__ constexpr unsigned participants() const { return num_blocks * num_threads; }
  __host__ __device__ constexpr unsigned neighbour_of(unsigned i) const {
    const unsigned block = (i / num_threads + 1) % num_blocks, thread = (i + distance) % num_threads;
    return block * num_threads + thread;
  }
  __host__ __device__ constexpr unsigned first_word(unsigned i) const { return mixed(seed + i * golden); }
  static __host__ __device__ constexpr unsigned next_word(unsigned neighbours, unsigned phase) {
    return neighbours * golden + phase;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
