// Aggregates that warps have stored into a block's shared memory, asynchronously, and the sum of the first ones.
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// What asynchronous stores can carry.
template <class T>
struct alignas(alignof(T) > 4 ? alignof(T) : 4) slot {
  T value;
};

// The aggregate of values[0] to values[count - 1], in every lane of the warp that calls it.
template <class T, class ScanOpT>
__device__ aggregate_of<T, ScanOpT> aggregate_slots(const slot<T>* values, int count, ScanOpT scan_op) {
  auto aggregate = ScanOpT::template identity<aggregate_of<T, ScanOpT>>();
#pragma unroll 1  // less code is faster here: it comes from DRAM
  for (int first = 0; first < count; first += warp_threads) {
    const int i = first + threadIdx.x % warp_threads;
    if constexpr (is_commutative<ScanOpT>)
      aggregate = scan_op(aggregate, i < count ? values[i].value : ScanOpT::template identity<T>());
    else
      aggregate = scan_op(aggregate, aggregate_of_lanes(values[i < count ? i : 0].value, count - first, scan_op));
  }
  if constexpr (is_commutative<ScanOpT>) aggregate = warp_aggregate(aggregate, scan_op);
  return aggregate;
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
