// One core and the standard library: one addition an item, in order, so its floats are those of the textbook.
#pragma once

#include <numeric>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct host_serial_scan {
  static constexpr auto idea = "std::inclusive_scan and std::exclusive_scan on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t = nullptr) {
    return parts::run_on_host(d_temp_storage, temp_storage_bytes,
                              [=] { std::inclusive_scan(d_in, d_in + num_items, d_out, scan_op); });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t = nullptr) {
    return parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      std::inclusive_scan(d_in, d_in + num_items, d_out, parts::widening<T>(scan_op), init);
    });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t = nullptr) {
    return parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      std::exclusive_scan(d_in, d_in + num_items, d_out, init, parts::widening<T>(scan_op));
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
