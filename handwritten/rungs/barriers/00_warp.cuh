// Rung 0. The lanes of a warp wait for each other: __syncwarp, which also orders what they store and load.
#pragma once

#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::barriers {

template <class Word>
__global__ void __launch_bounds__(32) warp_kernel(Word* d_words, unsigned num_phases, parts::phase_chain chain) {
  parts::block_phases<32>(d_words, num_phases, chain, [] { __syncwarp(); });
}

struct warp : parts::phase_calls<warp> {
  static constexpr auto idea = "__syncwarp";
  static constexpr int block_threads = 32;
  static constexpr contents temp_storage = contents::none;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    return num_blocks == 1 && num_threads == 32;
  }

  static cudaError_t enqueue(char*, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    return parts::launch(warp_kernel<unsigned>, 1, 32, stream, d_words, num_phases, chain);
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
