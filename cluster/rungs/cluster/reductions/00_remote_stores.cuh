// One cluster for the whole input. Every warp stores its aggregate into the shared memory of block 0, asynchronously,
// and a barrier there counts the bytes; block 0 adds them up when all have come. Against reductions/14_one_block: up to
// sixteen multiprocessors load instead of one, and what they send each other never reaches the L2. The blocks of a
// cluster start together, so waiting is safe; no workspace, no state. Peers may exit at once: they write to block 0,
// which stays, and nobody reads from them.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::cluster::reductions {

// Small blocks are to fit eight to a multiprocessor: see 05_compact_cluster.
template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads,
                                  parts::blocks_to_fit<Tile::block_threads <= 256 && sizeof(T) <= 8>)
    remote_stores_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                         ReductionOpT reduction_op, T init) {
#if __CUDA_ARCH__ >= 900
  constexpr int num_warps = Tile::block_threads / parts::warp_threads;
  __shared__ T inbox[parts::greatest_cluster_blocks * num_warps];
  __shared__ parts::phase_barrier barrier;
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks();
  const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  if (rank == 0 && warp == 0) parts::expect(barrier, cluster_blocks * num_warps * sizeof(T));
  parts::arrive_started();  // block 0's barrier is ready; the loads hide the wait for it

  T value = rank == 0 && threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, rank, cluster_blocks, value, reduction_op);
  value = parts::warp_reduce(value, reduction_op);
  parts::wait();
  if (lane == 0) parts::store_remote(inbox + rank * num_warps + warp, barrier, 0, value);
  if (rank != 0 || warp != 0) return;

  barrier.wait_for_cluster(0);
  value = ReductionOpT::template identity<T>();
  for (unsigned i = lane; i < cluster_blocks * num_warps; i += parts::warp_threads)
    value = reduction_op(value, inbox[i]);
  value = parts::warp_reduce(value, reduction_op);
  if (lane == 0) *d_out = value;
#endif
}

struct remote_stores {
  static constexpr auto idea = "one cluster, whose warps store their aggregates into block 0's shared memory";
  static constexpr int block_threads = 512, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int small_block_threads = 256, small_vectors_per_thread = 2;  // while sixteen such hold it all
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * vectors_per_thread) + 64;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    char* unused;
    int cluster_blocks;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    const auto choose = [&](auto reader) {
      using tile = typename decltype(reader)::named;
      return parts::choose_cluster<parts::any_size>(remote_stores_kernel<tile, OutputIteratorT, ReductionOpT, T>,
                                                    tile::block_threads, parts::ceil_div(num_items, tile::tile_items),
                                                    cluster_blocks);
    };
    const auto launch = [&](auto reader) {
      using tile = typename decltype(reader)::named;
      return parts::launch_clusters(remote_stores_kernel<tile, OutputIteratorT, ReductionOpT, T>, 1,
                                    {cluster_blocks, tile::block_threads}, stream, d_in, num_items, d_out, reduction_op,
                                    init);
    };
    using small = parts::one_tile_reader<small_block_threads, small_vectors_per_thread, InputIteratorT>;
    if (num_items <= std::size_t(parts::greatest_cluster_blocks) * small::tile_items) {
      error = choose(parts::type<small>{});
      if (error != cudaSuccess) return error;
      if (num_items <= std::size_t(cluster_blocks) * small::tile_items)  // not where eight blocks are the most
        return parts::with_one_tile_reader<small_block_threads, small_vectors_per_thread>(d_in, launch);
    }
    error = choose(parts::type<parts::one_tile_reader<block_threads, vectors_per_thread, InputIteratorT>>{});
    if (error != cudaSuccess) return error;
    return parts::with_quick_reader<block_threads, vectors_per_thread>(d_in, num_items, cluster_blocks, launch);
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::reductions
