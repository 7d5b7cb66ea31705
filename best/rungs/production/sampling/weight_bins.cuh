// Sums of weights in bins, and the bin in which the sums from the first bin on reach a target.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// How much tokens have: the sum of their weights, and how many they are.
struct token_mass {
  weight_sum sum;
  unsigned count;

  __device__ weight_sum measure(bool by_count) const { return by_count ? count : sum; }
};

// All threads of a block of 512 share it. A bin's sum is in two words: an addition that overflows the lower one adds to
// the upper one.
struct weight_bins {
  static constexpr unsigned num_bins = 2048, block_threads = 512, warps = block_threads / parts::warp_threads;
  static constexpr int bins_per_thread = 4, digit_bits = 11;
  static_assert(block_threads * bins_per_thread == num_bins && num_bins == 1 << digit_bits);

  alignas(16) unsigned low[num_bins], high[num_bins], counts[num_bins];

  __device__ void clear() {
    const uint4 zeros{0, 0, 0, 0};
    reinterpret_cast<uint4*>(low)[threadIdx.x] = zeros;
    reinterpret_cast<uint4*>(high)[threadIdx.x] = zeros;
    reinterpret_cast<uint4*>(counts)[threadIdx.x] = zeros;
  }
  __device__ void add(unsigned bin, unsigned weight, bool counting) {
    const unsigned before = atomicAdd(low + bin, weight);
    if (before + weight < before) atomicAdd(high + bin, 1u);
    if (counting) atomicAdd(counts + bin, 1u);
  }
  // Several at once. Numbers of tokens are 0 or 1.
  template <unsigned num>
  __device__ void add(const unsigned (&to)[num], const unsigned (&weights)[num], const unsigned (&numbers)[num],
                      bool counting) {
    unsigned before[num];
#pragma unroll
    for (unsigned i = 0; i < num; ++i) before[i] = atomicAdd(low + to[i], weights[i]);
    if (counting) {
#pragma unroll
      for (unsigned i = 0; i < num; ++i) atomicAdd(counts + to[i], numbers[i]);
    }
    bool is_carried = false;
#pragma unroll
    for (unsigned i = 0; i < num; ++i) is_carried |= before[i] + weights[i] < weights[i];
    if (!is_carried) return;
#pragma unroll
    for (unsigned i = 0; i < num; ++i)
      if (before[i] + weights[i] < weights[i]) atomicAdd(high + to[i], 1u);
  }
  // Many of one bin.
  __device__ void add(unsigned bin, const token_mass& mass) {
    const unsigned word = static_cast<unsigned>(mass.sum), before = atomicAdd(low + bin, word);
    atomicAdd(high + bin, static_cast<unsigned>(mass.sum >> 32) + (before + word < before));
    atomicAdd(counts + bin, mass.count);
  }
  __device__ token_mass mass(unsigned bin) const {
    return {static_cast<weight_sum>(high[bin]) << 32 | low[bin], counts[bin]};
  }
  __device__ void set(unsigned bin, const token_mass& mass) {
    low[bin] = static_cast<unsigned>(mass.sum);
    high[bin] = static_cast<unsigned>(mass.sum >> 32);
    counts[bin] = mass.count;
  }
};

struct found_bin {
  unsigned bin;
  token_mass before;  // of the bins before
};

// What a block needs to look through its bins.
struct bin_scan {
  token_mass of_warps[weight_bins::warps];
  found_bin found;
  token_mass total;

  // The first bin in which `target` is reached, of weights or of tokens, from the first bin on. The target has to be
  // from 1 to the total. All threads call it behind a barrier, and leave behind one.
  __device__ found_bin find(const weight_bins& bins, bool by_count, weight_sum target) {
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    const unsigned first = threadIdx.x * weight_bins::bins_per_thread;
    const uint4 low = reinterpret_cast<const uint4*>(bins.low)[threadIdx.x],
                high = reinterpret_cast<const uint4*>(bins.high)[threadIdx.x],
                counts = reinterpret_cast<const uint4*>(bins.counts)[threadIdx.x];
    const token_mass own{
        (static_cast<weight_sum>(high.x + high.y + high.z + high.w) << 32) + low.x + low.y + low.z + low.w,
        counts.x + counts.y + counts.z + counts.w};
    token_mass up_to = own;
#pragma unroll
    for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
      const weight_sum sum = __shfl_up_sync(parts::full_mask, up_to.sum, distance);
      const unsigned count = __shfl_up_sync(parts::full_mask, up_to.count, distance);
      if (lane >= static_cast<unsigned>(distance)) {
        up_to.sum += sum;
        up_to.count += count;
      }
    }
    if (lane == parts::warp_threads - 1) of_warps[warp] = up_to;
    __syncthreads();
    token_mass before{up_to.sum - own.sum, up_to.count - own.count};
    const unsigned other = lane % weight_bins::warps;
    token_mass of_others = other < warp ? of_warps[other] : token_mass{0, 0};
#pragma unroll
    for (unsigned distance = 1; distance < weight_bins::warps; distance *= 2) {
      of_others.sum += __shfl_xor_sync(parts::full_mask, of_others.sum, distance);
      of_others.count += __shfl_xor_sync(parts::full_mask, of_others.count, distance);
    }
    before.sum += of_others.sum;
    before.count += of_others.count;
    if (threadIdx.x == weight_bins::block_threads - 1) total = {before.sum + own.sum, before.count + own.count};
    if (before.measure(by_count) < target && target <= before.measure(by_count) + own.measure(by_count)) {
      unsigned bin = first;
#pragma unroll 1
      for (;; ++bin) {
        const token_mass each = bins.mass(bin);
        if (target <= before.measure(by_count) + each.measure(by_count)) break;
        before.sum += each.sum;
        before.count += each.count;
      }
      found = {bin, before};
    }
    __syncthreads();
    return found;
  }
};

}  // namespace rungs::RUNGS_ABI::production
