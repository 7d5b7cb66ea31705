// What rungs::DeviceBatchedTopK::MaxPairs answers, as a rung of its own.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/device/device_top_k.cuh"

namespace rungs::RUNGS_ABI::top_k {

struct front_door {
  static constexpr auto idea =
      "rungs::DeviceBatchedTopK::MaxPairs: by warps, blocks or clusters, as rows and k ask for";
  static constexpr int block_threads = 512, items_per_thread = 8;
  static constexpr bool deterministic = true;

  template <class T>
  static cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_keys_out,
                           unsigned* d_columns_out, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           cudaStream_t stream = nullptr) {
    return DeviceBatchedTopK::MaxPairs(d_temp_storage, temp_storage_bytes,
                                       rungs::rows::matrix{d_in, num_rows, num_columns},
                                       rungs::rows::matrix{d_keys_out, num_rows, k}, columns_as_values{},
                                       rungs::rows::matrix{d_columns_out, num_rows, k}, k, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
