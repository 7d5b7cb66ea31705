// Shifts in place of divisions by the number of blocks of a cluster.
#pragma once

#include <cuda_runtime.h>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// The binary logarithm of a power of two.
__device__ inline unsigned block_bits(unsigned num_blocks) {
  return 31 - static_cast<unsigned>(__clz(static_cast<int>(num_blocks)));
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
