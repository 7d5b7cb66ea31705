// Rung 2. The peers store their aggregates into block 0's shared memory, and one barrier of the cluster says that they
// are there. Against 01_read_peers: the values travel one way, before the barrier and not behind it, and block 0 reads
// its own memory. Nobody's memory is read by another block, so no barrier has to keep the peers from ending. The
// barrier that says that block 0 has started is arrived at before the loads and waited for behind them.
#pragma once

#include "rungs/cluster/parts/one_cluster.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/block.cuh"

namespace rungs::RUNGS_ABI::cluster::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads)
    push_and_wait_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                         ReductionOpT reduction_op, T init) {
#if __CUDA_ARCH__ >= 900
  __shared__ T inbox[parts::greatest_cluster_blocks];
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), lane = threadIdx.x;
  parts::arrive_started();
  T value = rank == 0 && threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, rank, cluster_blocks, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  parts::wait();
  if (rank != 0 && threadIdx.x == 0) *parts::of_rank(inbox + rank, 0) = value;
  parts::meet();
  if (rank != 0 || threadIdx.x >= parts::warp_threads) return;
  if (lane > 0) value = lane < cluster_blocks ? inbox[lane] : ReductionOpT::template identity<T>();
  value = parts::warp_reduce(value, reduction_op);
  if (lane == 0) *d_out = value;
#endif
}

template <int cluster_blocks>
struct push_and_wait_of : parts::one_cluster<push_and_wait_of<cluster_blocks>, cluster_blocks> {
  static constexpr auto idea = "one cluster, whose blocks store their aggregates into block 0 before they meet";
  template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel = push_and_wait_kernel<Tile, OutputIteratorT, ReductionOpT, T>;
};

using push_and_wait = push_and_wait_of<parts::any_size>;
using push_and_wait_1 = push_and_wait_of<1>;
using push_and_wait_2 = push_and_wait_of<2>;
using push_and_wait_4 = push_and_wait_of<4>;
using push_and_wait_8 = push_and_wait_of<8>;
using push_and_wait_16 = push_and_wait_of<16>;

}  // namespace rungs::RUNGS_ABI::cluster::reductions
