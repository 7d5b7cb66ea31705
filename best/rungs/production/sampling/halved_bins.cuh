// Bins of weights in shared memory. A bin has two words: the sum of the weights' lower halves, and that of the upper
// ones. So no addition of up to 2^16 weights overflows.
#pragma once

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

template <unsigned num>
struct halved_bins {
  alignas(16) unsigned low[num], high[num], counts[num];

  __device__ void clear() {
    static_assert(sizeof(halved_bins) % sizeof(uint4) == 0);
#pragma unroll
    for (unsigned i = threadIdx.x; i < sizeof(halved_bins) / sizeof(uint4); i += weight_bins::block_threads)
      reinterpret_cast<uint4*>(low)[i] = {0, 0, 0, 0};
  }
  __device__ void add(unsigned bin, unsigned weight, bool counting) {
    atomicAdd(low + bin, weight & 0xffff);
    atomicAdd(high + bin, weight >> 16);
    if (counting) atomicAdd(counts + bin, 1u);
  }
  // `number` equal weights, up to 2^16.
  __device__ void add_many(unsigned bin, unsigned weight, unsigned number) {
    atomicAdd(low + bin, (weight & 0xffff) * number);
    atomicAdd(high + bin, (weight >> 16) * number);
    atomicAdd(counts + bin, number);
  }
  // Called by any lanes of a warp. They add at once if all have the same bin and weight.
  __device__ void add_alike(unsigned bin, unsigned weight) {
    const unsigned lanes = __activemask();
    int is_one_bin, is_one_weight;
    __match_all_sync(lanes, bin, &is_one_bin);
    __match_all_sync(lanes, weight, &is_one_weight);
    if (!is_one_bin || !is_one_weight) return add(bin, weight, true);
    if (static_cast<int>(threadIdx.x % parts::warp_threads) == __ffs(static_cast<int>(lanes)) - 1)
      add_many(bin, weight, static_cast<unsigned>(__popc(lanes)));
  }
  __device__ token_mass mass(unsigned bin) const {
    return {(static_cast<weight_sum>(high[bin]) << 16) + low[bin], counts[bin]};
  }
};

}  // namespace rungs::RUNGS_ABI::production
