// Barriers in shared memory (mbarrier) that count arrivals and bytes. Device code for sm_90 and later; callers guard
// with __CUDA_ARCH__.
#pragma once

#include <cuda_runtime.h>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

// An mbarrier in shared memory. Its phases complete one after the other; who waits names the parity of the phase.
struct phase_barrier {
  unsigned long long word;

  // One thread, before a barrier of the block that shows it to the others.
  __device__ void initialise(unsigned arrivals_per_phase) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals_per_phase) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory"); }
  // Arrives, and lets the phase complete only when `bytes` more bytes have been copied.
  __device__ void arrive_and_expect(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  __device__ void wait(unsigned parity) {
    unsigned done = 0;
    while (!done)
      asm volatile(
          "{ .reg .pred complete; mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2; "
          "selp.u32 %0, 1, 0, complete; }"
          : "=r"(done)
          : "r"(address()), "r"(parity)
          : "memory");
  }
  // The same where the bytes come from other blocks of the cluster.
  __device__ void wait_for_cluster(unsigned parity) {
    unsigned done = 0;
    while (!done)
      asm volatile(
          "{ .reg .pred complete; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2; "
          "selp.u32 %0, 1, 0, complete; }"
          : "=r"(done)
          : "r"(address()), "r"(parity)
          : "memory");
  }
  __device__ unsigned address() const { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
};

// Makes the initialised barriers known to the unit that copies and to the cluster's other blocks. The thread that
// initialised them, once.
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

}  // namespace rungs::RUNGS_ABI::parts
