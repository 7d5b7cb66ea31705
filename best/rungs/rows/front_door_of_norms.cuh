// What rungs::rows::rms_norm answers, as a rung of its own.
#pragma once

#include <cstddef>

#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/rows/norms.cuh"

namespace rungs::RUNGS_ABI::rows {

struct front_door_of_norms {
  static constexpr auto idea = "rungs::rows::rms_norm: lanes, warps, blocks or clusters a row, in one read";
  static constexpr int block_threads = 256, items_per_thread = 8;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t rms_norm(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, const T* d_weight,
                              T* d_out, std::size_t num_rows, std::size_t num_columns, float epsilon,
                              cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    norm_options<T> options;
    options.d_weight = d_weight;
    options.epsilon = epsilon;
    return rows::rms_norm(matrix<const T>{d_in, num_rows, num_columns}, matrix<T>{d_out, num_rows, num_columns},
                          options, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
