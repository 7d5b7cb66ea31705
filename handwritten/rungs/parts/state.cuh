// What lives in a zeroed_once workspace from call to call, laid out alike for all variants, so that one workspace
// serves many of them, one call at a time. Whatever a variant keeps here it leaves ready for the next call of any of
// them.
#pragma once

#include <cstring>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::v0::parts {

// Blocks that may leave a value in the state, per multiprocessor.
inline constexpr int state_blocks_per_multiprocessor = 64;

struct state {
  unsigned arrivals;                    // of blocks that are done, back to 0 after each call
  unsigned long long epoch_and_ticket;  // epoch << 32 | blocks that have started
};

constexpr std::size_t state_slots(int num_multiprocessors) {
  return std::size_t(num_multiprocessors) * state_blocks_per_multiprocessor;
}
constexpr std::size_t state_bytes(int num_multiprocessors) {
  return storage_alignment + state_slots(num_multiprocessors) * (sizeof(unsigned long long) + sizeof(ulonglong2));
}

// A ticket and the epoch of the call come with one atomic. Epochs run from 1 to 2^32 - 1 and then start again: a value
// left by an earlier call is taken for a new one only after that many calls in which its slot was not used.
__device__ inline unsigned ticket_of(unsigned long long drawn) { return static_cast<unsigned>(drawn); }
__device__ inline unsigned epoch_of(unsigned long long drawn) { return static_cast<unsigned>(drawn >> 32) + 1; }
__device__ inline unsigned long long next_epoch(unsigned long long drawn) {
  const unsigned epoch = epoch_of(drawn);
  return static_cast<unsigned long long>(epoch == 0xffffffffu ? 0 : epoch) << 32;
}

// One mailbox a block: a value of T and the epoch of the call that wrote it. Up to 8 bytes travel with their epoch in
// one word that one instruction reads or writes: who sees the epoch sees the value. Words of 8 and of 16 bytes have
// slots of their own, so neither is ever mistaken for the other. Larger values lie in scratch, and a slot says when
// they are there.
template <class T>
class mailboxes {
  static constexpr bool in_word = sizeof(T) <= 4, in_two_words = !in_word && sizeof(T) <= 8;

 public:
  static constexpr std::size_t bytes(int num_multiprocessors, std::size_t num_mailboxes) {
    return state_bytes(num_multiprocessors) + (in_word || in_two_words ? 0 : num_mailboxes * sizeof(T));
  }

  mailboxes(char* region, int num_multiprocessors)
      : words_(reinterpret_cast<unsigned long long*>(region + storage_alignment)),
        double_words_(reinterpret_cast<ulonglong2*>(words_ + state_slots(num_multiprocessors))),
        values_(reinterpret_cast<T*>(region + state_bytes(num_multiprocessors))) {}

  // Brings mailbox i into the L2, so that a later post finds its line there.
  __device__ void prefetch(unsigned i) const {
    const void* const mailbox = in_two_words ? static_cast<const void*>(double_words_ + i) : words_ + i;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(mailbox));
  }

  __device__ void post(unsigned i, const T& value, unsigned epoch) const {
    unsigned long long bits = 0;
    if constexpr (in_word || in_two_words) {
      memcpy(&bits, &value, sizeof(T));
    } else {
      values_[i] = value;
      __threadfence();
    }
    const unsigned long long tag = epoch;
    if constexpr (in_two_words) {
      asm volatile("{ .reg .b128 word; mov.b128 word, {%1, %2}; st.relaxed.gpu.global.b128 [%0], word; }" ::"l"(
                       double_words_ + i),
                   "l"(bits), "l"(tag)
                   : "memory");
    } else {
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words_ + i), "l"(tag << 32 | bits) : "memory");
    }
  }

  // Whether mailbox i was written under `epoch`; if so, its value.
  __device__ bool peek(unsigned i, T& value, unsigned epoch) const {
    unsigned long long bits, tag;
    if constexpr (in_two_words) {
      asm volatile("{ .reg .b128 word; ld.relaxed.gpu.global.b128 word, [%2]; mov.b128 {%0, %1}, word; }"
                   : "=l"(bits), "=l"(tag)
                   : "l"(double_words_ + i)
                   : "memory");
    } else {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(words_ + i) : "memory");
      tag = bits >> 32;
    }
    if (tag != epoch) return false;
    if constexpr (in_word || in_two_words) {
      memcpy(&value, &bits, sizeof(T));
    } else {
      __threadfence();
      value = values_[i];
    }
    return true;
  }

 private:
  unsigned long long* words_;
  ulonglong2* double_words_;
  T* values_;
};

}  // namespace rungs::v0::parts
