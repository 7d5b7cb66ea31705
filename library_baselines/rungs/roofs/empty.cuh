// The launch floor: one kernel of one block that does nothing. No call with a kernel in it can be faster.
#pragma once

#include "rungs/roofs/parts/tiles.cuh"

namespace rungs::RUNGS_ABI::roofs {

// A template, so that only the units that launch it hold a copy.
template <int block_threads>
__global__ void empty_kernel() {}

struct empty {
  static constexpr auto operation = catalog::operation::empty;
  static constexpr auto idea = "launch one block that does nothing";
  static constexpr int block_threads = 32, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class T>
  static cudaError_t move(void* d_temp_storage, std::size_t& temp_storage_bytes, const T*, T*, std::size_t,
                          cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    return rungs::parts::launch(empty_kernel<block_threads>, 1, block_threads, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::roofs
