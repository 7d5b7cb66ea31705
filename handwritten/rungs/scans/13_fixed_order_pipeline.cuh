// Rung 13. The pipeline with a fixed stride instead of a counter: the bits repeat.
// Against 12_bulk_pipeline: a block's tiles, and so the order in which its prefix is added up, depend on the number of
// items and multiprocessors alone. A block that falls behind is waited for: that is the price.
#pragma once

#include "rungs/scans/12_bulk_pipeline.cuh"

namespace rungs::RUNGS_ABI::scans {

struct fixed_order_pipeline : parts::scan_calls<fixed_order_pipeline> {
  static constexpr auto idea = "the pipeline with a fixed order of tiles, whose bits repeat";
  static constexpr int scan_warps = bulk_pipeline::scan_warps, reduce_warps = bulk_pipeline::reduce_warps;
  static constexpr int block_threads = bulk_pipeline::block_threads, num_rows = bulk_pipeline::num_rows;
  static constexpr int items_per_thread = bulk_pipeline::items_per_thread, blocks_per_multiprocessor = 1;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return bulk_pipeline::summation_height(num_items);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using any = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    const auto launch = [&](auto rows, InputIteratorT in, OutputIteratorT out, std::size_t count, int ahead) {
      using pipeline = parts::pipeline<scan_warps, reduce_warps, typename decltype(rows)::named>;
      return parts::launch_pipeline<kind, parts::schedule::strided, pipeline>(d_temp_storage, temp_storage_bytes, in,
                                                                              out, scan_op, seed, count, ahead, stream);
    };
    return parts::with_aligned_rows<false, any>(d_in, d_out, num_items, launch);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
