// Distributed shared memory: who am I in my cluster, and values stored into a peer's shared memory that announce
// themselves on a barrier there. Device code for sm_90 and later; callers guard with __CUDA_ARCH__.
#pragma once

#include <cstring>

#include "rungs/parts/phase_barrier.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// Rungs of clusters find under parts:: what all rungs share, too.
using namespace rungs::parts;

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline unsigned block_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline unsigned num_blocks() {
  unsigned blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}

// The two halves of the cluster's barrier: what a thread wrote before it arrived is seen by all after they waited.
__device__ inline void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// The first half of the cluster's barrier where nobody has to see what was written before: the block has started, and
// its phase barriers are published. arrive() waits for all earlier writes (MEMBAR in SASS), and loads behind it wait,
// too (64 Ki floats reduced on an H200: 4.3 us against 4.45).
__device__ inline void arrive_started() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }

// Makes `barrier` complete its first phase when `bytes` bytes have been stored by store_remote. One whole warp calls
// it, and the cluster meets before the first store. The warp meets in between for compute-sanitizer, which takes the
// two instructions for those of different lanes.
__device__ inline void expect(phase_barrier& barrier, unsigned bytes) {
  const bool elected = threadIdx.x % 32 == 0;
  if (elected) {
    barrier.initialise(1);
    rungs::parts::publish_barriers();
  }
  __syncwarp();
  if (elected) barrier.arrive_and_expect(bytes);
  __syncwarp();
}

// Stores `value` at the place `to` has in block `rank`'s shared memory, and counts its bytes on `barrier` there.
template <class T>
__device__ void store_remote(T* to, const phase_barrier& barrier, unsigned rank, const T& value) {
  static_assert(sizeof(T) % 4 == 0 && alignof(T) >= 4, "st.async carries 4, 8 or 16 bytes");
  constexpr int piece_bytes = sizeof(T) % 16 == 0 && alignof(T) >= 16 ? 16 : sizeof(T) % 8 == 0 ? 8 : 4;
  unsigned remote_to, remote_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_to) : "r"(shared_address(to)), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_barrier) : "r"(barrier.address()), "r"(rank));
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int first = 0; first < static_cast<int>(sizeof(T)); first += piece_bytes) {
    if constexpr (piece_bytes == 4) {
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(remote_to + first),
                   "r"(words[first / 4]), "r"(remote_barrier)
                   : "memory");
    } else if constexpr (piece_bytes == 16) {
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                       remote_to + first),
                   "r"(words[first / 4]), "r"(words[first / 4 + 1]), "r"(words[first / 4 + 2]),
                   "r"(words[first / 4 + 3]), "r"(remote_barrier)
                   : "memory");
    } else {
      unsigned long long bits;
      memcpy(&bits, words + first / 4, 8);
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(remote_to + first),
                   "l"(bits), "r"(remote_barrier)
                   : "memory");
    }
  }
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
