// A row whose threads have a part each, one behind the other: the part, what lies before it, and a search in sums.
#pragma once

#include <cuda_runtime.h>

#include "rungs/collectives/06_scan_of_warps.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/top_p_calls.cuh"

namespace rungs::RUNGS_ABI::parts {

// The part of n items that is the calling thread's.
template <int block_threads>
struct own_part {
  unsigned begin, end;
  __device__ explicit own_part(unsigned n) {
    const unsigned length = (n + block_threads - 1) / block_threads;
    begin = min(threadIdx.x * length, n);
    end = min(begin + length, n);
  }
};

// All threads: what the values of the threads before the calling one sum up to.
template <int block_threads, class T>
__device__ T sum_before(T value) {
  return collectives::scan_of_warps::collective<block_threads>(value, plus{}) - value;
}

// The first of n sums that is not less than `target`; one of them is.
__device__ inline unsigned first_to_reach(const weight_sum* sums, unsigned n, weight_sum target) {
  unsigned low = 0, high = n - 1;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (sums[middle] >= target)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace rungs::RUNGS_ABI::parts
