// Rung 4. Half of the blocks store to their peers, and half load from them.
// Against 03_two_shot: every other block leaves what it sends in its own window, and its peers fetch it. Stores and
// loads of 16 bytes meet on the link, several of each in flight a thread: a store waits for nothing, but a fence waits
// for all of them; a load waits for an answer, and needs no fence over the link.
#pragma once

#include "rungs/across/03_two_shot.cuh"

namespace rungs::RUNGS_ABI::across {

// All ranks have the same opinion of a block.
struct pushed_or_pulled {
  __device__ bool is_pulled() const { return blockIdx.x % 2 == 1; }
};

struct both_directions : two_shot_calls<pushed_or_pulled> {
  static constexpr auto idea = "half of the blocks store to their peers, and half load from them";
  static constexpr auto against = "two_shot", gains = "loads and stores share the link";
  static constexpr auto costs = "loads over the link wait for an answer";
};

}  // namespace rungs::RUNGS_ABI::across
