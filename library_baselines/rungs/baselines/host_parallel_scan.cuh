// Every core and the standard library: std::inclusive_scan and std::exclusive_scan with par, which libstdc++ runs on
// oneTBB (host_parallel says why). Work stealing decides where the input is cut: floats do not repeat bit for bit.
// Sums only: the pieces of libstdc++ 12 start from T{}, whatever the operator, and a maximum of negative items is then
// 0.
#pragma once

#include <algorithm>
#include <execution>
#include <numeric>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct host_parallel_scan {
  static constexpr auto idea = "std::inclusive_scan and std::exclusive_scan with std::execution::par on every core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = false;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t = nullptr) {
    return parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      std::inclusive_scan(std::execution::par, d_in, d_in + num_items, d_out, scan_op);
    });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t = nullptr) {
    return parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      std::inclusive_scan(std::execution::par, d_in, d_in + num_items, d_out, parts::widening<T>(scan_op), init);
    });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t = nullptr) {
    return parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      if (num_items == 0) return;
      // libstdc++ 12's exclusive scan gets its first output wrong for long inputs, and in place all of them. This is
      // the inclusive scan, one further on; in place it is moved there.
      const bool in_place = static_cast<const void*>(d_in) == static_cast<const void*>(d_out);
      std::inclusive_scan(std::execution::par, d_in, d_in + num_items - 1, in_place ? d_out : d_out + 1,
                          parts::widening<T>(scan_op), init);
      if (in_place) std::copy_backward(d_out, d_out + num_items - 1, d_out + num_items);
      *d_out = init;
    });
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
