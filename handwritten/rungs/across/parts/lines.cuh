// Tagged lines: eight bytes of data that need neither a flag nor a fence.
//
// A line is two words of 64 bits, each of which holds four bytes of data and four of the tag of the step. A word is
// written and read whole, also over the link, so who sees the tag sees the data (NCCL's LL protocol). Half of what is
// sent is tags.
//
// Tags have 32 bits and are never 0. A value of an earlier step is taken for a new one only after 2^32 - 1 steps in
// which its line was not written.
#pragma once

#include <cstring>

#include "rungs/across/parts/steps.cuh"

namespace rungs::RUNGS_ABI::across::parts {

__device__ inline unsigned tag_of(word step) { return static_cast<unsigned>((step & step_mask) % 0xffffffffu) + 1; }

struct line {
  word words[2];
};

// The lines of a half that `source` writes in the window of rank `at`.
__device__ inline line* lines_of(const member& me, int at, int source, int half) {
  const std::size_t num_lines = lines_of_source(me.tagged_bytes);
  line* const all = reinterpret_cast<line*>(me.windows[at] + lines_at(me.num_blocks));
  return all + (static_cast<std::size_t>(half) * sources(me.num_ranks) + place_of(source, at)) * num_lines;
}

__device__ inline void post(line* to, const unsigned (&data)[2], unsigned tag) {
  const word marked = word{tag} << 32;
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(marked | data[0]), "l"(marked | data[1])
               : "memory");
}
// Waits for a line of that tag.
__device__ inline void receive(const line* from, unsigned (&data)[2], unsigned tag) {
  word first, second;
  do {
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(from) : "memory");
  } while (static_cast<unsigned>(first >> 32) != tag || static_cast<unsigned>(second >> 32) != tag);
  data[0] = static_cast<unsigned>(first);
  data[1] = static_cast<unsigned>(second);
}

// One value of up to eight bytes of each rank, exchanged by the first num_ranks threads of one warp, all of which call.
// Thread r returns the value of rank r.
template <class T>
__device__ T exchange(const member& me, const T& mine, std::size_t index, word step) {
  static_assert(sizeof(T) <= line_payload);
  const int peer = static_cast<int>(threadIdx.x);
  if (peer == me.rank) return mine;
  unsigned data[2] = {};
  memcpy(data, &mine, sizeof(T));
  post(lines_of(me, peer, me.rank, half_of(step)) + index, data, tag_of(step));
  receive(lines_of(me, me.rank, peer, half_of(step)) + index, data, tag_of(step));
  T value;
  memcpy(&value, data, sizeof(T));
  return value;
}

}  // namespace rungs::RUNGS_ABI::across::parts
