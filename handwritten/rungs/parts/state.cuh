// What lives in a zeroed_once workspace from call to call, laid out alike for all variants, so that one workspace
// serves many of them, one call at a time. Whatever a variant keeps here it leaves ready for the next call of any of
// them.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

struct state {
  unsigned arrivals;  // of blocks that are done, back to 0 after each call
  unsigned unused;
  unsigned long long epoch_and_ticket;  // epoch << 32 | blocks that have started
};
inline constexpr std::size_t state_bytes = storage_alignment;

// The mailboxes lie behind the state.
template <class T>
constexpr std::size_t bytes_with_state(std::size_t num_mailboxes) {
  return state_bytes + mailboxes<T>::bytes(num_mailboxes);
}
template <class T>
mailboxes<T> behind_state(char* region) {
  return mailboxes<T>(region + state_bytes);
}
template <class T>
bool answered_with_state(void* d_temp_storage, std::size_t& temp_storage_bytes, std::size_t num_mailboxes,
                         char*& region, cudaError_t& error) {
  return answered(d_temp_storage, temp_storage_bytes, bytes_with_state<T>(num_mailboxes), region, error);
}

// A ticket and the epoch of the call come with one atomic. Epochs run from 1 to 2^32 - 1 and then start again: a value
// left by an earlier call is taken for a new one only after that many calls in which its mailbox was not used.
__device__ inline unsigned ticket_of(unsigned long long drawn) { return static_cast<unsigned>(drawn); }
__device__ inline unsigned epoch_of(unsigned long long drawn) { return static_cast<unsigned>(drawn >> 32) + 1; }
__device__ inline unsigned long long next_epoch(unsigned long long drawn) {
  const unsigned epoch = epoch_of(drawn);
  return static_cast<unsigned long long>(epoch == 0xffffffffu ? 0 : epoch) << 32;
}
// The same, read without drawing: of no use to who must know that others have started.
__device__ inline unsigned current_epoch(const state* state) {
  unsigned long long drawn;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(drawn) : "l"(&state->epoch_and_ticket) : "memory");
  return epoch_of(drawn);
}
// Called once every block of the grid is known to have read the epoch.
__device__ inline void end_epoch(state* state, unsigned epoch) {
  state->epoch_and_ticket = next_epoch(static_cast<unsigned long long>(epoch - 1) << 32);
}
// For what is ordered by a barrier or a fence of its own: no epoch, so nobody takes it for a value of a later call.
inline constexpr unsigned no_epoch = 0;

}  // namespace rungs::RUNGS_ABI::parts
