// Rows: what the 32 lanes of a warp read, scan and write together, 16 bytes a lane. A lane's items are neighbours, and
// so are the lanes: accesses are coalesced, and nothing has to be transposed through shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::parts {

// Moves the words of two vectors down by `offset` bytes, a multiple of `unit` less than a vector: the first num_words
// become the vector that begins there.
template <int num_words, std::size_t unit>
__device__ void shift_down(unsigned* words, unsigned offset) {
#pragma unroll
  for (int step = num_words / 2; step > 0; step /= 2) {
    if (4 * step % unit != 0) continue;
#pragma unroll
    for (int i = 0; i + step < 2 * num_words; ++i) words[i] = (offset & (4 * step)) != 0 ? words[i + step] : words[i];
  }
  if constexpr (unit < 4) {
#pragma unroll
    for (int i = 0; i < num_words; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 8 * offset);
  }
}

// What an output iterator takes: items of the accumulator's type where it does not say.
template <class OutputIteratorT, class T, class = void>
struct written {
  using item = T;
};
template <class Item, class T>
struct written<Item*, T, void> {
  using item = Item;
};

// What rows hold where T is accumulated: items of T, or of what a maybe is made of.
template <class InputIteratorT, class OutputIteratorT, class T>
using item_of_rows =
    std::conditional_t<std::is_same_v<item_of<InputIteratorT>, T> ||
                           std::is_same_v<typename written<OutputIteratorT, typename type_under<T>::named>::item, T>,
                       T, typename type_under<T>::named>;

// Of a lane's items in its first row the first ones that are left out, not all. With an identity they are replaced.
template <bool pads_with_identity>
struct left_out {};
template <>
struct left_out<false> {
  int absent = 0;
};

constexpr std::size_t greatest_of(std::size_t a, std::size_t b, std::size_t c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

// Rows of a warp in registers. Items are accumulated in T; a lane holds as many neighbours of a row as make 16 bytes of
// the widest of input, item and output, but no more than four, for each takes a register. Narrow ones that are scanned
// by an operator without an identity, which may be any, are up to sixteen, in as many fewer rows: more of its calls are
// a lane's own then, and fewer go between lanes.
//
// Where T is a maybe, the items are what it is made of: each of them is there, for what lies behind the last one reads
// as that one again, and nobody asks for what comes of it. Only what precedes a row can be absent, and from the second
// row on the compiler knows that it is not. (Inputs and outputs that are maybes themselves are held as such.)
template <int rows_of_four, class InputIteratorT, class OutputIteratorT, class T>
struct rows : left_out<std::is_same_v<item_of_rows<InputIteratorT, OutputIteratorT, T>, T>> {
  using input_iterator = InputIteratorT;
  using output_iterator = OutputIteratorT;
  using accumulator = T;
  using input = item_of<InputIteratorT>;
  using general = rows;
  static constexpr bool is_whole = false, may_lack_first = false;
  using output = typename written<OutputIteratorT, typename type_under<T>::named>::item;
  using item = item_of_rows<InputIteratorT, OutputIteratorT, T>;
  static constexpr bool pads_with_identity = std::is_same_v<item, T>;
  static constexpr std::size_t widest_bytes = greatest_of(sizeof(input), sizeof(output), sizeof(item));
  static constexpr bool holds_more =
      widest_bytes < 4 && !pads_with_identity && is_vectorisable<InputIteratorT> && is_vectorisable<OutputIteratorT>;
  static constexpr int lane_items = holds_more          ? static_cast<int>(at_most(16 / widest_bytes, 4 * rows_of_four))
                                    : widest_bytes < 4  ? 4
                                    : widest_bytes < 16 ? 16 / widest_bytes
                                                        : 1;
  static constexpr int num_rows = holds_more ? 4 * rows_of_four / lane_items : rows_of_four, rows_of_warp = num_rows;
  static constexpr int row_items = lane_items * warp_threads, warp_items = row_items * num_rows;
  static constexpr bool reads_vectors = is_vectorisable<InputIteratorT> && 16 % (lane_items * sizeof(input)) == 0;
  static constexpr bool writes_vectors = is_vectorisable<OutputIteratorT> && 16 % (lane_items * sizeof(output)) == 0;

  item items[num_rows][lane_items];

  // Whether an end may be accessed by vectors. Unlike reductions, scans must not read by the non-coherent path: they
  // may work in place.
  static bool reads_aligned(InputIteratorT d_in) {
    if constexpr (reads_vectors) return reinterpret_cast<std::uintptr_t>(d_in) % (lane_items * sizeof(input)) == 0;
    return false;
  }
  static bool writes_aligned(OutputIteratorT d_out) {
    if constexpr (writes_vectors) return reinterpret_cast<std::uintptr_t>(d_out) % (lane_items * sizeof(output)) == 0;
    return false;
  }
  // Whether all ends that can be may be; an end that never can does not stand in the way of the other.
  static bool vectorised(InputIteratorT d_in, OutputIteratorT d_out) {
    return (reads_aligned(d_in) || !reads_vectors) && (writes_aligned(d_out) || !writes_vectors);
  }
  // How many items before both ends vectors would be aligned, of the input to 16 bytes; 0 where there is no such
  // number.
  static int items_ahead(InputIteratorT d_in, OutputIteratorT d_out) {
    if constexpr (reads_vectors && writes_vectors) {
      const std::size_t bytes = reinterpret_cast<std::uintptr_t>(d_in) % 16, items = bytes / sizeof(input);
      if (bytes % sizeof(input) == 0 && writes_aligned(d_out - items)) return static_cast<int>(items);
    }
    return 0;
  }

  // The lane's first item in a row, counted from the warp's first.
  static __device__ int position(int row) { return (row * warp_threads + threadIdx.x % warp_threads) * lane_items; }

  // All rows of the warp whose items begin at `first`, without a predicate: they are all there, and aligned.
  __device__ void load(InputIteratorT d_in, std::size_t first) { load_all(d_in + first); }
  __device__ void store(OutputIteratorT d_out, std::size_t first) const {
    const OutputIteratorT to = d_out + first;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      if constexpr (writes_vectors) {
        *reinterpret_cast<vector_of_lane<output>*>(to + position(row)) = pack(row);
      } else {
#pragma unroll
        for (int i = 0; i < lane_items; ++i) parts::store(to + (position(row) + i), items[row][i]);
      }
    }
  }

  // The same for any alignment and any number of items; what is not there reads as the padding. All lanes call these,
  // and they touch nothing but the warp's own items and the last one, which no warp of its tile may have replaced yet.
  template <class ScanOpT>
  __device__ void load_present(InputIteratorT d_in, std::size_t first, std::size_t num_items, bool by_vectors,
                               ScanOpT scan_op) {
    const int left = present(first, num_items);
    const InputIteratorT from = d_in + first;
    if constexpr (reads_vectors) {
      if (by_vectors || (is_shiftable<input> && counts_in_items(from))) {
        if (by_vectors)
          load_some<false>(from, left);
        else if constexpr (is_shiftable<input>)
          load_some<true>(from, left);
        if (left < warp_items) mask(left, padding(d_in, num_items, scan_op));
        return;
      }
    }
    if constexpr (pads_with_identity)
      load_singly(from, 0, left, scan_op);
    else
      load_up_to(from, static_cast<std::ptrdiff_t>(num_items - first) - 1);
  }
  __device__ void store_present(OutputIteratorT d_out, std::size_t first, std::size_t num_items,
                                bool by_vectors) const {
    const int left = present(first, num_items);
    const OutputIteratorT to = d_out + first;
    if constexpr (writes_vectors) {
      if (by_vectors || (is_shiftable<output> && counts_in_items(to))) {
        if (by_vectors)
          store_some<false>(to, left);
        else if constexpr (is_shiftable<output>)
          store_some<true>(to, left);
        return;
      }
    }
    store_singly(to, 0, left);
  }

  // The same for the first warp's items where the first `ahead` of them are not there, which takes an identity.
  template <class ScanOpT>
  __device__ void load_behind(InputIteratorT d_in, int ahead, std::size_t num_items, ScanOpT scan_op) {
    load_singly(d_in, ahead, present(0, num_items), scan_op);
  }
  __device__ void store_behind(OutputIteratorT d_out, int ahead, std::size_t num_items) const {
    store_singly(d_out, ahead, present(0, num_items));
  }

  // From shared memory: by vectors where those of the lanes are aligned, else two vectors a lane where `around` says
  // that what shares one with the first and the last item may be read, too, else item by item.
  __device__ void load_shared(const input* from, bool around) {
    if constexpr (reads_vectors) {
      const unsigned offset = misses_bytes(from);
      if (offset == 0) {
        load_all(from);
        return;
      }
      if constexpr (lane_bytes<input> >= 4) {
        if (around) {
          load_shifted(reinterpret_cast<const unsigned char*>(from) - offset, offset);
          return;
        }
      }
    }
    load_each(from);
  }
  // What stands for items behind the last: the identity, or, where there is none, the last of the num_items at `from`.
  template <class Iterator, class ScanOpT>
  static __device__ item padding(Iterator from, std::size_t num_items, ScanOpT) {
    if constexpr (pads_with_identity)
      return ScanOpT::template identity<item>();
    else
      return static_cast<item>(from[num_items - 1]);
  }
  // Replaces what stands behind the first `left` items.
  __device__ void mask(int left, const item& padding) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        if (position(row) + i >= left) items[row][i] = padding;
  }
  // Replaces the first `ahead` items, less than a row, by the identity. Where there is none, they are less than a
  // lane's items, and left out.
  template <class ScanOpT>
  __device__ void mask_ahead(int ahead, ScanOpT) {
    if constexpr (pads_with_identity) {
#pragma unroll
      for (int i = 0; i < lane_items; ++i)
        if (position(0) + i < ahead) items[0][i] = ScanOpT::template identity<item>();
    } else {
      this->absent = position(0) == 0 ? ahead : 0;
    }
  }

  // The aggregate of all the warp's items, in every lane.
  template <class ScanOpT>
  __device__ item aggregate(ScanOpT scan_op) const {
    if constexpr (is_commutative<ScanOpT>) {
      item of_rows[num_rows];
#pragma unroll
      for (int row = 0; row < num_rows; ++row) of_rows[row] = of_lane(row, scan_op);
      return warp_aggregate(fold<item, 0, num_rows>(of_rows, scan_op), scan_op);
    } else {
      item total = warp_aggregate(of_lane(0, scan_op), scan_op);
#pragma unroll
      for (int row = 1; row < num_rows; ++row) total = scan_op(total, warp_aggregate(of_lane(row, scan_op), scan_op));
      return total;
    }
  }
  // The aggregate of the lane's items in a row.
  template <class ScanOpT>
  __device__ item of_lane(int row, ScanOpT scan_op) const {
    if constexpr (!pads_with_identity) {
      if (row == 0 && this->absent > 0) {
        item total = items[0][lane_items - 1];
#pragma unroll
        for (int i = lane_items - 2; i >= 0; --i)
          if (i >= this->absent) total = scan_op(items[0][i], total);
        return total;
      }
    }
    return fold<item, 0, lane_items>(items[row], scan_op);
  }

  // What precedes each of a lane's rows in the warp. All the shuffles of a scan are in here, none in finish(), so this
  // can be done before what precedes the warp is known.
  struct lane_prefixes {
    T of_rows[num_rows];
  };
  template <class ScanOpT>
  __device__ lane_prefixes scan_lanes(ScanOpT scan_op) const {
    item scanned[num_rows];
#pragma unroll
    for (int row = 0; row < num_rows; ++row) scanned[row] = of_lane(row, scan_op);
    // Row by row would be one chain of dependent shuffles; step by step, the rows' chains run side by side.
    const int lane = threadIdx.x % warp_threads;
#pragma unroll
    for (int offset = 1; offset < warp_threads; offset *= 2) {
#pragma unroll
      for (int row = 0; row < num_rows; ++row) {
        const item left = shuffle_up(scanned[row], offset);
        if (is_idempotent<ScanOpT> || lane >= offset) scanned[row] = scan_op(left, scanned[row]);
      }
    }
    lane_prefixes lanes;
    T rows_before = ScanOpT::template identity<T>();
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const item of_row = shuffle_from(scanned[row], warp_threads - 1);
      const item left = shuffle_up(scanned[row], 1);
      lanes.of_rows[row] = lane == 0 ? rows_before : T(scan_op(rows_before, left));
      rows_before = scan_op(rows_before, of_row);
    }
    return lanes;
  }

  // An aggregate of any number of items that is known not to be one of none.
  static __device__ const item& held(const T& aggregate) {
    if constexpr (pads_with_identity)
      return aggregate;
    else
      return aggregate.value;
  }

  // Makes every item the aggregate of `before` and the warp's items up to it: with it, or for an exclusive scan
  // without. (There the first item of all becomes what the caller begins with.)
  template <scan_kind kind, class ScanOpT>
  __device__ void finish(const lane_prefixes& lanes, const T& before, ScanOpT scan_op) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      T prefix = scan_op(before, lanes.of_rows[row]);
      if constexpr (!pads_with_identity) {
        if (row == 0 && this->absent > 0) {
#pragma unroll
          for (int i = 0; i < lane_items; ++i) {
            if (i < this->absent) continue;
            const item next = scan_op(prefix, items[0][i]);
            items[0][i] = kind == scan_kind::inclusive ? next : held(prefix);
            prefix = next;
          }
          continue;
        }
      }
#pragma unroll
      for (int i = 0; i < lane_items; ++i) {
        const item next = scan_op(prefix, items[row][i]);
        items[row][i] = kind == scan_kind::inclusive ? next : held(prefix);
        prefix = next;
      }
    }
  }
  template <scan_kind kind, class ScanOpT>
  __device__ void scan(const T& before, ScanOpT scan_op) {
    finish<kind>(scan_lanes(scan_op), before, scan_op);
  }

 protected:
  template <class Item>
  struct alignas(lane_items * sizeof(Item)) vector_of_lane {
    Item items[lane_items];
  };

  // What a lane holds of a row, as the words that one access brings: kept as items, narrow ones would take a register
  // each.
  template <class Item>
  static constexpr int lane_bytes = lane_items * sizeof(Item);
  template <class Item>
  struct alignas(lane_bytes<Item>) words_of_lane {
    using word = std::conditional_t<lane_bytes<Item> >= 4, unsigned,
                                    std::conditional_t<lane_bytes<Item> == 2, unsigned short, unsigned char>>;
    static constexpr int num_words = lane_bytes<Item> / sizeof(word);
    word words[num_words];
  };

  // Whether vectors can be put together out of the words of two others.
  template <class Item>
  static constexpr bool is_shiftable = lane_items > 1 && lane_bytes<Item> >= 4;

  // By how much an address misses the alignment of the lanes' vectors, and whether that is a number of items.
  template <class Item>
  static __device__ unsigned misses_bytes(Item* address) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(address) % lane_bytes<Item>);
  }
  template <class Item>
  static __device__ bool counts_in_items(Item* address) {
    return alignof(Item) == sizeof(Item) || misses_bytes(address) % sizeof(Item) == 0;
  }

  // Moves all lanes' vectors of all rows down by `offset` bytes, each with its right neighbour's. That of lane 31 is
  // lane 0's in the next row, and behind the last row there is none.
  template <class Item, int given_rows>
  static __device__ void shift_rows(words_of_lane<Item> (&vectors)[given_rows], unsigned offset) {
    constexpr int num_words = words_of_lane<Item>::num_words;
    constexpr int num_neighbours = num_words - static_cast<int>(sizeof(Item)) / 4;  // words that may be needed
    const int lane = threadIdx.x % warp_threads, right = (lane + 1) % warp_threads;
    unsigned neighbours[num_neighbours];
#pragma unroll
    for (int i = 0; i < num_neighbours; ++i) neighbours[i] = __shfl_sync(full_mask, vectors[0].words[i], right);
#pragma unroll
    for (int row = 0; row < given_rows; ++row) {
      unsigned words[2 * num_words] = {};
#pragma unroll
      for (int i = 0; i < num_words; ++i) words[i] = vectors[row].words[i];
#pragma unroll
      for (int i = 0; i < num_neighbours; ++i) {
        const unsigned here = neighbours[i];
        if (row + 1 < given_rows) neighbours[i] = __shfl_sync(full_mask, vectors[row + 1].words[i], right);
        words[num_words + i] = lane == warp_threads - 1 ? neighbours[i] : here;
      }
      shift_down<num_words, sizeof(Item)>(words, offset);
#pragma unroll
      for (int i = 0; i < num_words; ++i) vectors[row].words[i] = words[i];
    }
  }

  // Item by item, and from[last] for what lies behind it, be it before the warp's own items.
  __device__ void load_up_to(InputIteratorT from, std::ptrdiff_t last) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i) {
        const std::ptrdiff_t at = position(row) + i;
        items[row][i] = static_cast<item>(from[at < last ? at : last]);
      }
  }
  // Item by item: those of the warp's items from[begin] to from[end - 1].
  template <class ScanOpT>
  __device__ void load_singly(InputIteratorT from, int begin, int end, ScanOpT) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i) {
        const int at = position(row) + i;
        items[row][i] = at >= begin && at < end ? static_cast<item>(from[at]) : ScanOpT::template identity<item>();
      }
  }
  __device__ void store_singly(OutputIteratorT to, int begin, int end) const {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i) {
        const int at = position(row) + i;
        if (at >= begin && at < end) parts::store(to + at, items[row][i]);
      }
  }

  // Vectors that lie wholly within the first `left` items are read as such, and at most two of the warp's item by item:
  // the first, where it begins ahead of the items, and the one in which they end. Where the items lie off the vectors
  // (`off`), each lane's are put together out of two.
  template <bool off>
  __device__ void load_some(const input* from, int left) {
    using vector = words_of_lane<input>;
    const int ahead = off ? misses_bytes(from) / sizeof(input) : 0;  // of the items begins the first vector
    const int last = (left + ahead) / lane_items;                    // the vector in which they end
    const int lane = threadIdx.x % warp_threads;
    const input* const mine = from + (position(0) - ahead);
    const int left_here = left - position(0) + ahead;
    const auto is_whole = [&](int row) {
      return row < num_rows && row * row_items + lane_items <= left_here && (!off || row > 0 || lane > 0 || ahead == 0);
    };
    // Left undefined, what is loaded under a condition would keep its registers around the whole loop of a kernel.
    vector vectors[num_rows + off] = {}, end = {};
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
      if (is_whole(row)) vectors[row] = *reinterpret_cast<const vector*>(mine + row * row_items);
    if (last % warp_threads == lane) end = part_of(from, last * lane_items - ahead, left);
    const vector begin = off && lane == 0 ? part_of(from, -ahead, left) : end;
#pragma unroll
    for (int row = 0; row < num_rows + off; ++row)
      if (!is_whole(row)) vectors[row] = row == 0 ? begin : end;  // it is, or nothing of it is there
    if constexpr (off) shift_rows<input>(vectors, ahead * sizeof(input));
#pragma unroll
    for (int row = 0; row < num_rows; ++row) unpack(row, items_of(vectors[row]));
  }
  template <bool off>
  __device__ void store_some(output* to, int left) const {
    using vector = words_of_lane<output>;
    const int behind = off ? (lane_bytes<output> - misses_bytes(to)) % lane_bytes<output> / sizeof(output) : 0;
    vector vectors[num_rows];
#pragma unroll
    for (int row = 0; row < num_rows; ++row) vectors[row] = words_of(pack(row));
    if constexpr (off) {
      if (threadIdx.x % warp_threads == 0) store_part(to, items_of(vectors[0]), behind < left ? behind : left);
      shift_rows<output>(vectors, behind * sizeof(output));
    }
    output* const mine = to + (position(0) + behind);
    const int left_here = left - position(0) - behind;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      if (row * row_items + lane_items <= left_here)
        *reinterpret_cast<vector*>(mine + row * row_items) = vectors[row];
      else
        store_part(mine + row * row_items, items_of(vectors[row]), left_here - row * row_items);
    }
  }

  // Those items of the vector that begins at from[at] which are among the first `left`.
  static __device__ words_of_lane<input> part_of(const input* from, int at, int left) {
    vector_of_lane<input> part = {};
#pragma unroll
    for (int i = 0; i < lane_items; ++i)
      if (at + i >= 0 && at + i < left) part.items[i] = from[at + i];
    return words_of(part);
  }
  // The first `count` items of a vector, less than all.
  static __device__ void store_part(output* to, const vector_of_lane<output>& from, int count) {
#pragma unroll
    for (int i = 0; i < lane_items - 1; ++i)
      if (i < count) to[i] = from.items[i];
  }

  // The items that begin `offset` bytes behind an address where vectors are aligned.
  __device__ void load_shifted(const unsigned char* from, unsigned offset) {
    using vector = words_of_lane<input>;
    constexpr int num_words = vector::num_words;
#pragma unroll
    for (int row = 0; row < num_rows; ++row) {
      const auto* const vectors =
          reinterpret_cast<const vector*>(from) + row * warp_threads + threadIdx.x % warp_threads;
      unsigned words[2 * num_words];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const vector loaded = vectors[i];
        memcpy(words + i * num_words, &loaded, sizeof(vector));
      }
      shift_down<num_words, alignof(input)>(words, offset);
      vector shifted;
      memcpy(&shifted, words, sizeof(vector));
      unpack(row, items_of(shifted));
    }
  }

  template <class Item>
  static __device__ words_of_lane<Item> words_of(const vector_of_lane<Item>& vector) {
    words_of_lane<Item> words;
    memcpy(&words, &vector, sizeof(words));
    return words;
  }
  template <class Item>
  static __device__ vector_of_lane<Item> items_of(const words_of_lane<Item>& words) {
    vector_of_lane<Item> vector;
    memcpy(&vector, &words, sizeof(vector));
    return vector;
  }

  // How many of the warp's items are there.
  static __device__ int present(std::size_t first, std::size_t num_items) {
    return first < num_items ? static_cast<int>(at_most(num_items - first, warp_items)) : 0;
  }

  // The lane's vector in a row.
  template <class Item>
  static __device__ auto& vector_at(Item* from, int row) {
    using vector = vector_of_lane<std::remove_const_t<Item>>;
    return *reinterpret_cast<std::conditional_t<std::is_const_v<Item>, const vector, vector>*>(from + position(row));
  }

  template <class Iterator>
  __device__ void load_all(Iterator from) {
    if constexpr (reads_vectors) {
      vector_of_lane<input> loaded[num_rows];
#pragma unroll
      for (int row = 0; row < num_rows; ++row)
        loaded[row] = *reinterpret_cast<const vector_of_lane<input>*>(from + position(row));
#pragma unroll
      for (int row = 0; row < num_rows; ++row) unpack(row, loaded[row]);
    } else {
      load_each(from);
    }
  }
  template <class Iterator>
  __device__ void load_each(Iterator from) {
#pragma unroll
    for (int row = 0; row < num_rows; ++row)
#pragma unroll
      for (int i = 0; i < lane_items; ++i) items[row][i] = static_cast<item>(from[position(row) + i]);
  }

  template <class Vector>
  __device__ void unpack(int row, const Vector& loaded) {
#pragma unroll
    for (int i = 0; i < lane_items; ++i) items[row][i] = static_cast<item>(loaded.items[i]);
  }
  __device__ vector_of_lane<output> pack(int row) const {
    vector_of_lane<output> packed;
#pragma unroll
    for (int i = 0; i < lane_items; ++i) parts::store(packed.items + i, items[row][i]);
    return packed;
  }
};

// What is aggregated before warp `warp` of a block, from the aggregates that each warp left in shared memory.
template <int num_warps, class T, class ScanOpT>
__device__ aggregate_of<T, ScanOpT> before_warp(const T* warp_aggregates, int warp, ScanOpT scan_op) {
  static_assert(num_warps <= warp_threads);
  const int lane = threadIdx.x % warp_threads;
  if constexpr (std::is_same_v<T, aggregate_of<T, ScanOpT>>)
    return warp_aggregate(lane < warp ? warp_aggregates[lane] : ScanOpT::template identity<T>(), scan_op);
  else
    return aggregate_of_lanes(warp_aggregates[lane < warp ? lane : 0], warp, scan_op);
}

}  // namespace rungs::RUNGS_ABI::parts
