// The greatest k of a row, or of a part of it, by a block that reads it once.
//
// First it reads a sample of its keys, which tells a threshold that a few more than k keys reach. Those it keeps in
// shared memory, as candidates, and drops all others. Its threads need no barrier before the end. Then candidates are
// ranked by their distances from the threshold (ranked_bins.cuh).
//
// Where fewer than k keys reach the threshold, or more than there is room for, it begins anew without a sample: its
// threshold is what the greatest k so far reach. When the room is nearly full, the greatest k stay, and the threshold
// rises. Of random keys a row of n has about k (1 + ln(n / k)) candidates then. Of ascending ones all are candidates:
// the result is the same, but later.
//
// Where there are fewer rows than blocks fit the device, a row has several parts. Each leaves k candidates, and
// a second launch chooses among those of a row. Parts that began anew leave them unsorted; then it reads all.
//
// A loop that moves chunks from one place of an array of registers to the next waits for their loads. So each keeps its
// place (for_each_chunk). Keys are compared by their bits, a few instructions for 16 bytes (screen).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/candidate_sort.cuh"
#include "rungs/production/top_k/distance_bins.cuh"
#include "rungs/production/top_k/lane_groups.cuh"
#include "rungs/production/top_k/ranked_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// Blocks of a multiprocessor: a thread has 64 registers.
inline constexpr int resident_streams = 2;

// What the block reads at a time: eight items a thread.
inline constexpr int chunk_thread_items = 8;
inline constexpr unsigned chunk_items = block_selection::block_threads * chunk_thread_items;

// The keys of one part of a row, by vectors of 16 bytes where they lie at multiples of 16, or of 8 bytes. Chunks are
// counted from such a multiple at or before the first key. Where blocks share them, their warps take turns, 512 bytes
// each. So shares of sorted keys are alike, too. The number of blocks is a power of two.
template <class Order>
class key_stream {
  using Storage = typename Order::Storage;
  static constexpr unsigned vector_items = keys_at_once(Order::bits);
  static constexpr int num_vectors = chunk_thread_items / vector_items;
  static constexpr std::size_t vector_bytes = vector_items * sizeof(Storage);
  using vector = std::conditional_t<vector_bytes == sizeof(uint4), uint4, uint2>;

 public:
  static constexpr int chunks_on_their_way = 4 / num_vectors;  // 64 bytes a thread
  // Where the threshold rises. With four chunks of 16-bit integers, ptxas spills a register.
  static constexpr int chunks_selected =
      Order::bits == 16 && !Order::is_float ? chunks_on_their_way - 1 : chunks_on_their_way;
  static constexpr int chunks_streamed = 4;                       // where a block streams its part: 128 bytes, or 64
  static constexpr int chunks_shared = num_vectors == 1 ? 3 : 2;  // where blocks share a row and registers are scarce
  // Whether keys that are in registers are compared as floats first, with an instruction each. Two bytes of a __half
  // are no float of its order.
  static constexpr bool compares_numbers = Order::is_float && Order::bits == 32;
  struct chunk {
    vector vectors[num_vectors];
  };
  struct threshold {
    unsigned key;
    bool is_set;
  };
  // A test of the bits of keys, without their order. A key reaches a bound if (bits ^ flip) >= least, signed, and its
  // bits are at most `most`; or if they are greater than `behind`. These two are for negative NaN.
  struct screen {
    unsigned flip;
    int least;
    unsigned most, behind;
  };

  __device__ key_stream(const keys_of_rows<Order>& keys, const candidate_layout& layout, std::size_t row,
                        unsigned begin, unsigned end, unsigned rank = 0, unsigned num_blocks = 1)
      : order_(keys.order),
        layout_(layout),
        begin_(keys.row(row) + begin),
        first_column_(begin),
        size_(end - begin),
        rank_(rank),
        num_blocks_(num_blocks) {
    before_ = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(begin_) % vector_bytes / sizeof(Storage));
  }

  // Of each block.
  __device__ unsigned num_chunks() const { return (size_ + before_ + num_blocks_ * chunk_items - 1) >> log_chunk(); }

  __device__ chunk load(unsigned index) const {
    chunk loaded;
#pragma unroll
    for (int v = 0; v < num_vectors; ++v) {
      const unsigned first = place(index, v);
      if (first < size_ && size_ - first >= vector_items) {
        loaded.vectors[v] = __ldcs(reinterpret_cast<const vector*>(begin_ + first));
      } else {
        Storage items[vector_items] = {};
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i)
          if (first + i < size_) items[i] = begin_[first + i];
        memcpy(&loaded.vectors[v], items, vector_bytes);
      }
    }
    return loaded;
  }

  // The same where the chunk lies in the stream as a whole.
  __device__ chunk load_whole(unsigned index) const {
    chunk loaded;
#pragma unroll
    for (int v = 0; v < num_vectors; ++v)
      loaded.vectors[v] = __ldcs(reinterpret_cast<const vector*>(begin_ + place(index, v)));
    return loaded;
  }
  // Begins to read the first chunks.
  template <int ring>
  __device__ void begin_reading(chunk (&pending)[ring]) const {
    const unsigned all = num_chunks();
#pragma unroll
    for (int i = 0; i < ring; ++i)
      if (static_cast<unsigned>(i) < all) pending[i] = load(i);
  }
  // Calls take(chunk, index) for each chunk, of which the first are pending, until it returns false. A chunk keeps its
  // registers, since a move would wait for its load.
  template <int ring, class Take>
  __device__ void for_each_chunk(chunk (&pending)[ring], Take take) const {
    const unsigned whole = (size_ + before_) >> log_chunk(), all = num_chunks();
    unsigned index = 0;
    while (index + 2 * ring <= whole) {
#pragma unroll
      for (int i = 0; i < ring; ++i) {
        if (!take(pending[i], index)) return;
        pending[i] = load_whole(index + ring);
        ++index;
      }
    }
    while (index < all) {
#pragma unroll
      for (int i = 0; i < ring; ++i) {
        if (index < all) {
          if (!take(pending[i], index)) return;
          if (index + ring < all) pending[i] = load(index + ring);
        }
        ++index;
      }
    }
  }
  // Calls take(exceeds, candidate) for each of the thread's keys in the chunk, by whole warps, if one of the warp's
  // exceeds the threshold. Returns whether one did.
  template <class Take>
  __device__ bool select(const chunk& loaded, unsigned index, const threshold& least, Take take) const {
    typename Order::word keys[chunk_thread_items];
    bool any = !least.is_set;
#pragma unroll
    for (int v = 0; v < num_vectors; ++v) {
      Storage items[vector_items];
      memcpy(items, &loaded.vectors[v], vector_bytes);
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        keys[v * vector_items + i] = order_(items[i]);
        any |= keys[v * vector_items + i] > least.key;
      }
    }
    if (!__any_sync(parts::full_mask, any)) return false;
#pragma unroll
    for (int v = 0; v < num_vectors; ++v) {
      const unsigned first = place(index, v);
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        const auto key = keys[v * vector_items + i];
        take(first + i < size_ && (!least.is_set || key > least.key), layout_.make(key, first_column_ + first + i));
      }
    }
    return true;
  }
  __device__ screen screen_of(unsigned bound) const {
    constexpr int above = 32 - Order::bits;
    screen made{};
    if constexpr (Order::is_float) {
      const unsigned ordered = (bound << above ^ order_.flip) >> above << above;
      const bool least_first = order_.flip >> 31 != 0;
      const bool is_positive = ordered > 0x80000000 - least_first;
      const unsigned word =
          is_positive ? min(ordered - 0x80000000, order_.infinity + (least_first ? 0 : 1u << above)) : 0u - ordered;
      const unsigned last = (0x80000000 | order_.infinity) >> above;
      const unsigned flip = (is_positive ? 0 : 0x7fffffff) ^ (least_first ? 0xffffffff : 0);
      made = {above > 0 ? flip >> above | (flip >> above << above) : flip, static_cast<int>(word ^ flip) >> above,
              least_first ? last : 0xffffffff, least_first ? 0xffffffff : last};
    } else {
      constexpr unsigned in_each_key = 0xffffffff / (0xffffffff >> above);
      made = {((order_.flip ^ 0x80000000) >> above) * in_each_key,
              static_cast<int>(bound << above ^ 0x80000000) >> above, 0xffffffff, 0xffffffff};
    }
    asm volatile("" : "+r"(made.flip), "+r"(made.least));  // or each chunk finds them anew
    return made;
  }
  static __device__ bool reaches(Storage item, const screen& of) {
    using Signed = std::make_signed_t<Storage>;
    const bool is_enough = static_cast<Signed>(item ^ of.flip) >= of.least;
    return Order::is_float ? (is_enough && item <= of.most) || item > of.behind : is_enough;
  }
  // Whether a key of the vector may reach the bound.
  static __device__ bool passes(const vector& loaded, const screen& of) {
    unsigned words[vector_bytes / sizeof(unsigned)];
    memcpy(words, &loaded, vector_bytes);
    if constexpr (Order::bits == 32) {
      int greatest = static_cast<int>(words[0] ^ of.flip);
      unsigned most = words[0];
#pragma unroll
      for (int i = 1; i < 4; ++i) {
        greatest = max(greatest, static_cast<int>(words[i] ^ of.flip));
        most = max(most, words[i]);
      }
      return greatest >= of.least || (Order::is_float && most > of.behind);
    } else if constexpr (Order::bits == 8) {
      // The upper byte of each half decides. Shifted, the lower ones are there.
      const unsigned first = words[0] ^ of.flip, last = words[1] ^ of.flip;
      const unsigned greatest = __vimax3_s16x2(__vimax3_s16x2(first, first << 8, last), last << 8, last << 8);
      return static_cast<int>(greatest) >> 24 >= of.least || static_cast<short>(greatest) >> 8 >= of.least;
    } else {
      const unsigned last = words[3] ^ of.flip;
      const unsigned greatest =
          __vimax3_s16x2(__vimax3_s16x2(words[0] ^ of.flip, words[1] ^ of.flip, words[2] ^ of.flip), last, last);
      const unsigned most = __vimax3_u16x2(__vimax3_u16x2(words[0], words[1], words[2]), words[3], words[3]);
      return static_cast<int>(greatest) >> 16 >= of.least || static_cast<short>(greatest) >= of.least ||
             (Order::is_float && (most >> 16 > of.behind || (most & 0xffff) > of.behind));
    }
  }
  // Adds the thread's keys in the chunk that reach the bound to those held, by their bits and columns until order_held.
  // Counts also those that it has no room for. Returns whether there was room.
  __device__ bool hold_reaching(const chunk& loaded, unsigned index, const screen& of, candidate* held,
                                unsigned capacity, unsigned& size) const {
    bool passing[num_vectors], any = false;
#pragma unroll
    for (int v = 0; v < num_vectors; ++v) any |= passing[v] = passes(loaded.vectors[v], of);
    if (!any) return true;
    bool has_room = true;
#pragma unroll
    for (int v = 0; v < num_vectors; ++v) {
      if (!passing[v]) continue;
      Storage items[vector_items];
      memcpy(items, &loaded.vectors[v], vector_bytes);
      const unsigned first = place(index, v);
      bool reaching[vector_items];
      unsigned count = 0;
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        reaching[i] = reaches(items[i], of) && first + i < size_;
        count += reaching[i];
      }
      unsigned to = atomicAdd(&size, count);
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        if (reaching[i] && to < capacity) {
          const unsigned column = first_column_ + first + i;
          held[to] = candidate{items[i]} << 32 | column;
        }
        to += reaching[i];
      }
      has_room &= to <= capacity;
    }
    return has_room;
  }
  // Makes candidates of keys that are held as they were read.
  __device__ void order_held(candidate* held, unsigned size) const {
    for (unsigned i = threadIdx.x; i < size; i += block_selection::block_threads) {
      const candidate each = held[i];
      held[i] = layout_.make(order_(static_cast<Storage>(each >> 32)), static_cast<unsigned>(each));
    }
  }
  // What keys are compared with first: no key below it reaches the bound.
  __device__ float number_below(unsigned bound) const {
    Storage raw;
    if (bits_of(order_, bound, raw)) return number_of_key(order_, raw);
    if (bound == (0x80000000 ^ order_.flip)) return 0;
    return bound >= 0x80000000 ? INFINITY : -INFINITY;
  }
  // As hold_reaching, for keys that are in registers: by their order, and as candidates.
  __device__ bool hold_ordered(const chunk& loaded, unsigned index, unsigned bound, float number, candidate* held,
                               unsigned capacity, unsigned& size) const {
    Storage items[chunk_thread_items];
    memcpy(items, &loaded, sizeof(loaded));
    if constexpr (compares_numbers) {
      float greatest = number_of_key(order_, items[0]);
#pragma unroll
      for (int i = 1; i < chunk_thread_items; ++i) greatest = maximum_or_nan(greatest, number_of_key(order_, items[i]));
      if (greatest < number) return true;
    }
    unsigned keys[chunk_thread_items], reaching = 0;
#pragma unroll
    for (int i = 0; i < chunk_thread_items; ++i) {
      keys[i] = order_(items[i]);
      const bool exists = place(index, i / vector_items) + i % vector_items < size_;
      reaching |= static_cast<unsigned>(keys[i] >= bound && exists) << i;
    }
    if (reaching == 0) return true;
    unsigned to = atomicAdd(&size, static_cast<unsigned>(__popc(reaching)));
#pragma unroll
    for (int i = 0; i < chunk_thread_items; ++i) {
      if ((reaching >> i & 1) == 0) continue;
      if (to < capacity)
        held[to] = layout_.make(keys[i], first_column_ + place(index, i / vector_items) + i % vector_items);
      ++to;
    }
    return to <= capacity;
  }
  // Calls take(keys, column of the first) for each of the thread's vectors in the chunk, with 0 for keys that do not
  // exist.
  template <class Take>
  __device__ void for_each_vector(const chunk& loaded, unsigned index, Take take) const {
#pragma unroll
    for (int v = 0; v < num_vectors; ++v) {
      Storage items[vector_items];
      memcpy(items, &loaded.vectors[v], vector_bytes);
      typename Order::word keys[vector_items];
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) keys[i] = place(index, v) + i < size_ ? order_(items[i]) : 0;
      take(keys, place(index, v));
    }
  }
  // The same for each key that exists: take(key, its place).
  template <class Take>
  __device__ void for_each_key(const chunk& loaded, unsigned index, Take take) const {
    for_each_vector(loaded, index, [&](const auto& keys, unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i)
        if (has(first + i)) take(keys[i], first + i);
    });
  }
  // Makes `best` and its column the thread's first key in the order, of those so far and of the chunk's.
  __device__ void improve(const chunk& loaded, unsigned index, unsigned& best, unsigned& best_column) const {
    for_each_vector(loaded, index, [&](const auto& keys, unsigned first) {
      unsigned greatest = keys[0];
#pragma unroll
      for (unsigned i = 1; i < vector_items; ++i) greatest = max(greatest, keys[i]);
      if (greatest <= best && best_column <= layout_.last) return;
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) {
        if (!has(first + i) || (keys[i] <= best && best_column <= layout_.last)) continue;
        best = keys[i];
        best_column = first_column_ + first + i;
      }
    });
  }
  __device__ bool has(unsigned place) const { return place < size_; }
  __device__ candidate candidate_of(unsigned key, unsigned place) const {
    return layout_.make(key, first_column_ + place);
  }

  // The thread's vector of the `index`-th part of a sample: pieces of four vectors, spread evenly over the stream.
  // Those that do not lie in it as a whole are none. Blocks take turns.
  static constexpr unsigned sampled_items = vector_items;
  __device__ bool sample(unsigned index, unsigned vectors_per_thread, unsigned (&keys)[vector_items]) const {
    constexpr unsigned piece = 4, block_pieces = block_selection::block_threads / piece;
    unsigned thread;  // read anew, or what follows from it stays in registers until candidates are sorted
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const unsigned step = size_ / (vector_items * piece * vectors_per_thread * block_pieces * num_blocks_);
    const unsigned at = (index * block_pieces + thread / piece) * num_blocks_ + rank_;
    const unsigned first = (at * step * piece + thread % piece) * vector_items - before_;
    if (first >= size_ || size_ - first < vector_items) return false;
    const vector loaded = *reinterpret_cast<const vector*>(begin_ + first);
    Storage items[vector_items];
    memcpy(items, &loaded, vector_bytes);
#pragma unroll
    for (unsigned i = 0; i < vector_items; ++i) keys[i] = order_(items[i]);
    return true;
  }
  // Later keys that equal the threshold lose to the k that reach it: their columns are greater.
  __device__ threshold above(candidate bound) const { return {layout_.key_of(bound), true}; }

 private:
  // Of a vector's first key, counted from the stream's first. Those before it wrap to numbers beyond any size.
  __device__ unsigned place(unsigned index, int vector) const {
    constexpr unsigned lanes = parts::warp_threads;
    const unsigned segment = (index * num_vectors + vector) * block_selection::warps + threadIdx.x / lanes;
    return ((segment * num_blocks_ + rank_) * lanes + threadIdx.x % lanes) * vector_items - before_;
  }
  __device__ int log_chunk() const { return __ffs(static_cast<int>(num_blocks_ * chunk_items)) - 1; }

  const Order order_;
  const candidate_layout layout_;
  const Storage* const begin_;
  const unsigned first_column_, size_, rank_, num_blocks_;
  unsigned before_;  // places from a multiple of vector_bytes to the first key
};

// The candidates that the parts of a row have left.
class candidate_stream {
 public:
  struct chunk {
    candidate held[chunk_thread_items];
  };
  struct threshold {
    candidate bound;
    bool is_set;
  };

  static constexpr int chunks_selected = 1;

  __device__ candidate_stream(const candidate* candidates, unsigned size) : candidates_(candidates), size_(size) {}

  __device__ unsigned num_chunks() const { return size_ / chunk_items + (size_ % chunk_items != 0); }
  __device__ chunk load(unsigned index) const {
    chunk loaded;
#pragma unroll
    for (int i = 0; i < chunk_thread_items; ++i)
      loaded.held[i] = place(index, i) < size_ ? candidates_[place(index, i)] : 0;
    return loaded;
  }
  template <class Take>
  __device__ bool select(const chunk& loaded, unsigned index, const threshold& least, Take take) const {
    bool any = false;
#pragma unroll
    for (int i = 0; i < chunk_thread_items; ++i) {
      const bool exceeds = place(index, i) < size_ && (!least.is_set || loaded.held[i] > least.bound);
      any = any || exceeds;
      take(exceeds, loaded.held[i]);
    }
    return __any_sync(parts::full_mask, any);
  }
  __device__ threshold above(candidate bound) const { return {bound, true}; }

 private:
  __device__ unsigned place(unsigned index, int i) const {
    return index * chunk_items + i * block_selection::block_threads + threadIdx.x;
  }
  const candidate* candidates_;
  unsigned size_;
};

// Leaves the greatest k items of the stream in `held`, which has room for `capacity` of at least k + chunk_items. The
// stream has at least k. All threads call it, and leave behind a barrier.
template <class Stream>
__device__ void keep_greatest_of(const Stream& stream, candidate* held, block_selection& selection, unsigned k,
                                 unsigned capacity, int bits) {
  if (threadIdx.x == 0) selection.size = 0;
  __syncthreads();
  const unsigned num_chunks = stream.num_chunks();
  typename Stream::threshold least{0, false};
  constexpr int on_their_way = Stream::chunks_selected;
  typename Stream::chunk pending[on_their_way];
#pragma unroll
  for (int i = 0; i < on_their_way; ++i)
    if (static_cast<unsigned>(i) < num_chunks) pending[i] = stream.load(i);
  for (unsigned index = 0; index < num_chunks; ++index) {
    const typename Stream::chunk loaded = pending[0];
#pragma unroll
    for (int i = 1; i < on_their_way; ++i) pending[i - 1] = pending[i];
    if (index + on_their_way < num_chunks) pending[on_their_way - 1] = stream.load(index + on_their_way);
    const bool appended = stream.select(loaded, index, least,
                                        [&](bool exceeds, candidate each) { selection.append(held, exceeds, each); });
    if (!__syncthreads_or(appended)) continue;
    const unsigned size = selection.size;
    __syncthreads();  // all have read it
    if (size <= capacity - chunk_items && (least.is_set || size < 2 * k)) continue;
    least = stream.above(selection.keep(held, size, k, bits));  // size > k, for the room is k + chunk_items
  }
  const unsigned size = selection.size;
  __syncthreads();
  if (size > k) selection.keep(held, size, k, bits);
}

// How a block guesses a threshold before it reads its keys.
struct sample_plan {
  unsigned vectors_per_thread;  // none: it does not
  unsigned wanted;              // so many of the sample reach the threshold
};

// By one read without barriers: holds all keys that reach a threshold, which a sample tells. Returns it, `size` being
// their number; or 0, with nothing held, where fewer than k keys reach it, or more than there is room for.
template <class Order>
__device__ unsigned hold_by_sample(const key_stream<Order>& stream, candidate* held, block_selection& selection,
                                   const sample_plan& plan, unsigned k, unsigned capacity, unsigned& size) {
  constexpr unsigned most_vectors = 4, items = key_stream<Order>::sampled_items;
  if (plan.vectors_per_thread == 0) return 0;
  unsigned sampled[most_vectors][items], greatest = 0;
#pragma unroll
  for (unsigned v = 0; v < most_vectors; ++v) {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) sampled[v][i] = 0;
    if (v < plan.vectors_per_thread) stream.sample(v, plan.vectors_per_thread, sampled[v]);
  }
  distance_bins::clear(selection);
  if (threadIdx.x == 0) selection.size = 0;
#pragma unroll
  for (unsigned v = 0; v < most_vectors; ++v)
#pragma unroll
    for (unsigned i = 0; i < items; ++i) greatest = max(greatest, sampled[v][i]);
  const unsigned bound = distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v) {
      if (v >= plan.vectors_per_thread) continue;
#pragma unroll
      for (unsigned i = 0; i < items; ++i) count(sampled[v][i]);
    }
  });
  if (bound == 0) return 0;

  typename key_stream<Order>::chunk pending[key_stream<Order>::chunks_streamed];
  stream.begin_reading(pending);
  const typename key_stream<Order>::screen screen = stream.screen_of(bound);
  stream.for_each_chunk(pending, [&](const auto& loaded, unsigned index) {
    return stream.hold_reaching(loaded, index, screen, held, capacity, selection.size);
  });
  __syncthreads();
  size = selection.size;
  if (size <= capacity) stream.order_held(held, size);
  __syncthreads();
  return size < k || size > capacity ? 0 : bound;
}

struct streamed_plan {
  static constexpr unsigned part_unit = 64;  // so that parts begin at multiples of 128 bytes where rows do
  candidate_layout layout;
  std::size_t num_rows;
  unsigned num_columns, k, num_parts, capacity;
  bool sorted;
  sample_plan sample;
  candidate* d_candidates;  // k of each part of each row, where a row has several

  __device__ unsigned begin_of(unsigned part) const {
    if (part == num_parts) return num_columns;
    return static_cast<unsigned>(static_cast<unsigned long long>(num_columns / part_unit) * part / num_parts) *
           part_unit;
  }
  __device__ candidate* of_part(std::size_t row, unsigned part) const {
    return d_candidates + (row * num_parts + part) * k;
  }
};

// Writes candidates to a row of the output. The bits of most keys follow from their order.
template <class Order, class Output>
struct row_writer {
  const Order& order;
  const Output& output;
  const candidate_layout& layout;
  std::size_t row;

  __device__ void operator()(unsigned rank, candidate each) const {
    const unsigned column = layout.column_of(each);
    typename Order::Storage raw;
    if (bits_of(order, layout.key_of(each), raw))
      output.write(row, rank, column, raw);
    else
      output.write(row, rank, column);
  }
};

// Calls write(rank, candidate) for the k that are held.
template <class Write>
__device__ void write_kept(candidate* held, unsigned k, bool sorted, Write write) {
  if (sorted) sort_candidates(held, held + k, k);  // the room is k + chunk_items
  for (unsigned i = threadIdx.x; i < k; i += block_selection::block_threads) write(i, held[i]);
}

// The same without their order: the second comes before the first, unlike in a sorted part.
template <class Write>
__device__ void write_unsorted(const candidate* held, unsigned k, Write write) {
  const bool swaps = k > 1 && held[0] > held[1];
  for (unsigned i = threadIdx.x; i < k; i += block_selection::block_threads) write(i < 2 && swaps ? 1 - i : i, held[i]);
}

// The same for the greatest k of `size` candidates, whose keys reach the bound; or returns false, having done nothing.
// All threads call it behind a barrier.
template <class Write>
__device__ bool write_ranked(candidate* held, unsigned size, unsigned bound, const streamed_plan& plan,
                             block_selection& selection, Write write) {
  return size + ranked_bins::room_for(plan.k) <= plan.capacity &&
         ranked_bins::write(held, held + size, size, plan.k, plan.layout.make(bound, plan.layout.last),
                            plan.layout.bits(), selection, write);
}

template <class Order, class Output>
__global__ void __launch_bounds__(block_selection::block_threads, resident_streams)
    streamed_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                         const __grid_constant__ streamed_plan plan) {
  extern __shared__ __align__(16) unsigned char streamed_memory[];
  auto& selection = reinterpret_cast<block_selection&>(*streamed_memory);
  auto* const held = reinterpret_cast<candidate*>(streamed_memory + sizeof(block_selection));
  parts::let_next_launch_start();
  const std::size_t row = blockIdx.x / plan.num_parts;
  const unsigned part = blockIdx.x % plan.num_parts;
  const key_stream<Order> stream(keys, plan.layout, row, plan.begin_of(part), plan.begin_of(part + 1));
  unsigned size;
  const unsigned bound = hold_by_sample(stream, held, selection, plan.sample, plan.k, plan.capacity, size);
  const row_writer<Order, Output> to_row{keys.order, output, plan.layout, row};
  // plan.of_part(row, part), without registers for both.
  candidate* const part_begin = plan.d_candidates + std::size_t{blockIdx.x} * plan.k;
  const auto to_part = [=](unsigned rank, candidate each) { part_begin[rank] = each; };
  if (bound != 0 && (plan.num_parts == 1 ? write_ranked(held, size, bound, plan, selection, to_row)
                                         : write_ranked(held, size, bound, plan, selection, to_part)))
    return;
  const int bits = plan.layout.bits();
  if (bound == 0)
    keep_greatest_of(stream, held, selection, plan.k, plan.capacity, bits);
  else if (size > plan.k)
    selection.keep(held, size, plan.k, bits);
  if (plan.num_parts == 1)
    write_kept(held, plan.k, plan.sorted, to_row);
  else
    write_unsorted(held, plan.k, to_part);
}

// A bound that at least k candidates of a row's parts reach, from the first few of each. Leaves a size of 0 behind a
// barrier.
__device__ inline unsigned bound_of_parts(const candidate* candidates, const streamed_plan& plan,
                                          block_selection& selection) {
  const unsigned of_part = (2 * plan.k + plan.num_parts - 1) / plan.num_parts, num_firsts = of_part * plan.num_parts;
  const auto for_each = [&](auto take) {
    for (unsigned i = threadIdx.x; i < num_firsts; i += block_selection::block_threads)
      take(plan.layout.key_of(candidates[i / of_part * plan.k + i % of_part]));
  };
  distance_bins::clear(selection);
  if (threadIdx.x == 0) selection.size = 0;
  unsigned greatest = 0;
  for_each([&](unsigned key) { greatest = max(greatest, key); });
  return distance_bins::bound(plan.k, greatest, selection, for_each);
}

// Whether the candidates of all parts are sorted (write_unsorted tells). All threads call it.
__device__ inline bool are_sorted(const candidate* candidates, const streamed_plan& plan) {
  bool is_unsorted = false;
  if (plan.k > 1)
    for (unsigned part = threadIdx.x; part < plan.num_parts; part += block_selection::block_threads)
      is_unsorted |= candidates[part * plan.k] < candidates[part * plan.k + 1];
  return !__syncthreads_or(is_unsorted);
}

// Holds those that reach the bound, until there is no room. Leaves their number, or a greater one than there is room
// for, in selection.size behind a barrier. The candidates of a part are sorted, so a lane stops at the first of its own
// that does not reach the bound.
__device__ inline void hold_of_sorted_parts(const candidate* candidates, unsigned bound, const streamed_plan& plan,
                                            candidate* held, block_selection& selection) {
  constexpr unsigned lanes = 8, at_once = 5, groups = block_selection::block_threads / lanes;
  const unsigned lane = threadIdx.x % lanes;
  bool has_room = true;
#pragma unroll 1
  for (unsigned tile = threadIdx.x / lanes; has_room && tile < plan.num_parts; tile += at_once * groups) {
    candidate firsts[at_once];
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      const unsigned part = tile + i * groups;
      firsts[i] = part < plan.num_parts && lane < plan.k ? candidates[part * plan.k + lane] : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      const unsigned part = tile + i * groups;
      candidate each = firsts[i];
#pragma unroll 1
      for (unsigned place = lane; has_room && part < plan.num_parts && place < plan.k;) {
        if (plan.layout.key_of(each) < bound) break;
        const unsigned to = atomicAdd(&selection.size, 1u);
        has_room = to < plan.capacity;
        if (has_room) held[to] = each;
        place += lanes;
        if (place < plan.k) each = candidates[part * plan.k + place];
      }
    }
  }
  __syncthreads();
}

// The same for parts of which one or more are not sorted: reads all their candidates.
__device__ inline void hold_of_parts(const candidate* candidates, unsigned size, unsigned bound,
                                     const streamed_plan& plan, candidate* held, block_selection& selection) {
  constexpr unsigned at_once = 8, tile_items = at_once * block_selection::block_threads;
  bool has_room = true;
#pragma unroll 1
  for (unsigned tile = threadIdx.x; has_room && tile < size; tile += tile_items) {
    candidate read[at_once];
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      const unsigned from = tile + i * block_selection::block_threads;
      read[i] = from < size ? candidates[from] : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      const unsigned from = tile + i * block_selection::block_threads;
      if (from >= size || plan.layout.key_of(read[i]) < bound) continue;
      const unsigned to = atomicAdd(&selection.size, 1u);
      has_room = to < plan.capacity;
      if (has_room) held[to] = read[i];
    }
  }
  __syncthreads();
}

template <class Order, class Output>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    merged_parts_kernel(const __grid_constant__ Order order, const __grid_constant__ Output output,
                        const __grid_constant__ streamed_plan plan) {
  extern __shared__ __align__(16) unsigned char streamed_memory[];
  auto& selection = reinterpret_cast<block_selection&>(*streamed_memory);
  auto* const held = reinterpret_cast<candidate*>(streamed_memory + sizeof(block_selection));
  parts::wait_for_launch_before();
  const std::size_t row = blockIdx.x;
  const candidate* const candidates = plan.of_part(row, 0);
  const unsigned size = plan.num_parts * plan.k;
  const row_writer<Order, Output> write{order, output, plan.layout, row};
  unsigned bound, num_held = size;
  if (size + ranked_bins::room_for(plan.k) <= plan.capacity) {
    bound = 0xffffffff;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < size; i += block_selection::block_threads) {
      const candidate each = candidates[i];
      held[i] = each;
      bound = min(bound, plan.layout.key_of(each));
    }
    bound = warp_all_reduce(bound, minimum{});
    if (threadIdx.x % parts::warp_threads == 0) selection.of_warps[threadIdx.x / parts::warp_threads] = bound;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < block_selection::warps; ++w) bound = min(bound, selection.of_warps[w]);
  } else {
    bound = bound_of_parts(candidates, plan, selection);
    if (are_sorted(candidates, plan))
      hold_of_sorted_parts(candidates, bound, plan, held, selection);
    else
      hold_of_parts(candidates, size, bound, plan, held, selection);
    num_held = selection.size;
  }
  if (num_held <= plan.capacity) {
    if (write_ranked(held, num_held, bound, plan, selection, write)) return;
    __syncthreads();
    if (num_held > plan.k) selection.keep(held, num_held, plan.k, plan.layout.bits());
  } else {
    __syncthreads();
    keep_greatest_of(candidate_stream(candidates, size), held, selection, plan.k, plan.capacity, plan.layout.bits());
  }
  write_kept(held, plan.k, plan.sorted, write);
}

// How rows are read by blocks: into how many parts they are cut, and how many candidates a block holds.
struct streamed_rows {
  static constexpr unsigned most_k = chunk_items;
  // Candidates between two selections, or k where it is greater.
  static constexpr std::size_t least_slack = 1024;

  // Whether a block of the device has room. `plan` lacks its storage still.
  static bool fit(const parts::device_limits& limits, const candidate_layout& layout, std::size_t num_rows,
                  std::size_t num_columns, std::size_t k, bool sorted, streamed_plan& plan) {
    const std::size_t most_candidates = (limits.shared_bytes - sizeof(block_selection)) / sizeof(candidate);
    if (k > most_k || k + chunk_items > most_candidates) return false;
    const std::size_t wanted = chunk_items + k + (k > least_slack ? k : least_slack);
    const std::size_t resident = resident_streams * static_cast<std::size_t>(limits.multiprocessors);
    // A part takes as long to read as the candidates of all parts, where there are as many as sqrt(n / k).
    const std::size_t balanced = static_cast<std::size_t>(std::sqrt(static_cast<double>(num_columns / k)));
    std::size_t num_parts = parts::at_most(resident / num_rows, parts::at_most(balanced, num_columns / chunk_items));
    if (num_parts < 1) num_parts = 1;
    const std::size_t capacity = parts::at_most(wanted, most_candidates);
    plan = {layout,
            num_rows,
            static_cast<unsigned>(num_columns),
            static_cast<unsigned>(k),
            static_cast<unsigned>(num_parts),
            static_cast<unsigned>(capacity),
            sorted,
            sample_of(num_columns / num_parts, keys_at_once(layout.key_bits), k, capacity),
            nullptr};
    return true;
  }
  // Of n keys, those of a sample of s that reach a threshold are k s / n where k of all do, as their number is
  // Poisson's. Four deviations more, and there are at least k. Likewise above, for the capacity.
  static sample_plan sample_of(std::size_t n, unsigned vector_items, std::size_t k, std::size_t capacity) {
    constexpr std::size_t least_keys = 32 * 1024, most_vectors = 4;
    constexpr double keys_of_sampled = 64;
    if (n < least_keys) return {0, 0};
    const std::size_t of_vectors = std::size_t{block_selection::block_threads} * vector_items;
    std::size_t vectors = parts::at_most(n / (of_vectors * static_cast<std::size_t>(keys_of_sampled)), most_vectors);
    if (vectors < 1) vectors = 1;
    const double ratio = static_cast<double>(n) / static_cast<double>(vectors * of_vectors);
    const double expected = static_cast<double>(k) / ratio;
    const double wanted = std::ceil(expected + 4 * std::sqrt(expected) + 4);
    if ((wanted + 4 * std::sqrt(wanted) + 4) * ratio > static_cast<double>(capacity)) return {0, 0};
    return {static_cast<unsigned>(vectors), static_cast<unsigned>(wanted)};
  }
  static std::size_t storage_bytes(const streamed_plan& plan) {
    return plan.num_parts > 1 ? plan.num_rows * plan.num_parts * plan.k * sizeof(candidate) : 0;
  }
};

template <class Order, class Output>
cudaError_t launch_streamed_rows(const keys_of_rows<Order>& keys, const Output& output, const streamed_plan& plan,
                                 bool overlaps, cudaStream_t stream) {
  const std::size_t dynamic_bytes = sizeof(block_selection) + plan.capacity * sizeof(candidate);
  const cudaError_t error =
      parts::launch_with_shared_memory(streamed_rows_kernel<Order, Output>, plan.num_rows * plan.num_parts,
                                       block_selection::block_threads, dynamic_bytes, stream, keys, output, plan);
  if (error != cudaSuccess || plan.num_parts == 1) return error;
  return parts::launch_overlapped(merged_parts_kernel<Order, Output>, plan.num_rows, block_selection::block_threads,
                                  dynamic_bytes, overlaps, stream, keys.order, output, plan);
}

}  // namespace rungs::RUNGS_ABI::production
