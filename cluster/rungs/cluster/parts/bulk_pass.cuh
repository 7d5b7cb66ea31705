// Bulk copies from one block's shared memory into another's. Device code for sm_90 and later; callers guard with
// __CUDA_ARCH__.
#pragma once

#include "rungs/cluster/parts/remote.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// Copies `bytes` bytes, a multiple of 16, to where block `rank` has what `to` names in the caller's shared memory.
// Counts them on `barrier` there. Both ends are aligned to 16. What the block has stored in `from` itself it orders
// first (order_bulk_after_stores), and it does not end before the bytes have come.
__device__ inline void bulk_pass(void* to, const void* from, unsigned bytes, const phase_barrier& barrier,
                                 unsigned rank) {
  unsigned remote_to, remote_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_to) : "r"(shared_address(to)), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_barrier) : "r"(barrier.address()), "r"(rank));
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(remote_to),
      "r"(shared_address(from)), "r"(bytes), "r"(remote_barrier)
      : "memory");
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
