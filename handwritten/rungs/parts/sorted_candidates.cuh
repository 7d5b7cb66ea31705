// Candidates of a row that are in shared memory, sorted by the bitonic network that top_k/01_bitonic_registers has in
// registers.
#pragma once

#include <cuda_runtime.h>

#include "rungs/parts/top_k_calls.cuh"

namespace rungs::RUNGS_ABI::parts {

__device__ inline void swap(candidate& a, candidate& b) {
  const candidate former = a;
  a = b;
  b = former;
}

// All threads: writes the row's k chosen candidates, greatest first. `chosen` has room for k rounded up to a power of
// two.
template <int block_threads, class T>
__device__ void write_sorted(candidate* chosen, const top_k_rows<T>& row) {
  unsigned size = 1;
  while (size < row.k) size *= 2;
  for (unsigned i = row.k + threadIdx.x; i < size; i += block_threads) chosen[i] = 0;
  for (unsigned length = 2; length <= size; length *= 2) {
    for (unsigned distance = length / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size / 2; i += block_threads) {
        const unsigned place = 2 * i - (i & (distance - 1));
        const candidate a = chosen[place], b = chosen[place + distance];
        if ((a < b) != ((place & length) == 0)) continue;
        chosen[place] = b;
        chosen[place + distance] = a;
      }
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < row.k; i += block_threads) row.write(i, chosen[i]);
}

}  // namespace rungs::RUNGS_ABI::parts
