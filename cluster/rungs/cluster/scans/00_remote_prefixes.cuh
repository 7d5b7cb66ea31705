// One cluster for the whole input. Every warp stores its aggregate into the shared memory of all blocks,
// asynchronously, and a barrier in each block counts the bytes; then each adds up what precedes it out of its own
// memory. Against scans/10_one_block: up to sixteen multiprocessors load and store instead of one, and what they tell
// each other never reaches the L2. While the stores travel, the warps scan their rows. The blocks of a cluster start
// together, so waiting is safe; no workspace, no state. Larger inputs go through the cluster tile by tile. Did not help
// on an H200: the cluster's own barrier around ordinary remote stores (up to +0.3 us), a warp without items that runs
// ahead so that the code is there (within noise).
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/cluster/parts/slots.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/aligned_rows.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::cluster::scans {

template <class Rows>
using index_in = std::conditional_t<Rows::is_whole, unsigned, std::size_t>;

// Whole vectors come in one tile; only what is ragged may come tile after tile. One tile needs neither a second barrier
// nor a loop nor 64-bit indices: where a kernel runs for microseconds, its instructions come from DRAM as its items do,
// and the shorter code is 0.4 us faster on an H200.
template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads,
                                  parts::blocks_to_fit<block_threads <= 128 && sizeof(typename Rows::accumulator) <= 8>)
    remote_prefixes_kernel(typename Rows::input_iterator d_in, index_in<Rows> num_items,
                           typename Rows::output_iterator d_out, ScanOpT scan_op, typename Rows::accumulator prefix,
                           bool by_vectors) {
#if __CUDA_ARCH__ >= 900
  using T = typename Rows::accumulator;
  using item = typename Rows::item;
  using index = index_in<Rows>;
  constexpr bool one_tile = Rows::is_whole;
  constexpr int num_warps = block_threads / parts::warp_threads;
  constexpr int num_inboxes = one_tile ? 1 : 2;  // a tile's may fill before the last is read
  __shared__ parts::slot<item> inboxes[num_inboxes][parts::greatest_cluster_blocks * num_warps];
  __shared__ parts::phase_barrier barriers[num_inboxes];
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks();
  const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  const unsigned mine = rank * num_warps + warp;  // which of the cluster's warps this is
  const unsigned inbox_bytes = cluster_blocks * num_warps * sizeof(parts::slot<item>);
  if (warp == 0)
    for (parts::phase_barrier& barrier : barriers) parts::expect(barrier, inbox_bytes);
  parts::arrive_started();  // the block's barriers are ready; the loads hide the wait for the others'

  const index tile_items = index(cluster_blocks) * num_warps * Rows::warp_items;
#pragma unroll 1
  for (unsigned round = 0;; ++round) {
    const unsigned turn = round % num_inboxes;
    const index tile = round * tile_items, first = tile + mine * Rows::warp_items;
    Rows rows;
    rows.load_present(d_in, first, num_items, by_vectors, scan_op);
    const item aggregate = rows.aggregate(scan_op);
    if (round == 0) parts::wait();
    if (lane < cluster_blocks)
      parts::store_remote(&inboxes[turn][mine], barriers[turn], lane, parts::slot<item>{aggregate});
    const auto lanes = rows.scan_lanes(scan_op);
    barriers[turn].wait_for_cluster(round / num_inboxes % 2);
    const T before = scan_op(prefix, parts::aggregate_slots(inboxes[turn], mine, scan_op));
    rows.template finish<kind>(lanes, before, scan_op);
    rows.store_present(d_out, first, num_items, by_vectors);
    if (one_tile || tile + tile_items >= num_items) return;
    prefix = scan_op(prefix, parts::aggregate_slots(inboxes[turn], cluster_blocks * num_warps, scan_op));
    // Nobody sends for the round after the next before this warp has sent for the next.
    if (threadIdx.x == 0) barriers[turn].arrive_and_expect(inbox_bytes);
  }
#endif
}

struct remote_prefixes : parts::scan_calls<remote_prefixes> {
  static constexpr auto idea = "one cluster, whose warps store their aggregates into the shared memory of all blocks";
  static constexpr int block_threads = 256, num_rows = 4, items_per_thread = 4 * num_rows;
  static constexpr int small_num_rows = 2;  // while eight blocks of them hold it all
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + 64;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using small = parts::rows<small_num_rows, InputIteratorT, OutputIteratorT, T>;
    using large = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_items == 0) return error;
    const auto launch = [&](auto rows) {
      return launch_cluster<kind, typename decltype(rows)::named>(d_in, d_out, scan_op, seed, num_items, stream);
    };
    if (num_items <= parts::portable_cluster_blocks * num_warps * small::warp_items)
      return parts::with_rows<small>(d_in, d_out, num_items, launch);
    return parts::with_rows<large>(d_in, d_out, num_items, launch);
  }

 private:
  static constexpr std::size_t num_warps = block_threads / parts::warp_threads;

  template <parts::scan_kind kind, class Rows, class ScanOpT>
  static cudaError_t launch_cluster(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out,
                                    ScanOpT scan_op, typename Rows::accumulator seed, std::size_t num_items,
                                    cudaStream_t stream) {
    constexpr std::size_t tile_items = num_warps * Rows::warp_items;
    int cluster_blocks = parts::least_cluster_blocks;
    while (cluster_blocks < parts::greatest_cluster_blocks && cluster_blocks * tile_items < num_items)
      cluster_blocks *= 2;
    const auto kernel = remote_prefixes_kernel<kind, block_threads, Rows, ScanOpT>;
    const cudaError_t error = parts::fit_cluster(kernel, block_threads, cluster_blocks);
    if (error != cudaSuccess) return error;
    if constexpr (Rows::is_whole) {
      if (num_items > cluster_blocks * tile_items)
        return launch_cluster<kind, typename Rows::general>(d_in, d_out, scan_op, seed, num_items, stream);
    }
    return parts::launch_clusters(kernel, 1, {cluster_blocks, block_threads}, stream, d_in, num_items, d_out, scan_op,
                                  seed, Rows::vectorised(d_in, d_out));
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::scans
