// Rung 0. Atomics in the shared memory of another block of the cluster.
// Against atomics/07_shared: the same room, the same start and the same end, but a thread changes the values of the
// next block in its cluster, so every operation crosses from one multiprocessor to another. What that costs is the
// price of a scope between a block's own memory and the L2. Floats are added by a loop of compare-and-swaps. Integers
// of 64 bits and pairs of halves are left out: where the hardware refuses their atomic on a peer's memory, what ptxas
// of CUDA 13.0 puts in its place is a load, an addition and a store, which is none.
#pragma once

#include <type_traits>

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"

namespace rungs::RUNGS_ABI::cluster::atomics {

template <class Op, class T>
__global__ void remote_shared_kernel(T* d_values, parts::updates work, Op op) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ unsigned long long shared_words[];
  T* const values = reinterpret_cast<T*>(shared_words);
  T* const values_of_next = parts::of_rank(values, (parts::block_rank() + 1) % parts::num_blocks());
  parts::set_all(values, work.num_addresses, parts::updates::start<Op, T>());
  parts::meet();
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = thread; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    parts::native_update(values_of_next + work.address_of(bits), work.value_of<Op, T>(i, bits), op);
  }
  parts::meet();
  parts::send_all(values, work.num_addresses, d_values, op);
#endif
}

struct remote_shared : parts::update_calls<remote_shared> {
  static constexpr auto idea = "atomics in the shared memory of the next block of the cluster";
  static constexpr int block_threads = 1024, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 2, max_addresses = 4096;
  static constexpr int cluster_blocks = parts::portable_cluster_blocks;
  static constexpr bool deterministic = false;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::has_native<Op, T> &&
                                (std::is_floating_point_v<T> || (std::is_integral_v<T> && sizeof(T) == 4));

  // Returns cudaErrorNotSupported where the device has no clusters.
  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    const auto kernel = remote_shared_kernel<Op, T>;
    const parts::cluster_shape shape{cluster_blocks, block_threads, work.num_addresses * sizeof(T)};
    std::size_t most_clusters;
    if (const cudaError_t error = parts::resident_clusters(kernel, shape, most_clusters)) return error;
    return parts::launch_clusters(kernel, parts::at_most(parts::ceil_div(grid_blocks, cluster_blocks), most_clusters),
                                  shape, stream, d_values, work, op);
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::atomics
