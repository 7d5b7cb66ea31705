// A plain reduction by one cluster in which one bug can be planted: every block leaves its aggregate in its
// own shared memory, the cluster meets, block 0 reads its peers, the cluster meets again.
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "wrong/bug.cuh"
#include "wrong/reduction_with.cuh"

namespace rungs::wrong {

inline constexpr int cluster_blocks = 4;

template <bug planted, class Input, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_in_cluster(const Input* d_in, std::size_t num_items, T* d_out, Op op, T init) {
#if __CUDA_ARCH__ >= 900
  namespace parts = cluster::parts;
  __shared__ T aggregate;
  const unsigned rank = parts::block_rank();
  T value = Op::template identity<T>();
  // Tile by tile in turn, so that the first is block 0's.
  for (std::size_t first = std::size_t(rank) * tile; first < num_items; first += std::size_t(cluster_blocks) * tile)
    for (std::size_t i = first + threadIdx.x; i < first + tile && i < num_items; i += block_threads)
      value = op(value, T(d_in[i]));
  value = block_total<bug::none>(value, op);
  if (threadIdx.x == 0 && (rank == 0 || planted == bug::init_in_every_block)) value = op(init, value);
  if constexpr (planted == bug::missing_cluster_barrier) {
    if (threadIdx.x == 0) *const_cast<volatile T*>(&aggregate) = Op::template identity<T>();
    parts::meet();
    if (rank != 0) dawdle();  // a slow block, so that the race is lost every time
  }
  if (threadIdx.x == 0) *const_cast<volatile T*>(&aggregate) = value;
  if constexpr (planted != bug::missing_cluster_barrier) parts::meet();
  if (rank == 0 && threadIdx.x == 0) {
    constexpr unsigned num_read = planted == bug::last_peer_dropped ? cluster_blocks - 1 : cluster_blocks;
    for (unsigned peer = 1; peer < num_read; ++peer)
      value = op(value, T(*const_cast<volatile T*>(parts::of_rank(&aggregate, peer))));
    *d_out = value;
  }
  parts::meet();
#endif
}

template <bug planted>
struct cluster_with : variant {
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) { return 64 + num_items / block_threads; }

  template <class Input, class T, class Op>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out,
                            std::size_t num_items, Op op, T init, cudaStream_t stream = nullptr) {
    if (d_temp_storage == nullptr) {
      temp_storage_bytes = 1;
      return cudaSuccess;
    }
    return cluster::parts::launch_clusters(reduce_in_cluster<planted, Input, T, Op>, 1, {cluster_blocks, block_threads},
                                           stream, d_in, num_items, d_out, op, init);
  }
};

}  // namespace rungs::wrong
