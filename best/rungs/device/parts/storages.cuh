// The two forms of a call: with CUB's pair of storage arguments, and with a workspace.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/device/parts/range.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI::device {

struct unnamed_calls {
  static constexpr const char* name = "rungs";
};

// Either runs call(type<Door>, d_temp_storage, temp_storage_bytes), a call of the two-phase contract. Calls::name is
// that of its range.
template <class Door, class Calls = unnamed_calls>
struct storage_pair {
  void* d_temp_storage;
  std::size_t& temp_storage_bytes;

  template <class Call>
  cudaError_t run(Call call, cudaStream_t) {
    [[maybe_unused]] const range of_call(d_temp_storage == nullptr ? nullptr : Calls::name);
    return call(parts::type<Door>{}, d_temp_storage, temp_storage_bytes);
  }
};

template <class Door, class Calls = unnamed_calls>
struct kept_storage {
  workspace& keeper;

  template <class Call>
  cudaError_t run(Call call, cudaStream_t stream) {
    [[maybe_unused]] const range of_call(Calls::name);
    return keeper.run<Door>(
        [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return call(parts::type<Door>{}, d_temp_storage, temp_storage_bytes);
        },
        stream);
  }
};

}  // namespace rungs::RUNGS_ABI::device
