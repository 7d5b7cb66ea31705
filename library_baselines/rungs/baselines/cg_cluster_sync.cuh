// One cluster for the whole input by cg::this_cluster(): each block reduces its share, the first block reads the other
// blocks' aggregates out of their shared memory, through map_shared_rank, between two barriers of the cluster. The
// second one keeps a block from leaving while its shared memory is still read. Against
// cluster/reductions/00_remote_stores the aggregates are fetched instead of sent, and everybody waits twice.
#pragma once

#include <cooperative_groups.h>

#include "rungs/baselines/parts/tiles.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/cluster/parts/launch.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <int block_threads, class T, class LibraryOpT>
__global__ void __launch_bounds__(block_threads)
    cg_cluster_sync_kernel(const T* d_in, std::size_t num_items, T* d_out, T init, T identity, LibraryOpT library_op) {
#if __CUDA_ARCH__ >= 900
  namespace cg = cooperative_groups;
  __shared__ T block_aggregate;
  const auto cluster = cg::this_cluster();
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  T value = parts::thread_aggregate(d_in, num_items, identity, library_op);
  value = parts::reduce_by_tiles<32, block_threads>(value, library_op);
  if (threadIdx.x == 0) block_aggregate = value;
  cluster.sync();
  if (cluster.block_rank() == 0 && tile.meta_group_rank() == 0) {
    const unsigned peer = tile.thread_rank();
    if (peer > 0) value = peer < cluster.num_blocks() ? *cluster.map_shared_rank(&block_aggregate, peer) : identity;
    value = cg::reduce(tile, value, cooperative_operator<T>(library_op));
    if (peer == 0) *d_out = library_op(init, value);
  }
  cluster.sync();
#endif
}

struct cg_cluster_sync {
  static constexpr auto idea = "one cluster, whose first block reads its peers' aggregates through map_shared_rank";
  static constexpr int block_threads = 512, items_per_thread = 4 * parts::two_kernels_unroll;
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  // A cluster has eight blocks at least before its threads pass over their items twice.
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (block_threads * cluster::parts::portable_cluster_blocks) + 128;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto library_op = parts::library_operator<ReductionOpT, T, T>(reduction_op);
    const auto kernel = cg_cluster_sync_kernel<block_threads, T, std::remove_const_t<decltype(library_op)>>;
    char* unused;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    constexpr std::size_t block_items = block_threads * items_per_thread;
    int cluster_blocks = cluster::parts::least_cluster_blocks;
    while (cluster_blocks < cluster::parts::greatest_cluster_blocks && cluster_blocks * block_items < num_items)
      cluster_blocks *= 2;
    error = cluster::parts::fit_cluster(kernel, block_threads, cluster_blocks);
    if (error != cudaSuccess) return error;
    return cluster::parts::launch_clusters(kernel, 1, {cluster_blocks, block_threads}, stream, d_in, num_items, d_out,
                                           init, ReductionOpT::template identity<T>(), library_op);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
