// Bulk copies into shared memory (TMA), counted by phase barriers. Device code for sm_90 and later;
// callers guard with __CUDA_ARCH__.
#pragma once

#include <cuda_runtime.h>

#include "rungs/parts/phase_barrier.cuh"

namespace rungs::RUNGS_ABI::parts {

// Lets bulk copies overwrite what was stored the ordinary way.
__device__ inline void order_bulk_after_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Copies `bytes` bytes, a multiple of 16, between addresses aligned to 16; they count towards the barrier's phase.
__device__ inline void bulk_load(void* shared_to, const void* from, unsigned bytes, phase_barrier& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared_to))),
               "l"(from), "r"(bytes), "r"(barrier.address())
               : "memory");
}

// Where a thread is in a ring of `stages` stages: which stage, and the parity of the phase it waits for there.
template <int stages>
struct ring_position {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::parts
