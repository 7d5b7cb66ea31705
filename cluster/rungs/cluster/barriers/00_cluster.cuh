// One cluster, whose blocks wait for each other at its own barrier and read their neighbours' words from each other's
// shared memory. Against barriers/02_grid: no atomic and no word travels to the L2; sixteen blocks at most.
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/parts/phase_calls.cuh"

namespace rungs::RUNGS_ABI::cluster::barriers {

// All threads meet once more in the end: nobody leaves while its neighbour may read its words.
template <class Word>
__global__ void __launch_bounds__(256) cluster_kernel(Word* d_words, unsigned num_phases, parts::phase_chain chain) {
#if __CUDA_ARCH__ >= 900
  __shared__ unsigned shown[2][256];
  const unsigned own = parts::block_rank() * blockDim.x + threadIdx.x;
  const unsigned neighbour = chain.neighbour_of(own);
  unsigned places[2];
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(places[i])
        : "r"(parts::shared_address(shown[i] + neighbour % blockDim.x)), "r"(neighbour / blockDim.x));
  unsigned word = chain.first_word(own);
  parts::arrive();
  parts::wait();  // every block runs
#pragma unroll 1
  for (unsigned phase = 1; phase <= num_phases; ++phase) {
    shown[phase & 1][threadIdx.x] = word;
    parts::arrive();
    parts::wait();
    unsigned neighbours;
    asm volatile("ld.shared::cluster.u32 %0, [%1];"
                 : "=r"(neighbours)
                 : "r"(phase & 1 ? places[1] : places[0])
                 : "memory");
    word = chain.next_word(neighbours, phase);
  }
  parts::arrive();
  d_words[own] = word;
  parts::wait();
#endif
}

struct cluster : parts::phase_calls<cluster> {
  static constexpr auto idea = "the barrier of a cluster, words in each other's shared memory";
  static constexpr int block_threads = 256, min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    const bool power_of_two = (num_blocks & (num_blocks - 1)) == 0;
    return power_of_two && num_blocks >= parts::least_cluster_blocks && num_blocks <= parts::greatest_cluster_blocks &&
           num_threads <= block_threads;
  }

  // cudaErrorNotSupported where the device has no clusters, or none of so many blocks.
  static cudaError_t enqueue(char*, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    int cluster_blocks = static_cast<int>(chain.num_blocks);
    const cudaError_t error = parts::fit_cluster(cluster_kernel<unsigned>, chain.num_threads, cluster_blocks);
    if (error != cudaSuccess) return error;
    if (cluster_blocks < static_cast<int>(chain.num_blocks)) return cudaErrorNotSupported;
    return parts::launch_clusters(cluster_kernel<unsigned>, 1, {cluster_blocks, static_cast<int>(chain.num_threads)},
                                  stream, d_words, num_phases, chain);
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::barriers
