// Mailboxes, through which blocks of one launch send each other values without a fence.
//
// A mailbox is 16 bytes for every 8 of T: eight of the value, and the tag of the call. One instruction reads or writes
// both, so who sees the tag sees the value. Who posts a prefix, and not the aggregate of one tile, posts the tag's
// complement. All variants and types use this one format, and so none can mistake what another has left.
#pragma once

#include <cstddef>
#include <cstring>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

// Marks what one call has posted. An epoch (state.cuh) is one, a random number (tags.cuh) another; 0 is none.
using tag = unsigned long long;

// What a value in a mailbox is. Only who looks back over several blocks needs to know.
enum class posted : unsigned char { aggregate, prefix };

// One after the other, from `begin` on, which is aligned to 16 bytes.
template <class T>
class mailboxes {
  static constexpr int num_pieces = (sizeof(T) + 7) / 8;

 public:
  static constexpr std::size_t bytes(std::size_t num_mailboxes) {
    return num_mailboxes * num_pieces * sizeof(ulonglong2);
  }

  explicit __host__ __device__ mailboxes(char* begin) : pieces_(reinterpret_cast<ulonglong2*>(begin)) {}

  // Brings mailbox i into the L2, so that a later post finds its line there.
  __device__ void prefetch(std::size_t i) const {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(pieces_ + i * num_pieces));
  }

  __device__ void post(std::size_t i, const T& value, tag of_call, posted what = posted::aggregate) const {
    unsigned long long words[num_pieces] = {};
    memcpy(words, &value, sizeof(T));
    const tag written = what == posted::aggregate ? of_call : ~of_call;
#pragma unroll
    for (int piece = 0; piece < num_pieces; ++piece)
      asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(
                       pieces_ + i * num_pieces + piece),
                   "l"(words[piece]), "l"(written)
                   : "memory");
  }

  // What a mailbox held when it was read.
  struct letter {
    unsigned long long words[num_pieces];
    tag tags[num_pieces];

    // Whether it was posted under that very tag: an aggregate's, or its complement for a prefix's.
    __device__ bool bears(tag expected) const {
      bool all = tags[0] == expected;
#pragma unroll
      for (int piece = 1; piece < num_pieces; ++piece) all = all && tags[piece] == expected;
      return all;
    }
    // Whether it is the call's, whatever it is.
    __device__ bool is_of(tag of_call) const { return bears(of_call) || bears(~of_call); }
    __device__ posted what(tag of_call) const { return tags[0] == of_call ? posted::aggregate : posted::prefix; }
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

  // Whether mailbox i was posted by the call; if so, its value and what it is.
  __device__ bool peek(std::size_t i, T& value, tag of_call, posted& what) const {
    const letter held = read(i);
    if (!held.is_of(of_call)) return false;
    value = held.value();
    what = held.what(of_call);
    return true;
  }
  __device__ bool peek(std::size_t i, T& value, tag of_call) const {
    posted ignored;
    return peek(i, value, of_call, ignored);
  }

 private:
  ulonglong2* pieces_;
};

}  // namespace rungs::RUNGS_ABI::parts
