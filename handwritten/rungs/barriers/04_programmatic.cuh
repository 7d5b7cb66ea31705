// Rung 4. Each kernel may start while the one before it still runs, and waits for its words only (programmatic
// dependent launch, sm_90 and later). Against 03_kernels: what a launch costs before its first instruction overlaps
// with the kernel before.
#pragma once

#include "rungs/parts/capability.cuh"
#include "rungs/parts/phase_calls.cuh"
#include "rungs/parts/shared_launch.cuh"

namespace rungs::RUNGS_ABI::barriers {

template <class Word>
__global__ void overlapped_first_words_kernel(Word* words, parts::phase_chain chain) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  words[own] = chain.first_word(own);
}
// The wait ends when the kernel before is done and its words are seen; that one has waited in the same way, so nobody
// still reads what is written here.
template <class Word>
__global__ void overlapped_phase_kernel(const Word* shown, Word* words, unsigned phase, parts::phase_chain chain) {
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x, neighbour = chain.neighbour_of(own);
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  words[own] = chain.next_word(shown[neighbour], phase);
}

struct programmatic : parts::phase_calls<programmatic> {
  static constexpr auto idea = "a kernel for each phase, started while the one before still runs";
  static constexpr int block_threads = 256, min_cc = 90;
  static constexpr std::size_t max_items = 16384;  // launches
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t) { return num_blocks > 1; }
  static constexpr std::size_t room_for(std::size_t participants) { return participants * sizeof(unsigned); }

  static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    unsigned* const both[] = {d_words, reinterpret_cast<unsigned*>(region)};
    const auto written_in = [&](unsigned phase) { return both[(num_phases - phase) % 2]; };
    cudaError_t error = parts::require(min_cc);
    // The first one waits for all earlier work of the stream, as any launch does.
    if (error == cudaSuccess)
      error = parts::launch(overlapped_first_words_kernel<unsigned>, chain.num_blocks, chain.num_threads, stream,
                            written_in(0), chain);
    for (unsigned phase = 1; phase <= num_phases && error == cudaSuccess; ++phase)
      error = parts::launch_overlapped(overlapped_phase_kernel<unsigned>, chain.num_blocks, chain.num_threads, 0, true,
                                       stream, written_in(phase - 1), written_in(phase), phase, chain);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
