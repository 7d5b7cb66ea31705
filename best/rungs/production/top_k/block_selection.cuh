// Candidates in the shared memory of a block: keeping the greatest k of them, and sorting.
//
// The k-th is found digit by digit from the top, 11 bits at a time. The digit is the one in whose bin of a histogram
// the k-th lies. The search ends as soon as all candidates in that bin belong to the k.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/top_k/order.cuh"

namespace rungs::RUNGS_ABI::production {

// A block's candidates lie in `held`; their number is `size`.
struct block_selection {
  static constexpr int block_threads = 512, warps = block_threads / parts::warp_threads;
  static constexpr int digit_bits = 11, bins_per_thread = 4;
  static_assert(block_threads * bins_per_thread == 1 << digit_bits);

  alignas(16) unsigned bins[1 << digit_bits];
  unsigned of_warps[warps];
  unsigned digit, above, inside;  // of the k-th; how many candidates are in greater bins, and in its own
  unsigned size;

  // Whole warps call it: adds those candidates that `wanted` says.
  __device__ void append(candidate* held, bool wanted, candidate value) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const unsigned lanes = __ballot_sync(parts::full_mask, wanted);
    if (lanes == 0) return;
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&size, __popc(lanes));
    first = __shfl_sync(parts::full_mask, first, 0);
    if (wanted) held[first + __popc(lanes & ((1u << lane) - 1))] = value;
  }

  // Leaves the greatest k of num_held > k candidates, whose bits from `bits` on are 0. Returns a lower bound of theirs
  // that no other reaches. All threads call it, behind a barrier, and leave behind one. `size` is k then.
  __device__ candidate keep(candidate* held, unsigned num_held, unsigned k, int bits) {
    candidate prefix = 0;
    int shift = bits;
    unsigned needed = k;
    if (threadIdx.x == 0) size = 0;
    do {
      const int seen = shift, width = min(shift, digit_bits);
      shift -= width;
      reinterpret_cast<uint4*>(bins)[threadIdx.x] = uint4{0, 0, 0, 0};
      __syncthreads();
      for (unsigned i = threadIdx.x; i < num_held; i += block_threads) {
        const candidate each = held[i];
        if (seen == bits || each >> seen == prefix)
          atomicAdd(bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
      }
      __syncthreads();
      find_digit(needed);
      prefix = prefix << width | digit;
      needed -= above;
    } while (inside != needed);

    // In place: what is written lies below what all threads have read.
    constexpr int at_once = 4;
    for (unsigned tile = 0; tile < num_held; tile += at_once * block_threads) {
      candidate read[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const unsigned from = tile + i * block_threads + threadIdx.x;
        if (from < num_held) read[i] = held[from];
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const unsigned from = tile + i * block_threads + threadIdx.x;
        append(held, from < num_held && read[i] >> shift >= prefix, read[i]);
      }
    }
    __syncthreads();
    return prefix << shift;
  }

  // Sorts held[0] to held[num_held - 1], the greatest first, by a bitonic network. There is room for the next power of
  // two. All threads call it, behind a barrier, and leave behind one.
  template <class Candidate>
  static __device__ void sort(Candidate* held, unsigned num_held) {
    unsigned padded = 1;
    while (padded < num_held) padded *= 2;
    for (unsigned i = num_held + threadIdx.x; i < padded; i += block_threads) held[i] = 0;
    __syncthreads();
    for (unsigned run = 2; run <= padded; run *= 2)
      for (unsigned stride = run / 2; stride > 0; stride /= 2) {
        for (unsigned i = threadIdx.x; i < padded / 2; i += block_threads) {
          const unsigned low = 2 * i - (i & (stride - 1)), high = low + stride;
          const Candidate a = held[low], b = held[high];
          if ((a < b) == ((low & run) == 0)) {
            held[low] = b;
            held[high] = a;
          }
        }
        __syncthreads();
      }
  }

  // The bin that the `needed`-th candidate is in, from the greatest bin on. Thread t has four bins. All threads call it
  // behind a barrier, and leave behind one.
  __device__ void find_digit(unsigned needed) {
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    const unsigned first = block_threads - 1 - threadIdx.x;
    const uint4 own = reinterpret_cast<const uint4*>(bins)[first];
    const unsigned counts[bins_per_thread] = {own.w, own.z, own.y, own.x};
    const unsigned sum = own.x + own.y + own.z + own.w;
    unsigned up_to = sum;
#pragma unroll
    for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
      const unsigned below = __shfl_up_sync(parts::full_mask, up_to, distance);
      if (lane >= static_cast<unsigned>(distance)) up_to += below;
    }
    if (lane == parts::warp_threads - 1) of_warps[warp] = up_to;
    __syncthreads();
    unsigned before = up_to - sum;
    for (unsigned w = 0; w < warp; ++w) before += of_warps[w];
    if (before < needed && needed <= before + sum) {
#pragma unroll
      for (int i = 0; i < bins_per_thread; ++i) {
        if (before < needed && needed <= before + counts[i]) {
          digit = first * bins_per_thread + (bins_per_thread - 1 - i);
          above = before;
          inside = counts[i];
        }
        before += counts[i];
      }
    }
    __syncthreads();
  }
};

}  // namespace rungs::RUNGS_ABI::production
