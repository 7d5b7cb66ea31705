// Rung 17. Sums of floats whose error does not grow with n: every sum on the way is a pair of floats.
// Against 06_reduce_then_scan: the same kernels and the same traffic, but what they add are floats with their
// compensations (parts/compensated.cuh), in lanes, warps, tiles and over the tiles' sums. An element is rounded when it
// is written, and only then. A lane holds two items of a row instead of four, because pairs take twice the registers.
#pragma once

#include "rungs/parts/compensated.cuh"
#include "rungs/scans/06_reduce_then_scan.cuh"

namespace rungs::RUNGS_ABI::scans {

struct compensated : parts::scan_calls<compensated> {
  static constexpr auto idea = "every sum on the way is a pair of floats: the error does not grow with n";
  static constexpr int block_threads = reduce_then_scan::block_threads, num_rows = reduce_then_scan::num_rows;
  static constexpr int items_per_thread = 2 * num_rows;
  static constexpr bool deterministic = true;
  // The last rounding; all others are of the second order.
  static constexpr std::size_t summation_height(std::size_t) { return 2; }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT, T seed, std::size_t num_items, cudaStream_t stream) {
    static_assert(std::is_same_v<ScanOpT, plus> && std::is_same_v<T, float>, "sums of floats only");
    return reduce_then_scan::scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, parts::add_compensated{},
                                        parts::compensated(seed), num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
