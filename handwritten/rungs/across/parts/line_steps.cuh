// Items in tagged lines, and how many lines become steps.
#pragma once

#include <cstddef>
#include <cstring>

#include "rungs/across/parts/lines.cuh"
#include "rungs/across/parts/spans.cuh"
#include "rungs/parts/launch.cuh"

namespace rungs::RUNGS_ABI::across::parts {

// The items of a line, eight bytes, of which those behind the last item are zeros.
template <class T>
struct line_of_items {
  static constexpr int num_items = line_payload / sizeof(T);
  unsigned words[2];

  __device__ void load(const T* d_in, std::size_t index, std::size_t all_items) {
    T items[num_items];
    memset(static_cast<void*>(items), 0, sizeof(items));
#pragma unroll
    for (int i = 0; i < num_items; ++i)
      if (index * num_items + i < all_items) items[i] = d_in[index * num_items + i];
    memcpy(words, items, sizeof(items));
  }
  __device__ auto accumulator(int i) const {
    T items[num_items];
    memcpy(static_cast<void*>(items), words, sizeof(items));
    return static_cast<accumulator_of<T>>(items[i]);
  }
};

struct steps_of_lines {
  std::size_t num_blocks, lines, count;  // `lines` in each of `count` steps
};

// Of several steps, every thread has lines in every one, and as many: only so does it know that its peers' threads have
// ended the step before. Lines behind the last item are sent, too.
inline steps_of_lines plan_lines(const member& member, std::size_t num_lines, int block_threads) {
  using rungs::parts::at_most;
  using rungs::parts::ceil_div;
  const std::size_t most_lines = lines_of_source(member.tagged_bytes);
  if (num_lines <= most_lines) return {at_most(ceil_div(num_lines, block_threads), member.num_blocks), num_lines, 1};
  const std::size_t num_blocks = at_most(most_lines / block_threads, member.num_blocks);
  const std::size_t lines = most_lines / (num_blocks * block_threads) * (num_blocks * block_threads);
  return {num_blocks, lines, ceil_div(num_lines, lines)};
}

}  // namespace rungs::RUNGS_ABI::across::parts
