// Rung 16. The pipeline in a plain launch: tiles are claimed, so that no block needs another to have started.
// Against 12_bulk_pipeline: that launch is cooperative, and beside a kernel that stays on one multiprocessor it never
// begins. Here a block copies the tiles of its stride as before, but processes them only once it has claimed them
// (parts/scan_pipeline.cuh). Where all blocks start at once, that costs two atomics, which travel while the copies do;
// where some do not, the others take their tiles. A block takes 200 KB of shared memory: the call needs one
// multiprocessor that has so much free.
#pragma once

#include "rungs/scans/12_bulk_pipeline.cuh"

namespace rungs::RUNGS_ABI::scans {

struct claimed_pipeline : parts::scan_calls<claimed_pipeline> {
  static constexpr auto idea = "the pipeline in a plain launch, whose blocks claim their tiles";
  static constexpr int scan_warps = bulk_pipeline::scan_warps, reduce_warps = bulk_pipeline::reduce_warps;
  static constexpr int block_threads = bulk_pipeline::block_threads, num_rows = bulk_pipeline::num_rows;
  static constexpr int items_per_thread = bulk_pipeline::items_per_thread, blocks_per_multiprocessor = 1;
  static constexpr bool deterministic = false;
  static constexpr int min_cc = 90;
  static constexpr progress forward_progress = progress::by_block_order;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return bulk_pipeline::summation_height(num_items);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream);
};

template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
cudaError_t claimed_pipeline::scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items,
                                   cudaStream_t stream) {
  using any = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
  const auto launch = [&](auto rows, InputIteratorT in, OutputIteratorT out, std::size_t count, int ahead) {
    using pipeline = parts::pipeline<scan_warps, reduce_warps, typename decltype(rows)::named>;
    return parts::launch_pipeline<kind, parts::schedule::claimed, pipeline>(d_temp_storage, temp_storage_bytes, in, out,
                                                                            scan_op, seed, count, ahead, stream);
  };
  return parts::with_aligned_rows<true, any>(d_in, d_out, num_items, launch);
}

}  // namespace rungs::RUNGS_ABI::scans
