// One cluster for the whole input. Every warp stores its aggregate into the shared memory of all blocks,
// asynchronously, and a barrier in each block counts the bytes; then each adds up what precedes it out of its own
// memory. Against scans/10_one_block: up to sixteen multiprocessors load and store instead of one, and what they tell
// each other never reaches the L2. While the stores travel, the warps scan their rows. The blocks of a cluster start
// together, so waiting is safe; no workspace, no state. Larger inputs go through the cluster tile by tile. Did not help
// on an H200: the cluster's own barrier around ordinary remote stores (+0.2 us).
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/rows.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::v0::cluster::scans {

// What asynchronous stores can carry.
template <class T>
struct alignas(alignof(T) > 4 ? alignof(T) : 4) slot {
  T value;
};

// The aggregate of values[0] to values[count - 1], in every lane of the warp that calls it.
template <class T, class ScanOpT>
__device__ T aggregate_of(const slot<T>* values, int count, ScanOpT scan_op) {
  T aggregate = ScanOpT::template identity<T>();
#pragma unroll 1  // less code is faster here: it comes from DRAM
  for (int first = 0; first < count; first += v0::parts::warp_threads) {
    const int i = first + threadIdx.x % v0::parts::warp_threads;
    const T value = i < count ? values[i].value : ScanOpT::template identity<T>();
    if constexpr (v0::parts::is_commutative<ScanOpT>)
      aggregate = scan_op(aggregate, value);
    else
      aggregate = scan_op(aggregate, v0::parts::warp_aggregate(value, scan_op));
  }
  if constexpr (v0::parts::is_commutative<ScanOpT>) aggregate = v0::parts::warp_aggregate(aggregate, scan_op);
  return aggregate;
}

template <v0::parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    remote_prefixes_kernel(typename Rows::input_iterator d_in, std::size_t num_items,
                           typename Rows::output_iterator d_out, ScanOpT scan_op, typename Rows::accumulator prefix,
                           bool by_vectors) {
#if __CUDA_ARCH__ >= 900
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / v0::parts::warp_threads;
  __shared__ slot<T> inboxes[2]
                            [parts::greatest_cluster_blocks * num_warps];  // a tile's may fill before the last is read
  __shared__ unsigned long long barriers[2];
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks();
  const unsigned lane = threadIdx.x % v0::parts::warp_threads, warp = threadIdx.x / v0::parts::warp_threads;
  const unsigned mine = rank * num_warps + warp;  // which of the cluster's warps this is
  const unsigned inbox_bytes = cluster_blocks * num_warps * sizeof(slot<T>);
  if (warp == 0) {
    parts::expect(&barriers[0], inbox_bytes);
    parts::expect(&barriers[1], inbox_bytes);
  }
  parts::arrive();  // the block's barriers are ready; the loads hide the wait for the others'

  const std::size_t tile_items = std::size_t(cluster_blocks) * num_warps * Rows::warp_items;
#pragma unroll 1
  for (unsigned round = 0;; ++round) {
    const unsigned turn = round % 2;
    const std::size_t tile = round * tile_items, first = tile + mine * Rows::warp_items;
    Rows rows;
    rows.load_present(d_in, first, num_items, by_vectors, scan_op);
    const T aggregate = rows.aggregate(scan_op);
    if (round == 0) parts::wait();
    if (lane < cluster_blocks) parts::store_remote(&inboxes[turn][mine], &barriers[turn], lane, slot<T>{aggregate});
    const auto lanes = rows.scan_lanes(scan_op);
    parts::wait_for(&barriers[turn], round / 2 % 2);
    const T before = scan_op(prefix, aggregate_of(inboxes[turn], mine, scan_op));
    rows.template finish<kind>(lanes, before, scan_op);
    rows.store_present(d_out, first, num_items, by_vectors);
    if (tile + tile_items >= num_items) return;
    prefix = scan_op(prefix, aggregate_of(inboxes[turn], cluster_blocks * num_warps, scan_op));
    // Nobody sends for the round after the next before this warp has sent for the next.
    if (threadIdx.x == 0) parts::expect_again(&barriers[turn], inbox_bytes);
  }
#endif
}

struct remote_prefixes : v0::parts::scan_calls<remote_prefixes> {
  static constexpr auto idea = "one cluster, whose warps store their aggregates into the shared memory of all blocks";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;
  static constexpr int small_block_threads = 512, small_num_rows = 1;  // while eight such blocks hold it all
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return v0::parts::ceil_div(num_items, block_threads * num_rows) + 64;
  }

  template <v0::parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using small = v0::parts::rows<small_num_rows, InputIteratorT, OutputIteratorT, T>;
    using large = v0::parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    char* unused;
    cudaError_t error;
    if (v0::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_items == 0) return error;
    const std::size_t small_tile_items = small_block_threads / v0::parts::warp_threads * small::warp_items;
    if (num_items <= parts::portable_cluster_blocks * small_tile_items)
      return v0::parts::with_rows<small>(d_in, d_out, num_items, [&](auto rows) {
        return launch_cluster<kind, small_block_threads, typename decltype(rows)::named>(d_in, d_out, scan_op, seed,
                                                                                         num_items, stream);
      });
    return v0::parts::with_rows<large>(d_in, d_out, num_items, [&](auto rows) {
      return launch_cluster<kind, block_threads, typename decltype(rows)::named>(d_in, d_out, scan_op, seed, num_items,
                                                                                 stream);
    });
  }

 private:
  template <v0::parts::scan_kind kind, int threads, class Rows, class ScanOpT>
  static cudaError_t launch_cluster(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out,
                                    ScanOpT scan_op, typename Rows::accumulator seed, std::size_t num_items,
                                    cudaStream_t stream) {
    const auto kernel = remote_prefixes_kernel<kind, threads, Rows, ScanOpT>;
    const std::size_t tile_items = threads / v0::parts::warp_threads * Rows::warp_items;
    int cluster_blocks = parts::least_cluster_blocks;
    while (cluster_blocks < parts::greatest_cluster_blocks && cluster_blocks * tile_items < num_items)
      cluster_blocks *= 2;
    const cudaError_t error = parts::fit_cluster(kernel, threads, cluster_blocks);
    if (error != cudaSuccess) return error;
    return parts::launch_clusters(kernel, 1, cluster_blocks, threads, stream, d_in, num_items, d_out, scan_op, seed,
                                  Rows::vectorised(d_in, d_out));
  }
};

}  // namespace rungs::v0::cluster::scans
