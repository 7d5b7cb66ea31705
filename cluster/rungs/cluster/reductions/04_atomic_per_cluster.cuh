// Rung 4. As many clusters as the device holds at once, and one atomic on the output from each.
// Against 03_counted_bytes: all multiprocessors that clusters can be placed on, and so an atomic, before which a launch
// puts init in place. Against reductions/09_vector_loads: a cluster of eight sends one atomic where eight blocks sent
// eight, at the price of the cluster's barrier; and where a cluster does not fit, multiprocessors stand idle. The grid
// comes from cudaOccupancyMaxActiveClusters. Returns cudaErrorNotSupported where the device does not hold a cluster of
// that size. The order of atomics is a matter of timing: floating-point bits need not repeat.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::cluster::reductions {

template <class Tile, class T, class ReductionOpT>
__global__ void __launch_bounds__(Tile::block_threads)
    atomic_per_cluster_kernel(typename Tile::iterator d_in, std::size_t num_items, T* d_out,
                              ReductionOpT reduction_op) {
#if __CUDA_ARCH__ >= 900
  __shared__ T inbox[parts::greatest_cluster_blocks];
  __shared__ parts::phase_barrier barrier;
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), lane = threadIdx.x;
  if (rank == 0 && threadIdx.x < parts::warp_threads) parts::expect(barrier, (cluster_blocks - 1) * sizeof(T));
  parts::arrive_started();
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  parts::wait();
  if (rank != 0 && threadIdx.x == 0) parts::store_remote(inbox + rank, barrier, 0, value);
  if (rank != 0 || threadIdx.x >= parts::warp_threads) return;
  barrier.wait_for_cluster(0);
  if (lane > 0) value = lane < cluster_blocks ? inbox[lane] : ReductionOpT::template identity<T>();
  value = parts::warp_reduce(value, reduction_op);
  if (lane == 0) parts::atomic_combine(d_out, value, reduction_op);
#endif
}

template <int asked_blocks>
struct atomic_per_cluster_of {
  static constexpr auto idea = "a grid of clusters, each of which sends one atomic";
  static constexpr int block_threads = 512, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = 4;
  static constexpr bool deterministic = false;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    using any = parts::tile_reader<block_threads, vectors_per_thread, parts::reading::aligned, InputIteratorT>;
    const std::size_t num_tiles = parts::ceil_div(num_items, any::tile_items);
    const auto kernel = atomic_per_cluster_kernel<any, T, ReductionOpT>;
    parts::cluster_shape shape{0, block_threads};
    std::size_t most_clusters;
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    // Left to the queries, no more than what every part promises: sixteen leave more multiprocessors without a block.
    error = parts::choose_cluster<asked_blocks>(
        kernel, block_threads, parts::at_most(num_tiles, parts::portable_cluster_blocks), shape.cluster_blocks);
    if (error == cudaSuccess) error = parts::resident_clusters(kernel, shape, most_clusters);
    if (error == cudaSuccess) error = parts::initialise(d_out, init, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t num_clusters = parts::at_most(parts::ceil_div(num_tiles, shape.cluster_blocks), most_clusters);
    return parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch_clusters(atomic_per_cluster_kernel<typename decltype(tile)::named, T, ReductionOpT>,
                                    num_clusters, shape, stream, d_in, num_items, d_out, reduction_op);
    });
  }
};

using atomic_per_cluster = atomic_per_cluster_of<parts::any_size>;
using atomic_per_cluster_1 = atomic_per_cluster_of<1>;
using atomic_per_cluster_2 = atomic_per_cluster_of<2>;
using atomic_per_cluster_4 = atomic_per_cluster_of<4>;
using atomic_per_cluster_8 = atomic_per_cluster_of<8>;
using atomic_per_cluster_16 = atomic_per_cluster_of<16>;

}  // namespace rungs::RUNGS_ABI::cluster::reductions
