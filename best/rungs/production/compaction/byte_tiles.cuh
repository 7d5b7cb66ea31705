// Items of one byte that are chosen, put side by side four at a time: a byte permutation closes the gaps in a word, and
// words are joined where they lie in shared memory, which holds zeros before.
//
// Byte stores would take an instruction for each item; two lanes of four would share a bank.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/production/compaction/tiles.cuh"

namespace rungs::RUNGS_ABI::production {

// Closes gaps in words. A lane keeps the selector of one pattern of four flags, and shuffles bring those of others.
class byte_packer {
 public:
  // `backwards`: from the last byte to the first one.
  explicit __device__ byte_packer(bool backwards) {
    const unsigned flags = threadIdx.x % 16;
    int count = 0;
    selector_ = 0x4444;  // zeros
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const unsigned from = backwards ? 3 - k : k;
      if ((flags >> from & 1) != 0) selector_ ^= (from ^ 4) << (4 * count++);
    }
    selector_ |= static_cast<unsigned>(count) << 19;  // behind what a permutation looks at
  }

  // Adds the flagged bytes of two words, the lower ones first, at a shared address. All lanes call it.
  __device__ void put(unsigned at, unsigned first, unsigned of_first, unsigned second, unsigned of_second) const {
    const unsigned selector = __shfl_sync(parts::full_mask, selector_, static_cast<int>(of_first), 16);
    const unsigned other = __shfl_sync(parts::full_mask, selector_, static_cast<int>(of_second), 16);
    const unsigned packed = __byte_perm(first, 0, selector), behind = __byte_perm(second, 0, other);
    const unsigned shift = selector >> 16;  // 32 at most
    const unsigned low = packed | __funnelshift_lc(0, behind, shift), high = __funnelshift_lc(behind, 0, shift);
    const unsigned in_word = at % 4 * 8, word = at & ~3u;
    join(word, low << in_word);
    join(word + 4, __funnelshift_l(low, high, in_word));
    join(word + 8, __funnelshift_l(high, 0, in_word));
  }

 private:
  unsigned selector_;

  static __device__ void join(unsigned word, unsigned bytes) {
    asm volatile("{ .reg .pred any; setp.ne.u32 any, %1, 0; @any red.shared.or.b32 [%0], %1; }" ::"r"(word), "r"(bytes)
                 : "memory");
  }
};

// A warp's chosen bytes side by side, in their order, from slot `before` on. The others that are present lie backwards,
// the tile's first one in its last slot.
template <class Shape, class Held, class Counts>
__device__ void part_bytes(unsigned char* staged, const lane_rows<Shape, Held>& items, unsigned chosen,
                           unsigned present, const Counts& counts, int warp, int before) {
  static_assert(Shape::neighbours == 8 && sizeof(Held) == 1);
  const unsigned slots = static_cast<unsigned>(__cvta_generic_to_shared(staged));
  const byte_packer forth(false), back(true);
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const unsigned first = items.rows[row].word(0), second = items.rows[row].word(1);
    const unsigned flags = chosen >> (row * 8) & 255, others = (present & ~chosen) >> (row * 8) & 255;
    const int rank = before + counts.before(row);
    if (counts.of_warp(row) > 0) forth.put(slots + static_cast<unsigned>(rank), first, flags & 15, second, flags >> 4);
    const int others_through = Shape::position(warp, row) - rank + __popc(others);
    if (counts.of_warp(row) < Shape::row_items)
      back.put(slots + static_cast<unsigned>(Shape::tile_items - others_through), second, others >> 4, first,
               others & 15);
  }
}

// Clears bytes from a place that is aligned to 16; rounds up to 16.
template <int block_threads>
__device__ void clear_bytes(unsigned char* bytes, int count) {
  const auto words = reinterpret_cast<uint4*>(bytes);
  for (int i = static_cast<int>(threadIdx.x); i * 16 < count; i += block_threads) words[i] = uint4{0, 0, 0, 0};
}

// Chunks of 16 bytes that begin `offset` words and `bits` bits behind those of `from`.
template <int block_threads, int offset>
__device__ void store_chunks(const uint4* from, unsigned bits, uint4* to, int count) {
#pragma unroll 1  // more iterations at once would take registers from the whole kernel
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) {
    const uint4 here = from[i], next = from[i + 1];
    const unsigned words[8] = {here.x, here.y, here.z, here.w, next.x, next.y, next.z, next.w};
    to[i] = uint4{__funnelshift_r(words[offset], words[offset + 1], bits),
                  __funnelshift_r(words[offset + 1], words[offset + 2], bits),
                  __funnelshift_r(words[offset + 2], words[offset + 3], bits),
                  __funnelshift_r(words[offset + 3], words[offset + 4], bits)};
  }
}

// Writes `count` staged bytes from slot `slot` on by vectors. 16 bytes behind the last one can be read.
template <int block_threads>
__device__ void store_bytes_by_vectors(const unsigned char* staged, int slot, unsigned char* d_out, int count) {
  static_assert(block_threads >= 2 * parts::warp_threads);
  const int thread = static_cast<int>(threadIdx.x);
  const int to_vector = static_cast<int>((0 - reinterpret_cast<std::uintptr_t>(d_out)) % 16);
  const int head = to_vector < count ? to_vector : count, num_chunks = (count - head) / 16;
  const int tail = head + num_chunks * 16;
  const int edge = thread < 16 ? thread : tail + thread - parts::warp_threads;
  if (thread < head || (thread >= parts::warp_threads && edge < count)) d_out[edge] = staged[slot + edge];
  const int first = slot + head;
  const auto from = reinterpret_cast<const uint4*>(staged) + first / 16;
  const auto to = reinterpret_cast<uint4*>(d_out + head);
  const unsigned bits = static_cast<unsigned>(first) % 4 * 8;
  switch (first / 4 % 4) {
    case 0:
      return store_chunks<block_threads, 0>(from, bits, to, num_chunks);
    case 1:
      return store_chunks<block_threads, 1>(from, bits, to, num_chunks);
    case 2:
      return store_chunks<block_threads, 2>(from, bits, to, num_chunks);
    default:
      return store_chunks<block_threads, 3>(from, bits, to, num_chunks);
  }
}
template <int block_threads, class Held, class OutputIteratorT>
__device__ void store_bytes(const unsigned char* staged, int slot, OutputIteratorT d_out, int count) {
  if constexpr (std::is_same_v<OutputIteratorT, Held*>) {
    store_bytes_by_vectors<block_threads>(staged, slot, reinterpret_cast<unsigned char*>(d_out), count);
  } else {
    const auto items = reinterpret_cast<const Held*>(staged) + slot;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads)
      *(d_out + static_cast<std::ptrdiff_t>(i)) = value_of(items[i]);
  }
}

}  // namespace rungs::RUNGS_ABI::production
