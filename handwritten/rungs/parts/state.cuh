// What lives in a zeroed_once workspace from call to call, laid out alike for all variants, so that one workspace
// serves many of them, one call at a time. Whatever a variant keeps here it leaves ready for the next call of any of
// them.
#pragma once

#include <cstring>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::v0::parts {

struct state {
  unsigned arrivals;                    // of blocks that are done, back to 0 after each call
  unsigned tiles_drawn;                 // by blocks that come back for more, back to 0 after each call
  unsigned long long epoch_and_ticket;  // epoch << 32 | blocks that have started
};
inline constexpr std::size_t state_bytes = storage_alignment;

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

// What a value in a mailbox is. Only who looks back over several blocks needs to know.
enum class posted : unsigned { aggregate, prefix };

// Mailboxes of values of T, behind the state. A mailbox is 16 bytes for every 8 of T: one instruction reads or writes
// eight bytes of the value and a tag, the epoch of the call, so who sees the epoch sees the value, without a fence. All
// variants and types use this one format, and so none can mistake what another has left.
template <class T>
class mailboxes {
  static constexpr int num_pieces = (sizeof(T) + 7) / 8;

 public:
  static constexpr std::size_t bytes(std::size_t num_mailboxes) {
    return state_bytes + num_mailboxes * num_pieces * sizeof(ulonglong2);
  }

  explicit mailboxes(char* region) : pieces_(reinterpret_cast<ulonglong2*>(region + state_bytes)) {}

  // Brings mailbox i into the L2, so that a later post finds its line there.
  __device__ void prefetch(std::size_t i) const {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(pieces_ + i * num_pieces));
  }

  __device__ void post(std::size_t i, const T& value, unsigned epoch, posted what = posted::aggregate) const {
    unsigned long long words[num_pieces] = {};
    memcpy(words, &value, sizeof(T));
    const unsigned long long tag = static_cast<unsigned long long>(what) << 32 | epoch;
#pragma unroll
    for (int piece = 0; piece < num_pieces; ++piece)
      asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(
                       pieces_ + i * num_pieces + piece),
                   "l"(words[piece]), "l"(tag)
                   : "memory");
  }

  // What a mailbox held when it was read.
  struct letter {
    unsigned long long words[num_pieces], tags[num_pieces];

    __device__ bool is_of(unsigned epoch) const {
      bool all = static_cast<unsigned>(tags[0]) == epoch;
#pragma unroll
      for (int piece = 1; piece < num_pieces; ++piece) all = all && tags[piece] == tags[0];
      return all;
    }
    __device__ posted what() const { return static_cast<posted>(tags[0] >> 32); }
    __device__ T value() const {
      T value;
      memcpy(&value, words, sizeof(T));
      return value;
    }
  };
  __device__ letter read(std::size_t i) const {
    letter held;
#pragma unroll
    for (int piece = 0; piece < num_pieces; ++piece)
      asm volatile("{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                   : "=l"(held.words[piece]), "=l"(held.tags[piece])
                   : "l"(pieces_ + i * num_pieces + piece)
                   : "memory");
    return held;
  }

  // Whether mailbox i was written under `epoch`; if so, its value and what it is.
  __device__ bool peek(std::size_t i, T& value, unsigned epoch, posted& what) const {
    const letter held = read(i);
    if (!held.is_of(epoch)) return false;
    value = held.value();
    what = held.what();
    return true;
  }
  __device__ bool peek(std::size_t i, T& value, unsigned epoch) const {
    posted ignored;
    return peek(i, value, epoch, ignored);
  }

 private:
  ulonglong2* pieces_;
};

}  // namespace rungs::v0::parts
