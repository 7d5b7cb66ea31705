// The call that the study of barriers' rungs share: a chain of phases, each of which ends when everyone is there.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/contract.cuh"
#include "rungs/parts/chains.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

// Kernels in the rungs are templates of the word: a header may be included by many units.
//
// Words are shown in two places in turn: while some still read those of a phase, others already write those of the
// next. Nobody can be two phases ahead, so one barrier a phase is enough.
//
// A block's own phases, in shared memory; `meet` is the barrier.
template <int most_threads, class Meet>
__device__ void block_phases(unsigned* d_words, unsigned num_phases, const phase_chain& chain, Meet meet) {
  __shared__ unsigned shown[2][most_threads];
  const unsigned neighbour = chain.neighbour_of(threadIdx.x);
  unsigned word = chain.first_word(threadIdx.x);
#pragma unroll 1
  for (unsigned phase = 1; phase <= num_phases; ++phase) {
    shown[phase & 1][threadIdx.x] = word;
    meet();
    word = chain.next_word(shown[phase & 1][neighbour], phase);
  }
  d_words[threadIdx.x] = word;
}

// A grid's, in memory: `shown` has room for everyone's words twice.
template <class Meet>
__device__ void grid_phases(unsigned* d_words, unsigned* shown, unsigned num_phases, const phase_chain& chain,
                            Meet meet) {
  const unsigned participants = chain.participants(), own = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned neighbour = chain.neighbour_of(own);
  unsigned word = chain.first_word(own);
#pragma unroll 1
  for (unsigned phase = 1; phase <= num_phases; ++phase) {
    unsigned* const words = shown + (phase & 1) * participants;
    words[own] = word;
    meet(phase);
    word = chain.next_word(words[neighbour], phase);
  }
  d_words[own] = word;
}

inline constexpr std::size_t most_participants = std::size_t{1} << 24;

// A rung derives from phase_calls<rung> and writes:
//
//   static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads);
//   static constexpr std::size_t room_for(std::size_t participants);  // bytes of workspace; left out: none
//   static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const phase_chain& chain,
//                              cudaStream_t stream);
template <class Rung>
struct phase_calls {
  static constexpr std::size_t max_items = most_links;
  static constexpr bool deterministic = true;
  static constexpr int items_per_thread = 1;
  static constexpr std::size_t room_for(std::size_t) { return 0; }

  // num_phases phases of num_blocks * num_threads participants, each of which writes its last word.
  // cudaErrorInvalidValue for participants that the rung does not take.
  static cudaError_t pass(void* d_temp_storage, std::size_t& temp_storage_bytes, unsigned* d_words,
                          std::size_t num_blocks, std::size_t num_threads, std::size_t num_phases, unsigned seed,
                          cudaStream_t stream = nullptr) {
    char* region;
    cudaError_t error;
    const bool sound = num_blocks > 0 && num_threads > 0 && num_threads <= 1024 &&
                       num_blocks <= most_participants / num_threads && num_phases <= Rung::max_items;
    if (!sound || !Rung::takes_group(num_blocks, num_threads)) return cudaErrorInvalidValue;
    if (answered(d_temp_storage, temp_storage_bytes, Rung::room_for(num_blocks * num_threads), region, error))
      return error;
    const phase_chain chain{static_cast<unsigned>(num_blocks), static_cast<unsigned>(num_threads), seed};
    return Rung::enqueue(region, d_words, static_cast<unsigned>(num_phases), chain, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
