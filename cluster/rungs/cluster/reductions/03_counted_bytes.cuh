// Rung 3. The peers' stores are asynchronous, and a barrier in block 0's shared memory counts their bytes.
// Against 02_push_and_wait: no barrier of the cluster behind the stores. A peer ends as soon as its store is on its
// way, and block 0 waits in its own memory, for just the bytes that it wants. Against 00_remote_stores: a value a block
// and not one a warp, so the block meets before it sends; which of the two is cheaper is a matter of the cluster's
// size.
#pragma once

#include "rungs/cluster/parts/one_cluster.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/block.cuh"

namespace rungs::RUNGS_ABI::cluster::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads)
    counted_bytes_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                         ReductionOpT reduction_op, T init) {
#if __CUDA_ARCH__ >= 900
  __shared__ T inbox[parts::greatest_cluster_blocks];
  __shared__ parts::phase_barrier barrier;
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), lane = threadIdx.x;
  if (rank == 0 && threadIdx.x < parts::warp_threads) parts::expect(barrier, (cluster_blocks - 1) * sizeof(T));
  parts::arrive_started();
  T value = rank == 0 && threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, rank, cluster_blocks, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  parts::wait();
  if (rank != 0 && threadIdx.x == 0) parts::store_remote(inbox + rank, barrier, 0, value);
  if (rank != 0 || threadIdx.x >= parts::warp_threads) return;
  barrier.wait_for_cluster(0);
  if (lane > 0) value = lane < cluster_blocks ? inbox[lane] : ReductionOpT::template identity<T>();
  value = parts::warp_reduce(value, reduction_op);
  if (lane == 0) *d_out = value;
#endif
}

template <int cluster_blocks>
struct counted_bytes_of : parts::one_cluster<counted_bytes_of<cluster_blocks>, cluster_blocks> {
  static constexpr auto idea = "one cluster, whose blocks store into block 0 asynchronously while it counts the bytes";
  template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
  static constexpr auto kernel = counted_bytes_kernel<Tile, OutputIteratorT, ReductionOpT, T>;
};

using counted_bytes = counted_bytes_of<parts::any_size>;
using counted_bytes_1 = counted_bytes_of<1>;
using counted_bytes_2 = counted_bytes_of<2>;
using counted_bytes_4 = counted_bytes_of<4>;
using counted_bytes_8 = counted_bytes_of<8>;
using counted_bytes_16 = counted_bytes_of<16>;

}  // namespace rungs::RUNGS_ABI::cluster::reductions
