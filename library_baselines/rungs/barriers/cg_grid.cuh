// barriers/02_grid with cooperative groups' barrier of a grid, which keeps its counter in memory of the driver's.
#pragma once

#include <cooperative_groups.h>

#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::barriers {

template <class Word>
__global__ void __launch_bounds__(256)
    cg_grid_kernel(Word* d_words, unsigned* shown, unsigned num_phases, parts::phase_chain chain) {
  parts::grid_phases(d_words, shown, num_phases, chain, [](unsigned) { cooperative_groups::this_grid().sync(); });
}

struct cg_grid : parts::phase_calls<cg_grid> {
  static constexpr auto idea = "this_grid().sync()";
  static constexpr int block_threads = 256, blocks_per_multiprocessor = 8;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    return num_blocks > 1 && num_threads <= block_threads;
  }
  static constexpr std::size_t room_for(std::size_t participants) { return 2 * participants * sizeof(unsigned); }

  static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    return parts::launch_cooperatively(cg_grid_kernel<unsigned>, chain.num_blocks, chain.num_threads, 0, stream,
                                       d_words, reinterpret_cast<unsigned*>(region), num_phases, chain);
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
