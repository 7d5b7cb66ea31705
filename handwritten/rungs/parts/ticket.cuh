// Tiles in the order in which blocks start.
#pragma once

#include "rungs/parts/state.cuh"

namespace rungs::RUNGS_ABI::parts {

// The ticket of the calling block and the epoch of the call; of num_tickets blocks each draws once. Whoever holds
// ticket i knows that the holders of all lower ones have started, and so may wait for them. The last one knows that
// nobody is left to draw, and opens the next call's epoch.
__device__ inline unsigned long long draw(state* state, unsigned num_tickets) {
  const unsigned long long drawn = atomicAdd(&state->epoch_and_ticket, 1ull);
  if (ticket_of(drawn) == num_tickets - 1) state->epoch_and_ticket = next_epoch(drawn);
  return drawn;
}

}  // namespace rungs::RUNGS_ABI::parts
