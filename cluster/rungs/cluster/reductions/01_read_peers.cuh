// Rung 1. One cluster for the whole input. Each block leaves its aggregate in its own shared memory, the cluster meets,
// and block 0 reads its peers' memory, a lane each.
// The text-book form of a cluster's reduction (claim C11), with two barriers of the cluster: one before the reads, so
// that the aggregates are there, and one behind them, because a block that has ended has no memory any more. Every read
// is a round trip between multiprocessors, between the two. Against 00_remote_stores, which takes the cluster's size
// from the input: one shape of block, and any size, so that sizes can be compared. No workspace, no global atomics.
#pragma once

#include "rungs/cluster/parts/one_cluster.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/block.cuh"

namespace rungs::RUNGS_ABI::cluster::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads)
    read_peers_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                      ReductionOpT reduction_op, T init) {
#if __CUDA_ARCH__ >= 900
  __shared__ T aggregate;
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), lane = threadIdx.x;
  T value = rank == 0 && threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, rank, cluster_blocks, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) aggregate = value;
  parts::meet();
  if (rank == 0 && threadIdx.x < parts::warp_threads) {
    if (lane > 0)
      value = lane < cluster_blocks ? *parts::of_rank(&aggregate, lane) : ReductionOpT::template identity<T>();
    value = parts::warp_reduce(value, reduction_op);
    if (lane == 0) *d_out = value;
  }
  parts::meet();
#endif
}

template <int cluster_blocks>
struct read_peers_of : parts::one_cluster<read_peers_of<cluster_blocks>, cluster_blocks> {
  static constexpr auto idea = "one cluster, whose block 0 reads the aggregates out of its peers' shared memory";
  template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel = read_peers_kernel<Tile, OutputIteratorT, ReductionOpT, T>;
};

using read_peers = read_peers_of<parts::any_size>;
using read_peers_1 = read_peers_of<1>;
using read_peers_2 = read_peers_of<2>;
using read_peers_4 = read_peers_of<4>;
using read_peers_8 = read_peers_of<8>;
using read_peers_16 = read_peers_of<16>;

}  // namespace rungs::RUNGS_ABI::cluster::reductions
