// Rung 18. The sums of pairs of floats in one pass: items are read once and written once.
// Against 17_compensated: the pipeline of 13_fixed_order_pipeline adds, and two thirds of the traffic are left. The
// pairs travel through the look-back, too.
#pragma once

#include "rungs/parts/compensated.cuh"
#include "rungs/scans/13_fixed_order_pipeline.cuh"

namespace rungs::RUNGS_ABI::scans {

struct compensated_pipeline : parts::scan_calls<compensated_pipeline> {
  static constexpr auto idea = "pairs of floats through the pipeline: items are read once and written once";
  static constexpr int block_threads = fixed_order_pipeline::block_threads, num_rows = fixed_order_pipeline::num_rows;
  static constexpr int items_per_thread = 2 * num_rows, blocks_per_multiprocessor = 1;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr std::size_t summation_height(std::size_t) { return 2; }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT, T seed, std::size_t num_items, cudaStream_t stream) {
    static_assert(std::is_same_v<ScanOpT, plus> && std::is_same_v<T, float>, "sums of floats only");
    return fixed_order_pipeline::scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, parts::add_compensated{},
                                            parts::compensated(seed), num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
