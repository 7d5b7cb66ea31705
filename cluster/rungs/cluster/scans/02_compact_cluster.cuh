// One cluster that one multiprocessor can hold, so that it can be placed wherever an ordinary block can.
// Against 00_remote_prefixes: eight blocks at most, of 128 threads with 64 registers each, and the hardware may put
// several on one multiprocessor (../parts/launch.cuh). It does so only beside kernels that hold the others. The price:
// inputs beyond 16 Ki floats go through the cluster tile by tile, and a grid is faster.
#pragma once

#include "rungs/cluster/scans/00_remote_prefixes.cuh"

namespace rungs::RUNGS_ABI::cluster::scans {

struct compact_cluster : parts::scan_calls<compact_cluster> {
  static constexpr auto idea = "one cluster that one multiprocessor can hold, so that it can be placed anywhere";
  static constexpr int block_threads = 128, num_rows = 4, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * num_rows) + 64;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream);

 private:
  template <parts::scan_kind kind, class Rows, class ScanOpT>
  static cudaError_t launch_cluster(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out,
                                    ScanOpT scan_op, typename Rows::accumulator seed, std::size_t num_items,
                                    cudaStream_t stream) {
    constexpr std::size_t tile_items = block_threads / parts::warp_threads * Rows::warp_items;
    constexpr int most_blocks = parts::blocks_on_one_multiprocessor;
    if constexpr (Rows::is_whole) {
      if (num_items > most_blocks * tile_items)
        return launch_cluster<kind, typename Rows::general>(d_in, d_out, scan_op, seed, num_items, stream);
    }
    parts::cluster_shape shape{parts::least_cluster_blocks, block_threads};
    while (shape.cluster_blocks < most_blocks && shape.cluster_blocks * tile_items < num_items)
      shape.cluster_blocks *= 2;
    shape.balanced = true;
    return parts::launch_clusters(remote_prefixes_kernel<kind, block_threads, Rows, ScanOpT>, 1, shape, stream, d_in,
                                  num_items, d_out, scan_op, seed, Rows::vectorised(d_in, d_out));
  }
};

template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
cudaError_t compact_cluster::scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                  OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items,
                                  cudaStream_t stream) {
  using any = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
  char* unused;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || num_items == 0) return error;
  error = parts::require(min_cc);
  if (error != cudaSuccess) return error;
  return parts::with_rows<any>(d_in, d_out, num_items, [&](auto rows) {
    return launch_cluster<kind, typename decltype(rows)::named>(d_in, d_out, scan_op, seed, num_items, stream);
  });
}

}  // namespace rungs::RUNGS_ABI::cluster::scans
