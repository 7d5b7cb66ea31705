// The two forms of a call: with CUB's pair of storage arguments, and with a workspace.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/tile.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI::device {

// Either runs call(type<Door>, d_temp_storage, temp_storage_bytes), a call of the two-phase contract.
template <class Door>
struct storage_pair {
  void* d_temp_storage;
  std::size_t& temp_storage_bytes;

  template <class Call>
  cudaError_t run(Call call, cudaStream_t) {
    return call(parts::type<Door>{}, d_temp_storage, temp_storage_bytes);
  }
};

template <class Door>
struct kept_storage {
  workspace& keeper;

  template <class Call>
  cudaError_t run(Call call, cudaStream_t stream) {
    return keeper.run<Door>(
        [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return call(parts::type<Door>{}, d_temp_storage, temp_storage_bytes);
        },
        stream);
  }
};

}  // namespace rungs::RUNGS_ABI::device
