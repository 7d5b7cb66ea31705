// Rung 1. A tile for a whole cluster, and one look-back for all of its blocks.
// Against 00_remote_prefixes: as many clusters as there are tiles, so any number of items keeps the whole device
// busy; clusters tell each other their aggregates through memory, and blocks of a cluster through shared memory.
// Against scans/09_warp_look_back: an eighth of the mailboxes, of the walks and of their traffic, and tiles that are
// eight times as large; the price is three barriers of the cluster. Block 0 draws the cluster's ticket, posts, walks,
// and stores what it has found into its peers. The blocks of a cluster start together, and clusters are waited for
// only by those that have drawn a higher ticket: progress is guaranteed. Where the walk ends is a matter of timing:
// floating-point bits need not repeat.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/ticket.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::cluster::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    cluster_look_back_kernel(typename Rows::input_iterator d_in, std::size_t num_items,
                             typename Rows::output_iterator d_out, ScanOpT scan_op, typename Rows::accumulator seed,
                             bool by_vectors, parts::mailboxes<typename Rows::accumulator> mailboxes,
                             parts::state* state) {
#if __CUDA_ARCH__ >= 900
  using T = typename Rows::accumulator;
  using parts::posted;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ unsigned long long drawn_here;
  __shared__ T warp_aggregates[num_warps], block_aggregates[parts::greatest_cluster_blocks], cluster_prefix;
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const int rank = static_cast<int>(parts::block_rank()), cluster_blocks = static_cast<int>(parts::num_blocks());
  if (rank == 0 && threadIdx.x == 0) drawn_here = parts::draw(state, gridDim.x / cluster_blocks);
  parts::meet();
  const unsigned long long drawn = *parts::of_rank(&drawn_here, 0);
  const unsigned cluster_tile = parts::ticket_of(drawn), epoch = parts::epoch_of(drawn);
  const std::size_t tile = std::size_t(cluster_tile) * cluster_blocks + rank;

  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, tile, num_items, by_vectors, scan_op);
  const T of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  if (warp == 0) {
    const T of_block = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
    if (lane < cluster_blocks) *parts::of_rank(block_aggregates + rank, lane) = of_block;
  }
  parts::arrive();
  const auto lanes = rows.scan_lanes(scan_op);  // while the aggregates travel
  const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  parts::wait();
  if (rank == 0 && warp == 0) {
    const T of_cluster = parts::before_warp<parts::greatest_cluster_blocks>(block_aggregates, cluster_blocks, scan_op);
    const bool is_first = cluster_tile == 0;
    if (lane == 0)
      mailboxes.post(cluster_tile, is_first ? scan_op(seed, of_cluster) : of_cluster, epoch,
                     is_first ? posted::prefix : posted::aggregate);
    const T prefix = is_first ? seed : rungs::scans::prefix_before(mailboxes, cluster_tile, epoch, scan_op);
    if (lane == 0 && !is_first) mailboxes.post(cluster_tile, scan_op(prefix, of_cluster), epoch, posted::prefix);
    if (lane < cluster_blocks) *parts::of_rank(&cluster_prefix, lane) = prefix;
  }
  const T blocks_before = parts::before_warp<parts::greatest_cluster_blocks>(block_aggregates, rank, scan_op);
  parts::meet();
  rows.template finish<kind>(lanes, scan_op(scan_op(cluster_prefix, blocks_before), warps_before), scan_op);
  parts::store_tile<block_threads>(rows, d_out, tile, num_items, by_vectors);
#endif
}

struct cluster_look_back : parts::scan_calls<cluster_look_back> {
  static constexpr auto idea = "a tile for a whole cluster, and one look-back for all of its blocks";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = false;  // where the walk ends is a matter of timing
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::zeroed_once;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + parts::row_tile_height(num_rows) +
           parts::greatest_cluster_blocks;
  }

  // Returns cudaErrorNotSupported where the device has no clusters.
  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using rows = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    const std::size_t num_tiles = parts::ceil_div(num_items, parts::row_tile_items<block_threads, rows>);
    const std::size_t num_clusters = parts::ceil_div(num_tiles, parts::portable_cluster_blocks);
    char* region;
    cudaError_t error;
    if (parts::answered_with_state<T>(d_temp_storage, temp_storage_bytes, num_clusters, region, error) ||
        num_items == 0)
      return error;
    // Smaller clusters only where one of them holds it all.
    const auto kernel = cluster_look_back_kernel<kind, block_threads, rows, ScanOpT>;
    parts::cluster_shape shape{0, block_threads};
    error = parts::choose_cluster<parts::any_size>(
        kernel, block_threads, parts::at_most(num_tiles, parts::portable_cluster_blocks), shape.cluster_blocks);
    if (error != cudaSuccess) return error;
    return parts::launch_clusters(kernel, num_clusters, shape, stream, d_in, num_items, d_out, scan_op, seed,
                                  rows::vectorised(d_in, d_out), parts::behind_state<T>(region),
                                  reinterpret_cast<parts::state*>(region));
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::scans
