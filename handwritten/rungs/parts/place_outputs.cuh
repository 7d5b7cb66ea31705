// Where a pair is written as an item and its index, for kernels that write one value.
#pragma once

#include <cuda_runtime.h>

#include "rungs/parts/placed.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class T>
struct place_outputs {
  struct reference {
    place_outputs to;
    __device__ const reference& operator=(const placed<T>& found) const {
      write_place(found, to.d_item, to.d_index);
      return *this;
    }
  };

  T* d_item;
  long long* d_index;

  __device__ reference operator*() const { return {*this}; }
};

}  // namespace rungs::RUNGS_ABI::parts
