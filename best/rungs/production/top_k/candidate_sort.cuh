// Sorting the candidates of a block in its shared memory. Up to 256 are ranked by counting. Of more, warps sort runs of
// 32 in registers, and runs merge in pairs by binary searches: log2(size / 32) barriers, where a bitonic network has
// log2(size)^2 / 2.
#pragma once

#include "rungs/production/top_k/block_selection.cuh"

namespace rungs::RUNGS_ABI::production {

// Sorts held[0] to held[size - 1], the greatest first. `scratch` has as much room. All threads call it, behind a
// barrier, and leave behind one.
__device__ inline void sort_candidates(candidate* held, candidate* scratch, unsigned size) {
  constexpr unsigned block_threads = block_selection::block_threads, lanes = parts::warp_threads;
  const unsigned lane = threadIdx.x % lanes;
  // Few: four lanes count how many come before a candidate.
  constexpr unsigned counting = 4, at_once = block_threads / counting;
  if (size <= 2 * at_once) {
    candidate own[2];
    unsigned before[2] = {0, 0};
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned from = i * at_once + threadIdx.x / counting;
      if (i * at_once >= size) continue;
      own[i] = from < size ? held[from] : 0;
#pragma unroll 4
      for (unsigned other = lane % counting; other < size; other += counting) before[i] += held[other] > own[i];
#pragma unroll
      for (unsigned distance = 1; distance < counting; distance *= 2)
        before[i] += __shfl_xor_sync(parts::full_mask, before[i], distance);
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 2; ++i)
      if (lane % counting == 0 && i * at_once + threadIdx.x / counting < size) held[before[i]] = own[i];
    __syncthreads();
    return;
  }

  // More: warps sort runs of 32, and runs merge in pairs. They begin where the last merge ends in `held`.
  int merges = 0;
#pragma unroll 1
  while (lanes << merges < size) ++merges;
  candidate *from = merges % 2 == 0 ? held : scratch, *to = merges % 2 == 0 ? scratch : held;
#pragma unroll 1
  for (unsigned first = threadIdx.x - lane; first < size; first += block_threads) {
    candidate value = first + lane < size ? held[first + lane] : 0;
#pragma unroll
    for (unsigned run = 2; run <= lanes; run *= 2)
#pragma unroll
      for (unsigned stride = run / 2; stride > 0; stride /= 2) {
        const candidate other = __shfl_xor_sync(parts::full_mask, value, stride);
        const bool takes_greater = ((lane & stride) == 0) == ((lane & run) == 0);
        value = (other > value) == takes_greater ? other : value;
      }
    if (first + lane < size) from[first + lane] = value;
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned run = lanes; run < size; run *= 2) {
#pragma unroll 1
    for (unsigned own = threadIdx.x; own < size; own += block_threads) {
      const candidate value = from[own];
      const unsigned other_begin = (own / run ^ 1) * run;
      unsigned low = min(other_begin, size), high = min(other_begin + run, size);
      const unsigned begin = low;
#pragma unroll 1
      while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (from[middle] > value)
          low = middle + 1;
        else
          high = middle;
      }
      to[(own / (2 * run)) * (2 * run) + own % run + (low - begin)] = value;
    }
    __syncthreads();
    candidate* const merged = to;
    to = from;
    from = merged;
  }
}

}  // namespace rungs::RUNGS_ABI::production
