// cluster/barriers/00_cluster with cooperative groups' cluster: its barrier, and its way to a neighbour's shared
// memory.
#pragma once

#include <cooperative_groups.h>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::barriers {

template <class Word>
__global__ void __launch_bounds__(256) cg_cluster_kernel(Word* d_words, unsigned num_phases, parts::phase_chain chain) {
#if __CUDA_ARCH__ >= 900
  __shared__ unsigned shown[2][256];
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned own = cluster.block_rank() * blockDim.x + threadIdx.x;
  const unsigned neighbour = chain.neighbour_of(own);
  unsigned* const first = cluster.map_shared_rank(shown[0], neighbour / blockDim.x) + neighbour % blockDim.x;
  unsigned* const second = cluster.map_shared_rank(shown[1], neighbour / blockDim.x) + neighbour % blockDim.x;
  unsigned word = chain.first_word(own);
  cluster.sync();
#pragma unroll 1
  for (unsigned phase = 1; phase <= num_phases; ++phase) {
    shown[phase & 1][threadIdx.x] = word;
    cluster.sync();
    word = chain.next_word(phase & 1 ? *second : *first, phase);
  }
  d_words[own] = word;
  cluster.sync();  // nobody leaves while its neighbour may read its words
#endif
}

struct cg_cluster : parts::phase_calls<cg_cluster> {
  static constexpr auto idea = "this_cluster().sync(), words in each other's shared memory";
  static constexpr int block_threads = 256, min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    const bool power_of_two = (num_blocks & (num_blocks - 1)) == 0;
    return power_of_two && num_blocks >= cluster::parts::least_cluster_blocks &&
           num_blocks <= cluster::parts::greatest_cluster_blocks && num_threads <= block_threads;
  }

  static cudaError_t enqueue(char*, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    int cluster_blocks = static_cast<int>(chain.num_blocks);
    const cudaError_t error =
        cluster::parts::fit_cluster(cg_cluster_kernel<unsigned>, chain.num_threads, cluster_blocks);
    if (error != cudaSuccess) return error;
    if (cluster_blocks < static_cast<int>(chain.num_blocks)) return cudaErrorNotSupported;
    return cluster::parts::launch_clusters(cg_cluster_kernel<unsigned>, 1,
                                           {cluster_blocks, static_cast<int>(chain.num_threads)}, stream, d_words,
                                           num_phases, chain);
  }
};

}  // namespace rungs::RUNGS_ABI::barriers
