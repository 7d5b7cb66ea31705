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
  __device__ void add(unsigned bin, const token_mass& mass) {
    const auto part = static_cast<unsigned>(mass.sum);
    const unsigned before = atomicAdd(low + bin, part);
    const unsigned upper = static_cast<unsigned>(mass.sum >> 32) + (before + part < before);
    if (upper != 0) atomicAdd(high + bin, upper);
    atomicAdd(counts + bin, mass.count);
  }
  __device__ void add(unsigned bin, unsigned weight, bool counting) {
    const unsigned before = atomicAdd(low + bin, weight);
    if (before + weight < before) atomicAdd(high + bin, 1u);
    if (counting) atomicAdd(counts + bin, 1u);
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
  token_mass of_warps[weight_bins::warps], total;

  // Puts what comes before a bin in place of what it has. All threads call it behind a barrier, and leave behind one.
  __device__ void accumulate(weight_bins& bins) {
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    const uint4 low = reinterpret_cast<const uint4*>(bins.low)[threadIdx.x],
                high = reinterpret_cast<const uint4*>(bins.high)[threadIdx.x],
                counts = reinterpret_cast<const uint4*>(bins.counts)[threadIdx.x];
    const token_mass own{
        (static_cast<weight_sum>(high.x + high.y + high.z + high.w) << 32) + low.x + low.y + low.z + low.w,
        counts.x + counts.y + counts.z + counts.w};
    const token_mass up_to = up_to_lane<parts::warp_threads>(own);
    if (lane == parts::warp_threads - 1) of_warps[warp] = up_to;
    __syncthreads();
    const token_mass up_to_warp = up_to_lane<weight_bins::warps>(of_warps[lane % weight_bins::warps]);
    const unsigned warp_before = warp == 0 ? 0 : warp - 1;
    token_mass before{__shfl_sync(parts::full_mask, up_to_warp.sum, warp_before),
                      __shfl_sync(parts::full_mask, up_to_warp.count, warp_before)};
    if (warp == 0) before = {0, 0};
    before.sum += up_to.sum - own.sum;
    before.count += up_to.count - own.count;
    if (threadIdx.x == weight_bins::block_threads - 1) total = {before.sum + own.sum, before.count + own.count};
    const unsigned first = threadIdx.x * weight_bins::bins_per_thread;
#pragma unroll
    for (int i = 0; i < weight_bins::bins_per_thread; ++i) {
      const token_mass each = bins.mass(first + i);
      bins.set(first + i, before);
      before.sum += each.sum;
      before.count += each.count;
    }
    __syncthreads();
  }

  // Of accumulated bins: what they have up to one.
  __device__ token_mass up_to(const weight_bins& bins, unsigned bin) const {
    return bin + 1 < weight_bins::num_bins ? bins.mass(bin + 1) : total;
  }
  // Of accumulated bins: the first one in which `target` is reached, of weights or of tokens, from the first bin on.
  // The target has to be from 1 to the total. Whole warps call it.
  __device__ found_bin find(const weight_bins& bins, bool by_count, weight_sum target) const {
    unsigned bin = 0;
    static_assert(weight_bins::num_bins == 64 * parts::warp_threads);
    for (const unsigned distance : {64u, 2u, 1u}) {
      const unsigned here = bin + threadIdx.x % parts::warp_threads * distance;
      const bool is_before = here < weight_bins::num_bins && bins.mass(here).measure(by_count) < target;
      bin += (__popc(__ballot_sync(parts::full_mask, is_before)) - 1) * distance;
    }
    return {bin, bins.mass(bin)};
  }

 private:
  template <unsigned num_lanes>
  static __device__ token_mass up_to_lane(token_mass mass) {
#pragma unroll
    for (unsigned distance = 1; distance < num_lanes; distance *= 2) {
      const weight_sum sum = __shfl_up_sync(parts::full_mask, mass.sum, distance);
      const unsigned count = __shfl_up_sync(parts::full_mask, mass.count, distance);
      if (threadIdx.x % parts::warp_threads >= distance) {
        mass.sum += sum;
        mass.count += count;
      }
    }
    return mass;
  }
};

}  // namespace rungs::RUNGS_ABI::production
