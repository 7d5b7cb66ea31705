// Rung 2. The blocks of a cooperative launch wait for each other: one thread of each adds to a counter in memory and
// reads it until all have.
// Against 01_block: every barrier is an atomic and a load that travel to the L2 and back, between two barriers of the
// block. All blocks have to be resident at once: the launch is refused where they are not.
#pragma once

#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::barriers {

// The counter only grows, so that nobody has to set it back between two phases; it may wrap around.
inline __device__ void meet_grid(unsigned* arrivals, unsigned phase) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned all = phase * gridDim.x;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrivals) : "memory");
    unsigned arrived;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(arrivals) : "memory");
    } while (static_cast<int>(arrived - all) < 0);
  }
  __syncthreads();
}

template <class Word>
__global__ void __launch_bounds__(256)
    grid_kernel(Word* d_words, unsigned* shown, unsigned* arrivals, unsigned num_phases, parts::phase_chain chain) {
  parts::grid_phases(d_words, shown, num_phases, chain, [=](unsigned phase) { meet_grid(arrivals, phase); });
}

struct grid : parts::phase_calls<grid> {
  static constexpr auto idea = "a cooperative launch whose blocks count themselves in memory";
  static constexpr int block_threads = 256, blocks_per_multiprocessor = 8;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    return num_blocks > 1 && num_threads <= block_threads;
  }
  static constexpr std::size_t room_for(std::size_t participants) {
    return parts::storage_alignment + 2 * participants * sizeof(unsigned);
  }

  static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    const auto arrivals = reinterpret_cast<unsigned*>(region);
    const auto shown = reinterpret_cast<unsigned*>(region + parts::storage_alignment);
    const cudaError_t error = cudaMemsetAsync(arrivals, 0, sizeof *arrivals, stream);
    if (error != cudaSuccess) return error;
    return parts::launch_cooperatively(grid_kernel<unsigned>, chain.num_blocks, chain.num_threads, 0, stream, d_words,
                                       shown, arrivals, num_phases, chain);
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
