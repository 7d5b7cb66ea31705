// One core and the standard library.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "rungs/baselines/parts/host.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::top_k {

struct host_serial_top_k {
  static constexpr auto idea = "std::partial_sort of a row's columns on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class T>
  static cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_keys_out,
                           unsigned* d_columns_out, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           cudaStream_t = nullptr) {
    return baselines::parts::run_on_host(d_temp_storage, temp_storage_bytes, [=] {
      std::vector<unsigned> columns(num_columns);
      for (std::size_t row = 0; row < num_rows; ++row) {
        const T* const items = d_in + row * num_columns;
        const auto comes_first = [=](unsigned a, unsigned b) {
          const bool a_is_nan = items[a] != items[a], b_is_nan = items[b] != items[b];
          if (a_is_nan != b_is_nan) return a_is_nan;
          return a_is_nan || items[a] == items[b] ? a < b : items[b] < items[a];
        };
        std::iota(columns.begin(), columns.end(), 0u);
        std::partial_sort(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(k), columns.end(),
                          comes_first);
        for (std::size_t i = 0; i < k; ++i) {
          d_columns_out[row * k + i] = columns[i];
          d_keys_out[row * k + i] = items[columns[i]];
        }
      }
    });
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
