// How blocks of gathered rows read their parts again, where one bound from few keys was not enough: keys equal to the
// bound are counted and cut, or a new bound is found digit by digit (gathered_rows.cuh).
#pragma once

#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/distance_bins.cuh"
#include "rungs/production/top_k/gathered_plan.cuh"
#include "rungs/production/top_k/row_parts.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// Finds a candidate that at least k candidates of the row reach, and at most chunk_items more. It goes digit by digit,
// from the top. All blocks count. Each block adds up its part of the bins, and writes the sums to all.
template <class Order>
__device__ candidate bound_of_digits(const key_stream<Order>& part, const gathered_plan& plan, unsigned rank,
                                     block_selection& selection) {
  candidate prefix = 0;
  const int bits = plan.layout.bits();
  int shift = bits;
  unsigned needed = plan.k;
  do {
    const int seen = shift, width = min(shift, block_selection::digit_bits);
    shift -= width;
    distance_bins::clear(selection);
    __syncthreads();
    for (unsigned index = 0; index < part.num_chunks(); ++index)
      part.for_each_key(part.load(index), index, [&](unsigned key, unsigned place) {
        const candidate each = part.candidate_of(key, place);
        if (seen == bits || each >> seen == prefix)
          atomicAdd(selection.bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
      });
    meet_blocks(plan.cluster_blocks);
#if __CUDA_ARCH__ >= 900
    if (plan.cluster_blocks > 1) {
      const unsigned share = (1u << block_selection::digit_bits) / plan.cluster_blocks;
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < share; i += block_selection::block_threads) {
        unsigned* const bin = selection.bins + rank * share + i;
        unsigned sum = 0;
#pragma unroll 1
        for (unsigned peer = 0; peer < plan.cluster_blocks; ++peer) sum += *cluster::parts::of_rank(bin, peer);
#pragma unroll 1
        for (unsigned peer = 0; peer < plan.cluster_blocks; ++peer) *cluster::parts::of_rank(bin, peer) = sum;
      }
      cluster::parts::meet();
    }
#endif
    selection.find_digit(needed);
    prefix = prefix << width | selection.digit;
    needed -= selection.above;
  } while (selection.inside - needed > chunk_items);
  return prefix << shift;
}

// Holds the part's candidates that reach `bound`. There has to be room for all. Leaves their number in selection.size.
template <class Order>
__device__ void hold_from(const key_stream<Order>& part, candidate bound, candidate* held, block_selection& selection) {
  if (threadIdx.x == 0) selection.size = 0;
  __syncthreads();
  for (unsigned index = 0; index < part.num_chunks(); ++index)
    part.for_each_key(part.load(index), index, [&](unsigned key, unsigned place) {
      const candidate each = part.candidate_of(key, place);
      if (each >= bound) held[atomicAdd(&selection.size, 1u)] = each;
    });
}

// Tells all blocks how many keys of the part are above the bound, and how many are equal to it.
template <class Order>
__device__ void count_beside(const key_stream<Order>& part, unsigned bound, unsigned rank, unsigned num_blocks,
                             gathered_memory& own) {
  if (threadIdx.x == 0) own.num_above = own.num_equal = 0;
  __syncthreads();
  unsigned above = 0, equal = 0;
  for (unsigned index = 0; index < part.num_chunks(); ++index)
    part.for_each_key(part.load(index), index, [&](unsigned key, unsigned) {
      above += key > bound;
      equal += key == bound;
    });
#pragma unroll
  for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
    above += __shfl_xor_sync(parts::full_mask, above, distance);
    equal += __shfl_xor_sync(parts::full_mask, equal, distance);
  }
  if (threadIdx.x % parts::warp_threads == 0) {
    atomicAdd(&own.num_above, above);
    atomicAdd(&own.num_equal, equal);
  }
  __syncthreads();
  if (threadIdx.x < num_blocks) {
    store_in_block(own.above + rank, threadIdx.x, num_blocks, own.num_above);
    store_in_block(own.equal + rank, threadIdx.x, num_blocks, own.num_equal);
  }
  meet_blocks(num_blocks);
}

// Holds the part's keys above the bound, and the first of those equal to it: `num_equal` and at most chunk_items more.
// Leaves their number in selection.size.
template <class Order>
__device__ void hold_above(const key_stream<Order>& part, unsigned bound, bool has_above, unsigned num_equal,
                           candidate* held, gathered_memory& own) {
  if (threadIdx.x == 0) own.selection.size = own.num_equal = 0;
  __syncthreads();
  unsigned taken = 0;
  for (unsigned index = 0; index < part.num_chunks() && (has_above || taken < num_equal); ++index) {
    const bool takes_equal = taken < num_equal;
    unsigned equal = 0;
    part.for_each_key(part.load(index), index, [&](unsigned key, unsigned place) {
      if (key < bound + !takes_equal) return;
      equal += key == bound;
      held[atomicAdd(&own.selection.size, 1u)] = part.candidate_of(key, place);
    });
    if (!takes_equal) continue;
    if (equal > 0) atomicAdd(&own.num_equal, equal);
    __syncthreads();
    taken = own.num_equal;
    __syncthreads();  // all have read it
  }
}

}  // namespace rungs::RUNGS_ABI::production
