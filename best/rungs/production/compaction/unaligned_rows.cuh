// A warp's rows in memory where their vectors are not aligned.
//
// One by one, items of neighbouring lanes lie in different lines, and each access takes as many cycles as lines. On an
// H200 that bounds kernels of many items of four bytes or less. So lanes access aligned vectors, and give each other
// the words that lie beyond their own. Of wider items, or of less than 2 Mi, that took longer. Eight words of a lane
// leave no registers for it: they come by the fewest accesses that are aligned. All of this is for kernels of their
// own: in those for aligned items it took registers, and up to 15 % of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/compaction/lane_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// Whether a lane's items of a row can be shifted to vectors where they are not aligned.
template <class Item, int count>
inline constexpr bool is_shiftable = count > 1 && sizeof(Item) <= 4 && sizeof(Item) * count % 4 == 0 &&
                                     sizeof(Item) * count <= 16 && alignof(Item) == sizeof(Item);
// Whether they can come by accesses of one, two and four words.
template <class Item, int count>
inline constexpr bool is_read_by_parts = count == 8 && sizeof(Item) == 4 && alignof(Item) == 4;

// Eight words from `from` on, of which those before `aligned` lie before the first vector.
template <int aligned>
__device__ two_vectors eight_words(const unsigned* from) {
  alignas(16) unsigned words[8];
  const auto read = [&](auto access, int at) {
    access = *reinterpret_cast<const decltype(access)*>(from + at);
    memcpy(words + at, &access, sizeof(access));
  };
  if constexpr (aligned % 2 != 0) read(0u, 0);
  if constexpr (aligned == 2 || aligned == 3) read(uint2{}, aligned - 2);
  if constexpr (aligned == 4) read(uint4{}, 0);
  read(uint4{}, aligned);
  if constexpr (aligned <= 2) read(uint2{}, aligned + 4);
  if constexpr (aligned % 2 != 0) read(0u, 7);
  two_vectors together;
  memcpy(&together, words, sizeof(together));
  return together;
}
// The rows that begin at `of_warp`, where wants(row) says that the lane needs it.
template <class Shape, class Item, class Wants>
__device__ lane_rows<Shape, Item> read_by_parts(const Item* of_warp, Wants wants) {
  const auto* const from = reinterpret_cast<const unsigned*>(of_warp);
  const auto read = [&](auto aligned) {
    lane_rows<Shape, Item> items;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row)
      if (wants(row))
        items.rows[row] = neighbours_of<Item, 8>(eight_words<decltype(aligned)::value>(from + Shape::position(0, row)));
    return items;
  };
  switch (reinterpret_cast<std::uintptr_t>(of_warp) % 16) {
    case 4:
      return read(std::integral_constant<int, 3>{});
    case 8:
      return read(std::integral_constant<int, 2>{});
    case 12:
      return read(std::integral_constant<int, 1>{});
    default:
      return read(std::integral_constant<int, 4>{});
  }
}

// The words of a lane's row, and those behind or before them that lie in the same vectors.
template <class Shape, class Item>
struct shifted_words {
  using vector = access<sizeof(Item) * Shape::neighbours>;
  static constexpr int num_words = sizeof(vector) / 4;
  static constexpr int num_given = num_words - static_cast<int>(sizeof(Item)) / 4;  // that another lane has

  // By how many bytes lanes miss alignment, the same in all rows.
  static __device__ unsigned offset_of(const Item* of_warp) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(of_warp) % sizeof(vector));
  }
  // Moves words down by less than a vector.
  static __device__ void shift_down(unsigned (&words)[2 * num_words], unsigned offset) {
#pragma unroll
    for (int step = num_words / 2; step > 0; step /= 2)
#pragma unroll
      for (int i = 0; i + step < 2 * num_words; ++i) words[i] = (offset & (4 * step)) != 0 ? words[i + step] : words[i];
    if constexpr (sizeof(Item) < 4) {
#pragma unroll
      for (int i = 0; i < num_words; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 8 * offset);
    }
  }
};

// Reads the rows that begin at `of_warp`, from one vector before to one behind them, which is lane 0's.
template <class Shape, class Item>
__device__ lane_rows<Shape, Item> read_shifted(const Item* of_warp) {
  using words_of = shifted_words<Shape, Item>;
  using vector = typename words_of::vector;
  constexpr int num_words = words_of::num_words, num_rows = Shape::num_rows, lanes = parts::warp_threads;
  const int lane = threadIdx.x % lanes;
  const unsigned offset = words_of::offset_of(of_warp);
  const auto* const from =
      reinterpret_cast<const vector*>(reinterpret_cast<const unsigned char*>(of_warp) - offset) + lane;
  unsigned words[num_rows + 1][num_words] = {};
#pragma unroll
  for (int row = 0; row <= num_rows; ++row) {
    if (row == num_rows && lane > 0) continue;
    const vector read = from[row * lanes];
    memcpy(words[row], &read, sizeof(vector));
  }
  lane_rows<Shape, Item> items;
#pragma unroll
  for (int row = 0; row < num_rows; ++row) {
    unsigned shifted[2 * num_words] = {};
#pragma unroll
    for (int i = 0; i < num_words; ++i) shifted[i] = words[row][i];
#pragma unroll
    for (int i = 0; i < words_of::num_given; ++i) {
      const unsigned given = lane == 0 ? words[row + 1][i] : words[row][i];
      shifted[num_words + i] = __shfl_sync(parts::full_mask, given, (lane + 1) % lanes);
    }
    words_of::shift_down(shifted, offset);
    vector together;
    memcpy(&together, shifted, sizeof(together));
    items.rows[row] = neighbours_of<Item, Shape::neighbours>(together);
  }
  return items;
}

// Writes whole rows, one after the other, from `of_warp` on. Lanes store the vectors in which their items begin.
template <class Shape, class Item>
class shifted_writer {
  using words_of = shifted_words<Shape, Item>;
  using vector = typename words_of::vector;
  static constexpr int num_words = words_of::num_words;
  static constexpr int count = Shape::neighbours, lanes = parts::warp_threads;

 public:
  shifted_writer() = default;
  explicit __device__ shifted_writer(Item* of_warp) : of_warp_(of_warp), offset_(words_of::offset_of(of_warp)) {}
  // Whether vectors are not aligned, but items are.
  __device__ bool can_shift() const { return offset_ != 0 && offset_ % sizeof(Item) == 0; }

  __device__ void write(int row, const Item (&items)[count]) {
    const int lane = threadIdx.x % lanes;
    unsigned own[num_words], shifted[2 * num_words] = {};
    memcpy(own, static_cast<const void*>(items), sizeof(own));
#pragma unroll
    for (int i = 0; i < num_words; ++i) shifted[num_words + i] = own[i];
#pragma unroll
    for (int i = num_words - words_of::num_given; i < num_words; ++i) {
      const unsigned given = lane == lanes - 1 ? row_before_[i] : own[i];
      shifted[i] = __shfl_sync(parts::full_mask, given, (lane + lanes - 1) % lanes);
      row_before_[i] = own[i];
    }
    words_of::shift_down(shifted, static_cast<unsigned>(sizeof(vector)) - offset_);
    Item* const to = of_warp_ + row * Shape::row_items + lane * count;
    const int num_here = count - static_cast<int>(offset_ / sizeof(Item));  // of the lane's items in the first vector
    if (row > 0 || lane > 0) {
      vector together;
      memcpy(&together, shifted, sizeof(vector));
      *reinterpret_cast<vector*>(reinterpret_cast<unsigned char*>(to) - offset_) = together;
    } else {
      write_some(to, items, 0, num_here);
    }
    if (row == Shape::num_rows - 1 && lane == lanes - 1) write_some(to, items, num_here, count);
  }

 private:
  static __device__ void write_some(Item* to, const Item (&items)[count], int first, int end) {
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (k >= first && k < end) to[k] = items[k];
  }

  Item* of_warp_;
  unsigned offset_;
  unsigned row_before_[num_words] = {};
};

}  // namespace rungs::RUNGS_ABI::production
