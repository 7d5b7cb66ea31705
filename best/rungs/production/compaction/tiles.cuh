// Tiles of what is compacted: which items a lane holds, how they are read, and how many chosen ones precede each.
//
// A tile belongs to a block. Its warps hold one part each, one behind the other. A part is made of rows, and a row of
// 32 lanes with a few neighbours each. So accesses are coalesced, and the order of the items is that of warps, rows,
// lanes and neighbours. The shape does not depend on the alignment: what is folded has the same bits at any.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/compaction/lane_rows.cuh"
#include "rungs/production/compaction/unaligned_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// A tile of a block: `num_warps` parts of `num_rows` rows, in which a lane has `neighbours` items.
template <int neighbours_, int num_rows_, int num_warps_>
struct rows_of_warps {
  static constexpr int neighbours = neighbours_, num_rows = num_rows_, num_warps = num_warps_;
  static constexpr int block_threads = num_warps * parts::warp_threads;
  static constexpr int row_items = neighbours * parts::warp_threads, warp_items = row_items * num_rows;
  static constexpr int tile_items = warp_items * num_warps;
  static_assert(num_rows * neighbours <= 32 && tile_items <= 0x10000, "flags of a lane fill a word, places a short");

  // Where the lane's neighbours of a row begin, counted from the tile's first item.
  static __device__ int position(int warp, int row) {
    return warp * warp_items + row * row_items + static_cast<int>(threadIdx.x) % parts::warp_threads * neighbours;
  }
  // The flag of a lane's item in its word.
  static __device__ constexpr unsigned bit(int row, int k) { return 1u << (row * neighbours + k); }
};

// As many neighbours as a lane reads by one vector of the widest items.
constexpr int vector_neighbours(std::size_t widest_bytes, int most_neighbours) {
  const int vector = widest_bytes <= 2 ? 8 : widest_bytes <= 4 ? 4 : widest_bytes <= 8 ? 2 : 1;
  return vector < most_neighbours ? vector : most_neighbours;
}

// The tile of a block that has only one: at most 64 bytes of the widest item for each lane, or 128 where what is held
// beside such items leaves room for eight rows of 8-byte ones.
constexpr int rows_of_one_tile(std::size_t widest_bytes, int rows_of_8_bytes) {
  if (widest_bytes > 4 && widest_bytes <= 8) return rows_of_8_bytes;
  return widest_bytes <= 16 ? 4 : widest_bytes <= 32 ? 2 : 1;
}
template <std::size_t widest_bytes, int most_neighbours, int rows_of_8_bytes = 4>
struct tile_shape : rows_of_warps<vector_neighbours(widest_bytes, most_neighbours),
                                  rows_of_one_tile(widest_bytes, rows_of_8_bytes), 8> {};

// An item as a lane holds it: types that registers do not hold as they are travel as words.
template <class Item>
using held = std::conditional_t<device::is_carried<Item>, Item, device::boxed<Item>>;
template <class Item>
struct type_in {
  using named = Item;
};
template <class Item>
struct type_in<device::boxed<Item>> {
  using named = Item;
};
// The caller's item that is held.
template <class Held>
__device__ typename type_in<Held>::named value_of(const Held& item) {
  return item;
}

// An iterator as a tile reads it: pointers to items that lie in memory as boxes do become pointers to boxes.
template <class InputIteratorT>
auto as_held(InputIteratorT d_in) {
  using item = parts::item_of<InputIteratorT>;
  if constexpr (!device::is_carried<item> && device::lies_in_boxes<item, InputIteratorT>)
    return reinterpret_cast<const device::boxed<item>*>(d_in);
  else
    return d_in;
}
template <class Item>
using held_of = std::conditional_t<std::is_same_v<Item, typename type_in<Item>::named>, held<Item>, Item>;

// Output iterators need not say what they take.
template <class Iterator>
inline constexpr bool is_vectorisable = false;
template <class Item>
inline constexpr bool is_vectorisable<Item*> = parts::is_vectorisable<Item*>;
// Whether an iterator's vectors of `count` items are aligned.
template <int count, class Iterator>
bool is_aligned(Iterator iterator) {
  if constexpr (is_vectorisable<Iterator>)
    return reinterpret_cast<std::uintptr_t>(iterator) % parts::at_most(sizeof(parts::item_of<Iterator>) * count, 16) ==
           0;
  else
    return false;
}

// Whether there is a vector before and behind a whole tile, so that it can be shifted.
template <class Shape>
__device__ bool can_be_shifted(std::size_t first, std::size_t last) {
  return first >= Shape::neighbours && last - first >= Shape::tile_items + Shape::neighbours - 1;
}

// The lane's items of the tile that begins at `first`. `last` is the last item of all; what is behind it reads as that
// one again. Whole tiles of aligned items come by vectors, all of which are on their way before the first one is looked
// at; with `unaligned`, so do others.
template <class Shape, class Held, bool unaligned = false, class InputIteratorT>
__device__ lane_rows<Shape, Held> read_tile(InputIteratorT d_in, std::size_t first, std::size_t last, int warp,
                                            bool by_vectors) {
  constexpr int count = Shape::neighbours;
  using neighbours = neighbours_of<Held, count>;
  lane_rows<Shape, Held> items;
  if constexpr (reads_vectors<InputIteratorT, Held, count>) {
    if (by_vectors && last - first >= Shape::tile_items - 1) {
#pragma unroll
      for (int row = 0; row < Shape::num_rows; ++row) {
        const auto from = d_in + first + Shape::position(warp, row);
        items.rows[row] = neighbours(*reinterpret_cast<const access<sizeof(Held) * count>*>(from));
      }
      return items;
    }
    if constexpr (unaligned && is_shiftable<Held, count>)
      if (!by_vectors && can_be_shifted<Shape>(first, last))
        return read_shifted<Shape, Held>(d_in + first + warp * Shape::warp_items);
    if constexpr (unaligned && is_read_by_parts<Held, count>)
      if (!by_vectors && last - first >= Shape::tile_items - 1)
        return read_by_parts<Shape, Held>(d_in + first + warp * Shape::warp_items, [](int) { return true; });
  }
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const std::size_t at = first + Shape::position(warp, row);
    Held read[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const std::size_t i = at + k < last ? at + k : last;
      read[k] = static_cast<Held>(d_in[static_cast<std::ptrdiff_t>(i)]);
    }
    items.rows[row] = neighbours(read);
  }
  return items;
}

// Tells the L2 that a block will read `count` items; iterators have no place there.
template <int block_threads, class InputIteratorT>
__device__ void bring_to_l2(InputIteratorT d_in, std::size_t first, int count) {
  if constexpr (std::is_pointer_v<InputIteratorT>) {
    constexpr int line_bytes = 128, item_bytes = static_cast<int>(sizeof(*d_in));
    const auto begin = reinterpret_cast<const char*>(d_in + first);
    for (int at = static_cast<int>(threadIdx.x) * line_bytes; at < count * item_bytes; at += block_threads * line_bytes)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + at));
  }
}

// Those of the lane's items that are flagged; what the others are does not matter.
template <class Shape, class Held, bool unaligned = false, class InputIteratorT>
__device__ lane_rows<Shape, Held> read_flagged(InputIteratorT d_in, std::size_t first, std::size_t last, unsigned flags,
                                               int warp, bool by_vectors) {
  constexpr int count = Shape::neighbours;
  const auto of_row = [](unsigned of_lane, int row) {
    return of_lane >> (row * count) & static_cast<unsigned>((1ull << count) - 1);
  };
  if constexpr (reads_vectors<InputIteratorT, Held, count>) {
    if constexpr (unaligned && is_read_by_parts<Held, count>)
      if (!by_vectors && last - first >= Shape::tile_items - 1)
        return read_by_parts<Shape, Held>(d_in + first + warp * Shape::warp_items,
                                          [&](int row) { return of_row(flags, row) != 0; });
  }
  lane_rows<Shape, Held> items;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const std::size_t at = first + Shape::position(warp, row);
    const unsigned chosen = of_row(flags, row);
    if constexpr (reads_vectors<InputIteratorT, Held, count>) {
      if (by_vectors && chosen != 0 && at + count - 1 <= last) {
        using vector = access<sizeof(Held) * count>;
        items.rows[row] = neighbours_of<Held, count>(*reinterpret_cast<const vector*>(d_in + at));
        continue;
      }
    }
    Held read[count];
#pragma unroll
    for (int k = 0; k < count; ++k)
      if ((chosen >> k & 1) != 0) read[k] = static_cast<Held>(d_in[static_cast<std::ptrdiff_t>(at + k)]);
    items.rows[row] = neighbours_of<Held, count>(read);
  }
  return items;
}

// The flags of the lane's items that are there, where a tile has `left` items.
template <class Shape>
__device__ unsigned flags_present(int warp, int left) {
  if (left >= Shape::tile_items) return parts::full_mask >> (32 - Shape::num_rows * Shape::neighbours);
  unsigned present = 0;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const int there = left - Shape::position(warp, row);
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k)
      if (k < there) present |= Shape::bit(row, k);
  }
  return present;
}

// The flags of the lane's items that are present and pass `test`(row, k). Whole tiles need not ask which are present.
template <class Shape, class Test>
__device__ unsigned flags_where(unsigned present, Test test) {
  unsigned flags = 0;
  if (present == parts::full_mask >> (32 - Shape::num_rows * Shape::neighbours)) {
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < Shape::neighbours; ++k)
        if (test(row, k)) flags |= Shape::bit(row, k);
    return flags;
  }
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k)
      if ((present & Shape::bit(row, k)) != 0 && test(row, k)) flags |= Shape::bit(row, k);
  return flags;
}

// The item before the warp's first one; there is none before the first of all.
template <class Shape, class Held, class InputIteratorT>
__device__ Held read_before_warp(InputIteratorT d_in, std::size_t first, std::size_t last, int warp) {
  const std::size_t at = first + static_cast<std::size_t>(warp) * Shape::warp_items;
  return static_cast<Held>(d_in[static_cast<std::ptrdiff_t>(at == 0 ? 0 : parts::at_most(at - 1, last))]);
}

// The flags of the lane's items that differ from the one before; the first of all differs from nothing. `before_warp`
// is the item before the warp's first one. Items behind the last one differ from nothing, too. join(row, k) is called
// for each item that equals the one before, and may be for those that are not there.
struct nothing_to_join {
  __device__ void operator()(int, int) const {}
};
template <class Shape, class Held, class EqualityOpT, class Join = nothing_to_join>
__device__ unsigned flags_of_heads(const lane_rows<Shape, Held>& items, const Held& before_warp, bool is_first_tile,
                                   int warp, unsigned present, EqualityOpT equality_op, Join join = {}) {
  const int lane = threadIdx.x % parts::warp_threads;
  Held before_row[Shape::num_rows];
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    // Lane 0 gets what the last lane has of the row before.
    const bool gives_row_before = row > 0 && lane == parts::warp_threads - 1;
    Held given = items(row, Shape::neighbours - 1);
    if (gives_row_before) given = items(row > 0 ? row - 1 : 0, Shape::neighbours - 1);
    before_row[row] = parts::shuffle_from(given, (lane + parts::warp_threads - 1) % parts::warp_threads);
    if (row == 0 && lane == 0) before_row[row] = before_warp;
  }
  unsigned heads = 0;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const Held before = before_row[row];
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k) {
      const Held left = k == 0 ? before : items(row, k == 0 ? 0 : k - 1);
      if (!equality_op(value_of(left), value_of(items(row, k))))
        heads |= Shape::bit(row, k);
      else
        join(row, k);
    }
  }
  if (is_first_tile && warp == 0 && lane == 0) heads |= 1;
  return heads & present;
}

// How many of the warp's flags precede a lane's, row by row: the counts of all rows travel in one word, which is
// scanned once. If it `may_split`, what precedes a lane must fit, but not what is in a full row: the warp's counts are
// then held in two parts. A narrower word may do; whoever asks for ranks executes more instructions.
template <class Shape, bool may_split = false>
class row_counts {
  static constexpr unsigned long long most = Shape::row_items - (may_split ? 1 : 0);
  static constexpr bool fit_word = most < 1ull << (32 / Shape::num_rows);
  using word = std::conditional_t<fit_word, unsigned, unsigned long long>;
  static constexpr int bits = static_cast<int>(sizeof(word)) * 8 / Shape::num_rows;
  static constexpr word mask = ~word{0} >> (static_cast<int>(sizeof(word)) * 8 - bits);
  static_assert(most <= mask);
  static constexpr bool is_split = static_cast<unsigned long long>(Shape::row_items) > mask;

 public:
  row_counts() = default;
  explicit __device__ row_counts(unsigned flags) {
    word counts = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row)
      counts |= static_cast<word>(__popc(flags & of_row(row))) << (row * bits);
    const word through = parts::warp_scan(counts, plus{});
    before_ = through - counts;
    of_warp_ = parts::shuffle_from(is_split ? before_ : through, parts::warp_threads - 1);
    if constexpr (is_split) of_last_lane_ = parts::shuffle_from(counts, parts::warp_threads - 1);
  }
  // The flags of a row in the word of a lane.
  static __device__ constexpr unsigned of_row(int row) {
    return ((1u << Shape::neighbours) - 1) << (row * Shape::neighbours);
  }
  __device__ int of_warp() const {
    int count = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) count += of_warp(row);
    return count;
  }
  __device__ int of_warp(int row) const {
    const int count = static_cast<int>(of_warp_ >> (row * bits) & mask);
    return is_split ? count + static_cast<int>(of_last_lane_ >> (row * bits) & mask) : count;
  }
  // Of the warp's flags those before the lane's in a row.
  __device__ int before(int row) const {
    int count = static_cast<int>(before_ >> (row * bits) & mask);
#pragma unroll
    for (int earlier = 0; earlier < row; ++earlier) count += of_warp(earlier);
    return count;
  }

 private:
  word before_, of_warp_, of_last_lane_;
};

// Counts of the warps of a block.
template <int num_warps>
struct warp_counts {
  int of_warp[num_warps];

  __device__ int before(int warp) const {
    int count = 0;
#pragma unroll
    for (int i = 0; i < num_warps; ++i) count += i < warp ? of_warp[i] : 0;
    return count;
  }
  // The same by the lanes of a warp, all of which call it.
  __device__ int before_by_lanes(int warp) const {
    static_assert(num_warps <= parts::warp_threads);
    const int lane = static_cast<int>(threadIdx.x) % parts::warp_threads;
    return parts::warp_aggregate(lane < warp ? of_warp[lane] : 0, plus{});
  }
};

// Items put one behind the other in shared memory. A store and an addition each, both predicated: the compiler would
// add a copy.
template <class Held>
class slots_in_shared {
 public:
  explicit __device__ slots_in_shared(Held* first) : at_(static_cast<unsigned>(__cvta_generic_to_shared(first))) {}

  __device__ void put_if(unsigned flag, const Held& item) {
    if constexpr (sizeof(Held) == 1) {
      asm volatile("{ .reg .pred put; setp.ne.u32 put, %2, 0; @put st.shared.u8 [%0], %1; @put add.u32 %0, %0, 1; }"
                   : "+r"(at_)
                   : "r"(bits_of<unsigned>(item)), "r"(flag)
                   : "memory");
    } else if constexpr (sizeof(Held) == 2) {
      asm volatile("{ .reg .pred put; setp.ne.u32 put, %2, 0; @put st.shared.u16 [%0], %1; @put add.u32 %0, %0, 2; }"
                   : "+r"(at_)
                   : "r"(bits_of<unsigned>(item)), "r"(flag)
                   : "memory");
    } else if constexpr (sizeof(Held) == 4) {
      asm volatile("{ .reg .pred put; setp.ne.u32 put, %2, 0; @put st.shared.u32 [%0], %1; @put add.u32 %0, %0, 4; }"
                   : "+r"(at_)
                   : "r"(bits_of<unsigned>(item)), "r"(flag)
                   : "memory");
    } else if constexpr (sizeof(Held) == 8) {
      asm volatile("{ .reg .pred put; setp.ne.u32 put, %2, 0; @put st.shared.u64 [%0], %1; @put add.u32 %0, %0, 8; }"
                   : "+r"(at_)
                   : "l"(bits_of<unsigned long long>(item)), "r"(flag)
                   : "memory");
    } else if (flag != 0) {
      *static_cast<Held*>(__cvta_shared_to_generic(at_)) = item;
      at_ += sizeof(Held);
    }
  }

 private:
  unsigned at_;

  template <class Word>
  static __device__ Word bits_of(const Held& item) {
    Word bits = 0;
    memcpy(&bits, static_cast<const void*>(&item), sizeof(Held));
    return bits;
  }
};

// The chosen ones side by side, in their order; `before` of them are of the warps before. The others that are present,
// if they are kept, side by side from slot `others` on.
template <bool keeps_others, class Shape, class Held, class Counts>
__device__ void stage_chosen(Held* staged, const lane_rows<Shape, Held>& items, unsigned chosen, unsigned present,
                             const Counts& counts, int warp, int before, int others) {
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const int rank = before + counts.before(row);
    slots_in_shared<Held> slots(staged + rank);
    slots_in_shared<Held> other_slots(staged + (keeps_others ? others + Shape::position(warp, row) - rank : 0));
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k) {
      slots.put_if(chosen & Shape::bit(row, k), items(row, k));
      if (keeps_others) other_slots.put_if(present & ~chosen & Shape::bit(row, k), items(row, k));
    }
  }
}

// Writes `count` staged items from d_out on. Narrow items are put together to words, which are stored as they lie in
// d_out. Four bytes behind the last item can be read.
template <int block_threads, class Held, class OutputIteratorT>
__device__ void store_staged(const Held* staged, OutputIteratorT d_out, int count) {
  if constexpr (sizeof(Held) <= 2 && std::is_same_v<OutputIteratorT, Held*>) {
    constexpr int word_items = 4 / static_cast<int>(sizeof(Held));
    const int behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(d_out) % 4 / sizeof(Held));
    const auto words = reinterpret_cast<const unsigned*>(staged);
    for (int i = static_cast<int>(threadIdx.x) * word_items - behind; i < count; i += block_threads * word_items) {
      if (i >= 0 && i + word_items <= count) {
        const int word = i / word_items;
        const unsigned shift = static_cast<unsigned>(i % word_items) * sizeof(Held) * 8;
        *reinterpret_cast<unsigned*>(d_out + i) = __funnelshift_r(words[word], words[word + 1], shift);
        continue;
      }
#pragma unroll
      for (int k = 0; k < word_items; ++k)
        if (i + k >= 0 && i + k < count) d_out[i + k] = staged[i + k];
    }
  } else {
    for (int i = threadIdx.x; i < count; i += block_threads)
      *(d_out + static_cast<std::ptrdiff_t>(i)) = value_of(staged[i]);
  }
}

}  // namespace rungs::RUNGS_ABI::production
