// Rung 1. The warps of a block wait for each other: __syncthreads.
// Against 00_warp: they arrive at a barrier of the multiprocessor's, which lets all of them go on.
#pragma once

#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::barriers {

template <class Word>
__global__ void __launch_bounds__(1024) block_kernel(Word* d_words, unsigned num_phases, parts::phase_chain chain) {
  parts::block_phases<1024>(d_words, num_phases, chain, [] { __syncthreads(); });
}

struct block : parts::phase_calls<block> {
  static constexpr auto idea = "__syncthreads";
  static constexpr int block_threads = 1024;
  static constexpr contents temp_storage = contents::none;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t) { return num_blocks == 1; }

  static cudaError_t enqueue(char*, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    return parts::launch(block_kernel<unsigned>, 1, chain.num_threads, stream, d_words, num_phases, chain);
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
