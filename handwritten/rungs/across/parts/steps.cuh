// The steps of a call: which one begins, flags that announce data, and the end of a call.
#pragma once

#include "rungs/across/parts/layout.cuh"

namespace rungs::RUNGS_ABI::across::parts {

// The first step of this call. Every thread may ask, before its block leaves.
__device__ inline word first_step(const member& me) {
  word counter;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(counter) : "l"(me.windows[me.rank]) : "memory");
  return counter >> block_bits;
}
__device__ inline int half_of(word step) { return static_cast<int>(step & 1); }

// Called by one thread of each block, when the block has ended num_steps steps and no thread asks for the step any
// more. A block that starts late reads the right step until it has left itself: of one step, the first block brings
// what is missing for the counter to reach the next when all have left; of more, the last one to leave does.
__device__ inline void leave(const member& me, word num_steps) {
  word* const counter = reinterpret_cast<word*>(me.windows[me.rank]);
  const word others = gridDim.x - 1;
  if (num_steps == 1) {
    atomicAdd(counter, blockIdx.x == 0 ? (word{1} << block_bits) - others : word{1});
  } else if ((atomicAdd(counter, word{1}) & ((1 << block_bits) - 1)) == others) {
    atomicAdd(counter, (num_steps << block_bits) - others - 1);
  }
}

__device__ inline word* flag_at(const member& me, int at, int kind, int source) {
  word* const flags = reinterpret_cast<word*>(me.windows[at] + flags_at());
  return flags + blockIdx.x * flags_of_block() + kind * max_ranks + source;
}

// Tells rank `to` that what it expects of this block and kind is there; all that the block wrote before the barrier in
// front of this call. A release at system scope: the barrier orders the other threads' writes before it.
__device__ inline void raise(const member& me, int to, int kind, word step) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag_at(me, to, kind, me.rank)), "l"((step + 1) & step_mask)
               : "memory");
}
// Waits until rank `from` has told it. Steps are compared by their distance, so that they may wrap around.
__device__ inline void await(const member& me, int from, int kind, word step) {
  const word* const flag = flag_at(me, me.rank, kind, from);
  word raised;
  do {
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(raised) : "l"(flag) : "memory");
  } while (static_cast<long long>((raised - step - 1) << block_bits) < 0);
}

// The same for a whole block, and for all peers: what the block wrote is announced, or what they wrote may be read.
__device__ inline bool speaks_to_peer(const member& me) {
  return threadIdx.x < static_cast<unsigned>(me.num_ranks) && threadIdx.x != static_cast<unsigned>(me.rank);
}
__device__ inline void raise_all(const member& me, int kind, word step) {
  __syncthreads();
  if (speaks_to_peer(me)) raise(me, static_cast<int>(threadIdx.x), kind, step);
}
__device__ inline void await_all(const member& me, int kind, word step) {
  if (speaks_to_peer(me)) await(me, static_cast<int>(threadIdx.x), kind, step);
  __syncthreads();
}

}  // namespace rungs::RUNGS_ABI::across::parts
