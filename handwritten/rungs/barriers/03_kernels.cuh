// Rung 3. The end of a kernel is the barrier: each phase is a launch of its own, and the stream orders them.
// Against 02_grid: any number of blocks, and nobody spins; but all of them start anew. Captured in a graph, each launch
// is a node.
#pragma once

#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::barriers {

template <class Word>
__global__ void first_words_kernel(Word* words, parts::phase_chain chain) {
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  words[own] = chain.first_word(own);
}
template <class Word>
__global__ void phase_kernel(const Word* shown, Word* words, unsigned phase, parts::phase_chain chain) {
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  words[own] = chain.next_word(shown[chain.neighbour_of(own)], phase);
}

struct kernels : parts::phase_calls<kernels> {
  static constexpr auto idea = "a kernel for each phase";
  static constexpr int block_threads = 256;
  static constexpr std::size_t max_items = 16384;  // launches
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t) { return num_blocks > 1; }
  static constexpr std::size_t room_for(std::size_t participants) { return participants * sizeof(unsigned); }

  // The last phase writes d_words, the one before it the workspace, and so on in turn.
  static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    unsigned* const both[] = {d_words, reinterpret_cast<unsigned*>(region)};
    const auto written_in = [&](unsigned phase) { return both[(num_phases - phase) % 2]; };
    cudaError_t error =
        parts::launch(first_words_kernel<unsigned>, chain.num_blocks, chain.num_threads, stream, written_in(0), chain);
    for (unsigned phase = 1; phase <= num_phases && error == cudaSuccess; ++phase)
      error = parts::launch(phase_kernel<unsigned>, chain.num_blocks, chain.num_threads, stream, written_in(phase - 1),
                            written_in(phase), phase, chain);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
