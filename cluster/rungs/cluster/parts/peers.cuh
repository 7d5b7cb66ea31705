// A peer's shared memory, by ordinary loads, stores and atomics. Device code for sm_90 and later; callers guard with
// __CUDA_ARCH__. A peer is there from a barrier of the cluster that it has arrived at until one that it waits for:
// whoever touches its memory does so between the two.
#pragma once

#include "rungs/cluster/parts/remote.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// Both halves of the cluster's barrier at once.
__device__ inline void meet() {
  arrive();
  wait();
}

// Where block `rank` has what `pointer` names in the caller's shared memory.
template <class T>
__device__ T* of_rank(T* pointer, unsigned rank) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(rank));
  return there;
}

// Adds 1 to a counter in block `rank`'s shared memory. Nothing comes back, so nobody waits for it.
__device__ inline void count_remote(const unsigned* counter, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(counter)), "r"(rank));
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(there) : "memory");
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
