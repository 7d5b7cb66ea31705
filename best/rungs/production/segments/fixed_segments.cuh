// Segments of one size, reduced: by a thread each where they are short and lie in memory, by lanes of a warp each, by
// warps of a block, or in parts where they are long.
//
// A part of a segment is cut into pieces of up to 16 bytes; piece p belongs to thread p % threads of the part. Which
// thread takes which items, and in which order, follows from the size of the segments alone: a segment has the same
// result wherever it lies. No item is combined with anything but items, so operators need no identity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/iterator_traits.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/segments/pieces.cuh"

namespace rungs::RUNGS_ABI::production {

// Where the parts of segments lie. The last part of a segment may be shorter.
struct segment_parts {
  std::size_t segment_items;
  unsigned parts_per_segment, part_items;

  // Most segments are one part, and a division takes longer than a short segment.
  __device__ std::size_t segment(std::size_t part) const {
    return parts_per_segment == 1 ? part : part / parts_per_segment;
  }
  __device__ std::size_t begin_in_segment(std::size_t part) const {
    return (part - segment(part) * parts_per_segment) * part_items;
  }
  __device__ std::size_t begin(std::size_t part) const {
    return segment(part) * segment_items + begin_in_segment(part);
  }
  __device__ unsigned size(std::size_t part) const {
    return static_cast<unsigned>(parts::at_most(segment_items - begin_in_segment(part), part_items));
  }
};

// Items of segments that lie one behind the other.
template <class InputIteratorT>
struct segment_items {
  using iterator = InputIteratorT;

  InputIteratorT d_in;
  bool aligned;  // whether every part begins at a multiple of 16 bytes

  template <class Parts>
  __device__ auto of(const Parts& parts, std::size_t part) const {
    return d_in + static_cast<std::ptrdiff_t>(parts.begin(part));
  }
  __device__ auto of_segment(long long begin) const { return d_in + static_cast<std::ptrdiff_t>(begin); }
};

// What parts came to, which a launch leaves for the next one.
template <class T>
struct write_part {
  T* d_aggregates;
  __device__ void operator()(std::size_t part, const T& aggregate, bool) const { d_aggregates[part] = aggregate; }
};
template <class T>
struct aggregates_of_parts : segment_items<const T*> {};

// Called first by each launch: the next one may begin early, and waits here.
template <class Reduction>
__device__ void meet_other_launch() {
  if constexpr (Reduction::leaves_aggregates) parts::let_next_launch_start();
  if constexpr (Reduction::takes_aggregates) parts::wait_for_launch_before();
}

// A piece by one load, or put together from its items; or the item of an iterator.
template <class T, class InputIteratorT>
__device__ auto load_piece(const InputIteratorT& items, unsigned first, bool aligned) {
  using pieces = pieces_of<InputIteratorT>;
  using item = typename pieces::item;
  if constexpr (pieces::in_vectors) {
    parts::vector<item> piece;
    const item* const from = pieces::address(items) + first;
    if (aligned) {
      const uint4 words = __ldcs(reinterpret_cast<const uint4*>(from));
      memcpy(piece.words, &words, sizeof(words));
    } else {
#pragma unroll
      for (unsigned i = 0; i < 16 / sizeof(item); ++i) {
        const item each = from[i];
        memcpy(reinterpret_cast<unsigned char*>(piece.words) + i * sizeof(item), &each, sizeof(item));
      }
    }
    return piece;
  } else {
    return static_cast<T>(items[static_cast<std::ptrdiff_t>(first)]);
  }
}

// Threads of a part, and the pieces that each has on its way. 768 threads of a multiprocessor with eight pieces each
// wait for 96 KB, as much as rows of floats were measured to need on an H200; where a part has fewer, threads take
// several parts at once.
template <int threads_, int pieces_>
struct part_shape {
  static constexpr int threads = threads_;
  static constexpr int lanes = threads < parts::warp_threads ? threads : parts::warp_threads, warps = threads / lanes;
  static constexpr int block_threads = threads < 128 ? 128 : threads, block_parts = block_threads / threads;
  static constexpr int pieces = pieces_, parts_at_once = pieces < 4 ? 4 / pieces : 1;
  static constexpr int unaligned_pieces = pieces / 2, shifted_pieces = 4;  // as share_of_items has them
  static constexpr int blocks = 768 / block_threads;
  // Parts that threads take at once lie side by side where lanes exchange them, so that results are written together.
  static constexpr bool transposed = parts_at_once > 1 && threads >= parts_at_once;
  static constexpr int next_part = transposed ? 1 : block_parts;
};

// Operators by which a warp reduces faster than lane by lane, to the same bits: reduce(value, is_valid, op), where some
// lane is valid or the result is not looked at.
template <class T, class Op>
struct by_whole_warp {
  static constexpr bool is_faster = false;
};

// The first `num_valid` of so many lanes hold a value. Theirs, combined, in the first of them.
template <int lanes, class T, class Op>
__device__ T reduce_valid_lanes(T value, unsigned num_valid, Op op) {
  if constexpr (lanes == parts::warp_threads && by_whole_warp<T, Op>::is_faster)
    return by_whole_warp<T, Op>::reduce(value, threadIdx.x % lanes < num_valid, op);
  const unsigned lane = threadIdx.x % lanes;
#pragma unroll
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
    const T other =
        parts::by_words(value, [=](auto word) { return __shfl_down_sync(parts::full_mask, word, distance, lanes); });
    if (lane < distance && lane + distance < num_valid) value = op(value, other);
  }
  return value;
}

// The same for several parts at once. At each distance a lane gives away half of its parts, while there are several,
// and takes a partner's values of the other half: fewer shuffles, and the order is that of reduce_valid_lanes. The
// value of part r is in lane r * (lanes / num_parts). num_valid(r) is the number of lanes with a value of part r.
template <int lanes, int num_parts, class T, class NumValid, class Op>
__device__ T reduce_valid_transposed(T (&values)[num_parts], NumValid num_valid, Op op) {
  static_assert(lanes >= num_parts);
  const auto combine = [&](T kept, T given, unsigned distance, unsigned part) {
    const bool upper = threadIdx.x & distance;
    const T got = parts::by_words(given, [=](auto word) { return __shfl_xor_sync(parts::full_mask, word, distance); });
    const T low = upper ? got : kept, high = upper ? kept : got;
    return threadIdx.x % distance + distance < num_valid(part) ? op(low, high) : low;
  };
  unsigned distance = lanes / 2, part = 0;
#pragma unroll
  for (int half = num_parts / 2; half > 0; half /= 2, distance /= 2) {
    const bool upper = threadIdx.x & distance;
    if (upper) part += half;
#pragma unroll
    for (int r = 0; r < half; ++r)
      values[r] =
          combine(upper ? values[r + half] : values[r], upper ? values[r] : values[r + half], distance, part + r);
  }
#pragma unroll
  for (; distance > 0; distance /= 2) values[0] = combine(values[0], values[0], distance, part);
  return values[0];
}

template <template <class> class Of, class Type>
inline constexpr bool is_instance_of = false;
template <template <class> class Of, class T>
inline constexpr bool is_instance_of<Of, Of<T>> = true;

// What to reduce, by what, and what to do with an aggregate: write(part, aggregate, whether there was an item).
template <class Items_, class Op, class Write>
struct reduction_of {
  using Items = Items_;
  static constexpr bool leaves_aggregates = is_instance_of<write_part, Write>;
  static constexpr bool takes_aggregates = is_instance_of<aggregates_of_parts, Items>;
  Items items;
  Op op;
  Write write;
};
template <class Items, class Op, class Write>
reduction_of(Items, Op, Write) -> reduction_of<Items, Op, Write>;

template <class Reduction>
using pieces_of_reduction = pieces_of<typename Reduction::Items::iterator>;
template <class Reduction>
inline constexpr unsigned piece_items_of_reduction = piece_items_of<typename Reduction::Items::iterator>;

// Items of 8 bytes and small integers that threads take by share_of_items, with the same result. Of these the compiler
// awaits each load before the next where either kind of load can have made a piece.
template <class shape, class Reduction>
inline constexpr bool takes_shares = [] {
  using pieces = pieces_of_reduction<Reduction>;
  using item = typename pieces::item;
  if constexpr (!pieces::in_vectors || shape::parts_at_once > 1)
    return false;
  else
    return std::is_same_v<item, double> || (std::is_integral_v<item> && sizeof(item) < 4 && shape::pieces >= 8) ||
           (sizeof(item) == 8 && shape::pieces > 8);
}();

// What a thread of a part has of it, if it has an item.
template <class shape, class T, class Reduction, class Parts>
__device__ T share_of_part(const Reduction& reduction, const Parts& parts_of, std::size_t part) {
  using from = pieces_of_reduction<Reduction>;
  constexpr int threads = shape::threads, pieces = shape::pieces;
  constexpr unsigned piece_items = piece_items_of_reduction<Reduction>, stride = threads * piece_items;
  const auto& op = reduction.op;
  const unsigned thread = threadIdx.x % threads;
  const auto items = reduction.items.of(parts_of, part);
  const unsigned size = parts_of.size(part);
  if constexpr (takes_shares<shape, Reduction>) {
    using items_type = std::remove_const_t<decltype(items)>;
    using op_type = std::decay_t<decltype(op)>;
    return share_of_items<threads, T, items_type, op_type, pieces, shape::unaligned_pieces,
                          shape::shifted_pieces>::reduce(items, size, thread, op);
  } else {
    T value;
    bool has_value = false;
    const auto take = [&](const T& next) {
      value = has_value ? op(value, next) : next;
      has_value = true;
    };
    const unsigned whole = size / piece_items * piece_items;
    for (unsigned first = thread * piece_items; first < whole; first += pieces * stride) {
      decltype(load_piece<T>(items, 0, true)) loaded[pieces];
#pragma unroll
      for (int p = 0; p < pieces; ++p)
        if (first + p * stride < whole) loaded[p] = load_piece<T>(items, first + p * stride, reduction.items.aligned);
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        if (first + p * stride >= whole) break;
        if constexpr (from::in_vectors) {
          take(from::template fold<T>(loaded[p], items, first + p * stride, op));
        } else {
          take(loaded[p]);
        }
      }
    }
    // The piece that is not whole.
    if (thread == size / piece_items % threads)
      for (unsigned i = whole; i < size; ++i) take(static_cast<T>(items[static_cast<std::ptrdiff_t>(i)]));
    return value;
  }
}

// The threads' shares of a part of `size` items, combined, in the first of them.
template <class shape, unsigned piece_items, class T, class Op>
__device__ T reduce_shares(T value, unsigned size, const Op& op) {
  const unsigned thread = threadIdx.x % shape::threads, before = thread / shape::lanes * shape::lanes;
  const unsigned num_valid = size / piece_items + (size % piece_items != 0);  // threads that have a value
  value = reduce_valid_lanes<shape::lanes>(value, num_valid > before ? num_valid - before : 0, op);
  if constexpr (shape::warps > 1) {
    __shared__ T of_warps[shape::block_threads / parts::warp_threads];
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    value = of_warps[warp / shape::warps * shape::warps + lane % shape::warps];
    value = reduce_valid_lanes<shape::warps>(
        value, static_cast<unsigned>(parts::ceil_div(num_valid, parts::warp_threads)), op);
  }
  return value;
}

// A launch that takes aggregates of the one before may begin early.
template <class Reduction, class... Parameters, class... Arguments>
cudaError_t launch_next(void (*kernel)(Parameters...), std::size_t grid_blocks, int block_threads, cudaStream_t stream,
                        Arguments... arguments) {
  bool overlaps = false;
  if constexpr (Reduction::takes_aggregates)
    if (const cudaError_t error = parts::overlaps_launches(overlaps)) return error;
  return parts::launch_overlapped(kernel, grid_blocks, block_threads, 0, overlaps, stream, arguments...);
}

// The parts' items, accumulated in T.
template <class shape, class T, class Reduction>
__global__ void __launch_bounds__(shape::block_threads, shape::blocks)
    reduce_parts_kernel(Reduction reduction, segment_parts parts_of, std::size_t num_parts) {
  meet_other_launch<Reduction>();
  if constexpr (shape::parts_at_once > 1) {  // as reduce_parts has it, and without a division for each
    parts_of.parts_per_segment = 1;
    parts_of.part_items = static_cast<unsigned>(parts_of.segment_items);
  }
  constexpr int threads = shape::threads;
  constexpr unsigned piece_items = piece_items_of_reduction<Reduction>;
  const auto& op = reduction.op;
  const unsigned thread = threadIdx.x % threads;
  const std::size_t first_part = blockIdx.x * std::size_t{shape::block_parts * shape::parts_at_once} +
                                 threadIdx.x / threads * (shape::transposed ? shape::parts_at_once : 1);

  T values[shape::parts_at_once];  // of threads that have an item
#pragma unroll
  for (int r = 0; r < shape::parts_at_once; ++r) {
    const std::size_t part = first_part + r * shape::next_part;
    if (part < num_parts) values[r] = share_of_part<shape, T>(reduction, parts_of, part);
  }

  if constexpr (shape::transposed) {
    constexpr unsigned sharing = threads / shape::parts_at_once;
    const unsigned size = parts_of.part_items, num_valid_of_any = size / piece_items + (size % piece_items != 0);
    const auto num_valid = [&](unsigned r) { return first_part + r < num_parts ? num_valid_of_any : 0; };
    const T value = reduce_valid_transposed<threads>(values, num_valid, op);
    const std::size_t part = first_part + thread / sharing;
    if (thread % sharing == 0 && part < num_parts) reduction.write(part, value, size > 0);
  } else {
#pragma unroll
    for (int r = 0; r < shape::parts_at_once; ++r) {
      const std::size_t part = first_part + r * shape::next_part;
      const unsigned size = part < num_parts ? parts_of.size(part) : 0;
      const T value = reduce_shares<shape, piece_items>(values[r], size, op);
      if (thread == 0 && part < num_parts) reduction.write(part, value, size > 0);
    }
  }
}

// Sixteen bytes of items in shared memory, wherever they begin. What lies behind the segment is read, too.
template <class Item>
__device__ parts::vector<Item> piece_in_shared_memory(const Item* items) {
  parts::vector<Item> piece;
  if constexpr (sizeof(Item) < 4) {
    const unsigned offset = reinterpret_cast<std::uintptr_t>(items) % 4;
    const auto* const from = reinterpret_cast<const unsigned*>(reinterpret_cast<const unsigned char*>(items) - offset);
    unsigned word = from[0];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const unsigned next = from[w + 1];
      piece.words[w] = __funnelshift_r(word, next, 8 * offset);
      word = next;
    }
  } else {
#pragma unroll
    for (unsigned i = 0; i < 16 / sizeof(Item); ++i) {
      const Item each = items[i];
      memcpy(reinterpret_cast<unsigned char*>(piece.words) + i * sizeof(Item), &each, sizeof(Item));
    }
  }
  return piece;
}

// Vectors in shared memory. Those of 128 bytes may change places, differently in each of the next eight: lanes that
// read at a distance of a multiple of 32 bytes then have fewer bank conflicts.
template <bool change_places>
struct held_vectors {
  uint4* vectors;

  __device__ uint4& operator[](unsigned v) const { return vectors[change_places ? v ^ (v / 8 % 8) : v]; }

  // Sixteen bytes of items from this byte on. What lies behind them is read, too.
  template <class Item>
  __device__ parts::vector<Item> piece(unsigned begin) const {
    const unsigned offset = begin % 16;
    unsigned words[8];
    memcpy(words, &(*this)[begin / 16], 16);
    if (alignof(Item) < 16 && offset != 0) {
      memcpy(words + 4, &(*this)[begin / 16 + 1], 16);
      return parts::shifted<Item>(words, offset);
    }
    return {{words[0], words[1], words[2], words[3]}};
  }
};

// A segment of up to so many pieces in shared memory by one thread, in the order of a lane for each of eight pieces.
// piece_at(i) is the piece whose first item is items[i].
template <int most_pieces, class T, class InputIteratorT, class Op, class PieceAt>
__device__ T reduce_alone(const InputIteratorT& items, unsigned size, const Op& op, const PieceAt& piece_at) {
  using from = pieces_of<InputIteratorT>;
  constexpr unsigned piece_items = piece_items_of<InputIteratorT>, lanes = most_pieces < 8 ? most_pieces : 8;
  const unsigned whole = size / piece_items, num_behind = size % piece_items;
  const unsigned num_pieces = whole + (num_behind != 0);
  T values[lanes];
  const auto take = [&](T& value, bool has_value, unsigned p) {
    const unsigned first = p * piece_items;
    const auto take_next = [&](const T& next) { value = has_value ? op(value, next) : next; };
    if constexpr (!from::in_vectors) {
      take_next(static_cast<T>(items[first]));
    } else {
      const auto piece = piece_at(first);
      if (p < whole) {
        take_next(from::template fold<T>(piece, items, first, op));
      } else {
        take_next(from::template at<T>(piece[0], items, first));
#pragma unroll
        for (unsigned i = 1; i + 1 < piece_items; ++i)
          if (i < num_behind) value = op(value, from::template at<T>(piece[i], items, first + i));
      }
    }
  };
#pragma unroll
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (lane < num_pieces) take(values[lane], false, lane);
  if constexpr (most_pieces > lanes) {
#pragma unroll
    for (unsigned lane = 0; lane < lanes; ++lane)
      if (lanes + lane < num_pieces) take(values[lane], true, lanes + lane);
  }
#pragma unroll
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
#pragma unroll
    for (unsigned lane = 0; lane < distance; ++lane)
      if (lane + distance < num_pieces) values[lane] = op(values[lane], values[lane + distance]);
  return values[0];
}
template <int most_pieces, class T, class InputIteratorT, class Op>
__device__ T reduce_alone(const InputIteratorT& items, unsigned size, const Op& op) {
  return reduce_alone<most_pieces, T>(items, size, op, [&](unsigned first) {
    if constexpr (pieces_of<InputIteratorT>::in_vectors)
      return piece_in_shared_memory(pieces_of<InputIteratorT>::address(items) + first);
  });
}

// A block copies bytes of the input to shared memory in whole vectors, and returns by how much the first begins before
// them. Vectors that lie in the input as a whole come asynchronously, others by units of the items' alignment.
template <int threads, bool change_places, class Item>
__device__ unsigned copy_to_shared_memory(const held_vectors<change_places>& held, const Item* items,
                                          std::size_t input_bytes, std::size_t begin, unsigned num_bytes) {
  // Items may begin at less than a multiple of their size: then vectors cut them.
  using unit = std::conditional_t<
      alignof(Item) == sizeof(Item), Item,
      std::conditional_t<alignof(Item) == 1, std::uint8_t,
                         std::conditional_t<alignof(Item) == 2, std::uint16_t,
                                            std::conditional_t<alignof(Item) == 4, unsigned, unsigned long long>>>>;
  const auto* const input = reinterpret_cast<const unsigned char*>(items);
  const unsigned before = reinterpret_cast<std::uintptr_t>(input + begin) % 16;
  const unsigned num_vectors = (before + num_bytes + 15) / 16;
  for (unsigned v = threadIdx.x; v < num_vectors; v += threads) {
    const std::size_t at = begin + v * 16 - before;  // may wrap, before the input
    if (at < input_bytes && input_bytes - at >= 16) {
      copy_16_bytes(&held[v], reinterpret_cast<const uint4*>(input + at));
    } else {
      for (unsigned i = 0; i < 16; i += sizeof(unit))
        if (at + i < input_bytes)
          *reinterpret_cast<unit*>(reinterpret_cast<unsigned char*>(&held[v]) + i) =
              *reinterpret_cast<const unit*>(input + at + i);
    }
  }
  wait_for_copies();
  __syncthreads();
  return before;
}

// Segments of so many pieces have a thread each. A block copies its segments to shared memory in whole vectors: lanes
// that read their own segments would take each vector several times.
template <int pieces_, bool change_places_ = false>
struct short_shape {
  static constexpr int threads = 128, pieces = pieces_, most_rounds = 16;
  static constexpr bool change_places = change_places_;
  static constexpr unsigned tile_bytes = threads * 16 * (pieces > 4 ? pieces : 4);
  // A tile may begin within a vector, and the last piece be read beyond it. Eight vectors change places.
  static constexpr unsigned num_vectors = tile_bytes / 16 + (change_places ? 8 : 3);
};

template <class shape, class T, class Reduction>
__global__ void __launch_bounds__(shape::threads)
    reduce_short_kernel(Reduction reduction, segment_parts parts_of, std::size_t num_segments,
                        unsigned block_segments) {
  meet_other_launch<Reduction>();
  using from = pieces_of_reduction<Reduction>;
  using item = typename from::item;
  __shared__ uint4 vectors[shape::num_vectors];
  const held_vectors<shape::change_places> held{vectors};
  const std::size_t first = blockIdx.x * std::size_t{block_segments};
  const auto num_here = static_cast<unsigned>(parts::at_most(num_segments - first, block_segments));
  const auto size = static_cast<unsigned>(parts_of.segment_items), segment_bytes = size * unsigned{sizeof(item)};
  const unsigned before = copy_to_shared_memory<shape::threads>(held, from::address(reduction.items.of(parts_of, 0)),
                                                                num_segments * segment_bytes, first * segment_bytes,
                                                                num_here * segment_bytes);

  auto items = reduction.items;
  items.d_in = reinterpret_cast<decltype(items.d_in)>(reinterpret_cast<unsigned char*>(vectors) + before);
  for (unsigned s = threadIdx.x; s < num_here; s += shape::threads) {
    const auto own = items.of(parts_of, s);
    const auto piece_at = [&](unsigned i) {
      if constexpr (shape::change_places)
        return held.template piece<item>(before + s * segment_bytes + i * unsigned{sizeof(item)});
      else
        return piece_in_shared_memory(from::address(own) + i);
    };
    reduction.write(first + s, reduce_alone<shape::pieces, T>(own, size, reduction.op, piece_at), true);
  }
}

// Few segments of small items that do not begin at multiples of 16 bytes: a block copies several to shared memory,
// where `lanes` of a warp reduce each. All is on its way at once, edges too.
struct short_tile_shape {
  static constexpr int threads = 128;
  static constexpr unsigned tile_bytes = 16 * 1024, least_bytes = 257, most_bytes = 4 * 1024, most_blocks = 512;
  static constexpr std::size_t most_total_bytes = 4'000'000;    // of 8 MB and more, cells took up to 15 % longer
  static constexpr unsigned num_vectors = tile_bytes / 16 + 3;  // as short_shape has them
};

template <class T, class Reduction>
__global__ void __launch_bounds__(short_tile_shape::threads)
    reduce_tile_kernel(Reduction reduction, segment_parts parts_of, std::size_t num_segments, unsigned block_segments,
                       unsigned lanes) {
  using from = pieces_of_reduction<Reduction>;
  using item = typename from::item;
  constexpr unsigned piece_items = piece_items_of_reduction<Reduction>;
  __shared__ uint4 vectors[short_tile_shape::num_vectors];
  const held_vectors<false> held{vectors};
  const std::size_t first = blockIdx.x * std::size_t{block_segments};
  const auto num_here = static_cast<unsigned>(parts::at_most(num_segments - first, block_segments));
  const auto size = static_cast<unsigned>(parts_of.segment_items), segment_bytes = size * unsigned{sizeof(item)};
  const unsigned before = copy_to_shared_memory<short_tile_shape::threads>(
      held, from::address(reduction.items.of(parts_of, 0)), num_segments * segment_bytes, first * segment_bytes,
      num_here * segment_bytes);

  const auto& op = reduction.op;
  const unsigned whole = size / piece_items, num_behind = size % piece_items;
  const unsigned num_pieces = whole + (num_behind != 0);
  const unsigned lane = threadIdx.x % lanes, groups = short_tile_shape::threads / lanes;
  for (unsigned pass = 0; pass < num_here; pass += groups) {
    const unsigned s = pass + threadIdx.x / lanes;
    T value;
    if (s < num_here) {
      const auto own = reduction.items.of(parts_of, first + s);
      const unsigned begin = before + s * segment_bytes;
      bool has_value = false;
      const auto take = [&](const T& next) {
        value = has_value ? op(value, next) : next;
        has_value = true;
      };
#pragma unroll 4
      for (unsigned p = lane; p < whole; p += lanes)
        take(from::template fold<T>(held.piece<item>(begin + p * 16), own, p * piece_items, op));
      if (num_behind != 0 && lane == whole % lanes) {
        const auto piece = held.piece<item>(begin + whole * 16);
#pragma unroll
        for (unsigned i = 0; i + 1 < piece_items; ++i)
          if (i < num_behind) take(from::template at<T>(piece[i], own, whole * piece_items + i));
      }
    }
#pragma unroll 1
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
      const T other = parts::shuffle_down(value, static_cast<int>(distance));
      if (lane < distance && lane + distance < num_pieces) value = op(value, other);
    }
    if (lane == 0 && s < num_here) reduction.write(first + s, value, true);
  }
}

// Threads take several segments one after the other where there are more than this for each.
inline constexpr std::size_t short_segments_a_round = std::size_t{1} << 18;

template <class shape, class T, class Reduction>
cudaError_t reduce_short(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                         cudaStream_t stream) {
  using item = typename pieces_of_reduction<Reduction>::item;
  const std::size_t of_tile = shape::tile_bytes / (shape::threads * parts_of.segment_items * sizeof(item));
  const std::size_t rounds = parts::at_most(parts::at_most(of_tile, shape::most_rounds),
                                            parts::ceil_div(num_segments, short_segments_a_round));
  const std::size_t block_segments = rounds * shape::threads;
  return launch_next<Reduction>(reduce_short_kernel<shape, T, Reduction>, parts::ceil_div(num_segments, block_segments),
                                shape::threads, stream, reduction, parts_of, num_segments, block_segments);
}

template <class T, class Reduction>
cudaError_t reduce_tiles(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                         cudaStream_t stream) {
  using item = typename pieces_of_reduction<Reduction>::item;
  const std::size_t segment_bytes = parts_of.segment_items * sizeof(item);
  const unsigned lanes = segment_bytes <= 1024 ? 8 : segment_bytes <= 2048 ? 16 : 32;
  const std::size_t of_warp = parts::warp_threads / lanes;
  const std::size_t of_block = parts::ceil_div(num_segments, short_tile_shape::most_blocks);
  const std::size_t block_segments =
      parts::at_most(short_tile_shape::tile_bytes / segment_bytes, of_block > of_warp ? of_block : of_warp);
  return launch_next<Reduction>(reduce_tile_kernel<T, Reduction>, parts::ceil_div(num_segments, block_segments),
                                short_tile_shape::threads, stream, reduction, parts_of, num_segments,
                                static_cast<unsigned>(block_segments), lanes);
}

// The most short parts that have threads of their own: of 30,303 segments of 33 items they took up to 9 % longer.
inline constexpr std::size_t few_short_parts = 16384;

// Whether threads of a warp that read their own segments in order meet in the same banks of shared memory.
template <class Item>
bool meet_in_banks(std::size_t segment_bytes) {
  return segment_bytes % (sizeof(Item) < 8 ? 32 : 64) == 0;
}

// Whether a thread each is faster, by cells of an H200. It is not for few segments of more than four pieces or that
// meet in banks, and for very many of a few bytes. Of more than eight pieces, it is for many that begin anywhere.
template <class Item>
bool are_short(std::size_t segment_bytes, std::size_t num_segments, bool aligned) {
  if (segment_bytes == 0 || segment_bytes >= 256) return false;
  if (num_segments <= few_short_parts) return segment_bytes <= 64 && !meet_in_banks<Item>(segment_bytes);
  if (segment_bytes > 128) return !aligned && !meet_in_banks<Item>(segment_bytes) && num_segments > 2 * few_short_parts;
  return sizeof(Item) > 1 || segment_bytes > 8 || num_segments <= short_segments_a_round;
}

template <class T, class Reduction>
cudaError_t reduce_parts(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_parts,
                         cudaStream_t stream) {
  const auto launch = [&](auto threads, auto pieces) {
    using shape = part_shape<threads(), pieces()>;
    return launch_next<Reduction>(reduce_parts_kernel<shape, T, Reduction>,
                                  parts::ceil_div(num_parts, shape::block_parts * shape::parts_at_once),
                                  shape::block_threads, stream, reduction, parts_of, num_parts);
  };
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 8> eight;
  const std::size_t pieces = parts::ceil_div(parts_of.part_items, piece_items_of_reduction<Reduction>);
  constexpr bool in_vectors = pieces_of_reduction<Reduction>::in_vectors;
  if constexpr (in_vectors && Reduction::leaves_aggregates) {
    return launch(std::integral_constant<int, 256>{}, eight);  // they have at least 64 KB
  } else {
    using item = typename pieces_of_reduction<Reduction>::item;
    if constexpr (in_vectors && !Reduction::takes_aggregates) {
      const std::size_t bytes = parts_of.segment_items * sizeof(item);
      const bool aligned = reduction.items.aligned;
      if (are_short<item>(bytes, num_parts, aligned)) {
        if (meet_in_banks<item>(bytes))
          return reduce_short<short_shape<8, true>, T>(reduction, parts_of, num_parts, stream);
        if (pieces <= 2) return reduce_short<short_shape<2>, T>(reduction, parts_of, num_parts, stream);
        if (pieces <= 8) return reduce_short<short_shape<8>, T>(reduction, parts_of, num_parts, stream);
        return reduce_short<short_shape<16>, T>(reduction, parts_of, num_parts, stream);
      }
      if constexpr (sizeof(item) < 4)
        if (!aligned && bytes >= short_tile_shape::least_bytes && bytes <= short_tile_shape::most_bytes &&
            num_parts * bytes <= short_tile_shape::most_total_bytes)
          return reduce_tiles<T>(reduction, parts_of, num_parts, stream);
    }
    // Threads take several short parts at once, where there are many. Of few each has its own threads, which takes less
    // time; lanes without a piece do not change the order. Aggregates are few.
    if constexpr (!Reduction::takes_aggregates) {
      if (parts_of.parts_per_segment == 1 && num_parts > few_short_parts) {
        if constexpr (!in_vectors || sizeof(item) == 1)
          if (pieces <= 1) return launch(one, one);
        if constexpr (!in_vectors) {
          if (pieces <= 2) return launch(two, one);
          if (pieces <= 4) return launch(four, one);
          if (pieces <= 8) return launch(eight, one);
        }
        if (pieces <= 16) return launch(eight, two);
      }
      if (pieces <= 32) return launch(eight, four);
    }
    if (pieces <= 64) return launch(eight, eight);
    if (pieces <= 128) return launch(std::integral_constant<int, 16>{}, eight);
    if (pieces <= 256) return launch(std::integral_constant<int, 32>{}, eight);
    if (pieces <= 512) return launch(std::integral_constant<int, 64>{}, eight);
    if (pieces <= 1024) return launch(std::integral_constant<int, 128>{}, eight);
    return launch(std::integral_constant<int, 256>{}, eight);
  }
}

// Longer segments are reduced in parts of so many bytes, and their aggregates by a second launch.
inline constexpr std::size_t most_part_bytes = 128 * 1024;

// Which of these variants are tried: 1 rolling loads, 2 blocks of 1,024 threads, 4 overlapped launches, 8 short
// segments, 16 many segments, 32 loads by the read-only path.
inline constexpr int trial = 0;

// What a thread of so many has of whole aligned pieces, `at_once` of them on their way. All loads are issued before one
// is used, and none is under a branch. The order is that of share_of_range.
template <int threads, int at_once, class T, class InputIteratorT, class Op>
__device__ T share_of_aligned(const InputIteratorT& items, unsigned size, const Op& op) {
  using from = pieces_of<InputIteratorT>;
  using item = typename from::item;
  constexpr unsigned piece_items = piece_items_of<InputIteratorT>;
  typename from::template folded<T, Op> folded;
  const unsigned whole = size / piece_items;
  if constexpr ((trial & 1) != 0) {
    unsigned first = threadIdx.x;
    const auto* at = reinterpret_cast<const uint4*>(from::address(items)) + first;
    parts::vector<item> loaded[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) load_vector_before(whole, first + k * threads, at + k * threads, loaded[k]);
#pragma unroll 1
    for (; first < whole; first += at_once * threads) {
      at += at_once * threads;
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (first + k * threads >= whole) break;
        folded.take_piece(loaded[k], items, (first + k * threads) * piece_items, op);
        load_vector_before(whole, first + (at_once + k) * threads, at + k * threads, loaded[k]);
      }
    }
  } else {
    const auto* at = reinterpret_cast<const uint4*>(from::address(items)) + threadIdx.x;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < whole; first += at_once * threads, at += at_once * threads) {
      parts::vector<item> loaded[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) load_vector_before(whole, first + k * threads, at + k * threads, loaded[k]);
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (first + k * threads >= whole) break;
        folded.take_piece(loaded[k], items, (first + k * threads) * piece_items, op);
      }
    }
  }
  folded.settle(items, op);
  return folded.value;
}

// The values of all threads of a block, combined in the order of reduce_shares, in thread 0.
template <int threads, class T, class Op>
__device__ T reduce_full_block(T value, const Op& op) {
  constexpr int warps = threads / parts::warp_threads;
  if constexpr (by_whole_warp<T, Op>::is_faster)
    value = by_whole_warp<T, Op>::reduce(value, true, op);
  else
    value = parts::warp_reduce(value, op);
  if constexpr (warps > 1) {
    alignas(16) __shared__ T of_warps[warps];
    if (threadIdx.x % parts::warp_threads == 0) of_warps[threadIdx.x / parts::warp_threads] = value;
    __syncthreads();
    if (threadIdx.x == 0) {  // faster than shuffles: it reads by vectors, and does not wait for each level
      T values[warps];
#pragma unroll
      for (int w = 0; w < warps; ++w) values[w] = of_warps[w];
#pragma unroll
      for (int distance = warps / 2; distance > 0; distance /= 2)
#pragma unroll
        for (int w = 0; w < distance; ++w) values[w] = op(values[w], values[w + distance]);
      value = values[0];
    }
  }
  return value;
}

// Few long segments, a block each, or up to sixteen parts with a block each. They have more on their way than the
// blocks of many parts.
template <int threads, int pieces, int blocks_>
struct whole_shape : part_shape<threads, pieces> {
  static constexpr int blocks = blocks_, block_threads = threads;
  static constexpr int unaligned_pieces = pieces, shifted_pieces = 8;
};
struct few_long_shape : whole_shape<256, 16, 1> {
  static constexpr int most_parts = 16;
};

// A part of at least as many pieces as there are threads, reduced by a block. The aggregate is thread 0's. Aligned
// parts have kernels of their own: beside the code of others, theirs would take longer to come.
template <class shape, bool aligned, class T, class Reduction, class Parts>
__device__ T reduce_long_part(Reduction reduction, const Parts& parts_of, std::size_t part) {
  const unsigned size = parts_of.size(part);
  if constexpr (aligned) {
    const auto items = reduction.items.of(parts_of, part);
    return reduce_full_block<shape::threads>(
        share_of_aligned<shape::threads, shape::pieces, T>(items, size, reduction.op), reduction.op);
  } else {
    reduction.items.aligned = false;
    const T share = share_of_part<shape, T>(reduction, parts_of, part);
    if constexpr (pieces_of_reduction<Reduction>::in_vectors)
      return reduce_full_block<shape::threads>(share, reduction.op);
    else
      return reduce_shares<shape, 1>(share, size, reduction.op);
  }
}

// Calls call(whether parts are aligned), as a constant.
template <class Reduction, class Call>
cudaError_t with_alignment(const Reduction& reduction, const Call& call) {
  if constexpr (pieces_of_reduction<Reduction>::in_vectors)
    if (reduction.items.aligned) return call(std::true_type{});
  return call(std::false_type{});
}

// Segments as parts: like segment_parts, without a division.
struct whole_segments {
  unsigned segment_items;

  __device__ std::size_t begin_in_segment(std::size_t) const { return 0; }
  __device__ std::size_t begin(std::size_t part) const { return part * segment_items; }
  __device__ unsigned size(std::size_t) const { return segment_items; }
};

template <class shape, bool aligned, class T, class Reduction>
__global__ void __launch_bounds__(shape::block_threads, shape::blocks)
    reduce_whole_kernel(Reduction reduction, unsigned size) {
  if constexpr ((trial & 4) != 0) {
    parts::wait_for_launch_before();
    parts::let_next_launch_start();
  }
  const T value = reduce_long_part<shape, aligned, T>(reduction, whole_segments{size}, blockIdx.x);
  if (threadIdx.x == 0) reduction.write(blockIdx.x, value, true);
}

// The same by 1,024 threads, of which 256 combine what all have of pieces.
template <int pieces, class T, class Reduction>
__global__ void __launch_bounds__(1024, 1) reduce_wide_kernel(Reduction reduction, unsigned size) {
  using from = pieces_of_reduction<Reduction>;
  constexpr unsigned piece_items = piece_items_of_reduction<Reduction>, threads = 1024, chains = 256;
  __shared__ T folded[pieces * threads / chains][chains];
  const auto items = reduction.items.of(whole_segments{size}, blockIdx.x);
  const auto& op = reduction.op;
  const unsigned whole = size / piece_items, chain = threadIdx.x % chains, way = threadIdx.x / chains;
  const auto* const at = reinterpret_cast<const uint4*>(from::address(items)) + threadIdx.x;
  parts::vector<typename from::item> loaded[pieces];
#pragma unroll
  for (int k = 0; k < pieces; ++k) load_vector_before(whole, threadIdx.x + k * threads, at + k * threads, loaded[k]);
#pragma unroll
  for (int k = 0; k < pieces; ++k)
    if (threadIdx.x + k * threads < whole)
      folded[k * (threads / chains) + way][chain] =
          from::template fold<T>(loaded[k], items, (threadIdx.x + k * threads) * piece_items, op);
  __syncthreads();
  alignas(16) __shared__ T of_warps[chains / parts::warp_threads];
  if (threadIdx.x < chains) {
    T value = folded[0][chain];
#pragma unroll
    for (unsigned c = 1; c < pieces * threads / chains; ++c)
      if (chain + c * chains < whole) value = op(value, folded[c][chain]);
    value = parts::warp_reduce(value, op);
    if (threadIdx.x % parts::warp_threads == 0) of_warps[threadIdx.x / parts::warp_threads] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    constexpr int warps = chains / parts::warp_threads;
    T values[warps];
#pragma unroll
    for (int w = 0; w < warps; ++w) values[w] = of_warps[w];
#pragma unroll
    for (int distance = warps / 2; distance > 0; distance /= 2)
#pragma unroll
      for (int w = 0; w < distance; ++w) values[w] = op(values[w], values[w + distance]);
    reduction.write(blockIdx.x, values[0], true);
  }
}

// Where the parts of few segments lie. A division by the number of parts would take longer than a load.
struct few_parts {
  unsigned segment_items, part_items, parts_per_segment, inverse;

  explicit few_parts(const segment_parts& parts)
      : segment_items(static_cast<unsigned>(parts.segment_items)),
        part_items(parts.part_items),
        parts_per_segment(parts.parts_per_segment),
        inverse(0x10000 / parts.parts_per_segment + 1) {}

  // Exact for up to few_long_parts parts.
  __device__ unsigned segment(std::size_t part) const { return static_cast<unsigned>(part) * inverse >> 16; }
  __device__ unsigned in_segment(std::size_t part) const {
    return static_cast<unsigned>(part) - segment(part) * parts_per_segment;
  }
  __device__ std::size_t begin_in_segment(std::size_t part) const { return in_segment(part) * part_items; }
  __device__ std::size_t begin(std::size_t part) const {
    return segment(part) * std::size_t{segment_items} + begin_in_segment(part);
  }
  __device__ unsigned size(std::size_t part) const {
    const unsigned behind = segment_items - in_segment(part) * part_items;
    return behind < part_items ? behind : part_items;
  }
};

template <bool aligned, class T, class Reduction>
__global__ void __launch_bounds__(few_long_shape::block_threads, few_long_shape::blocks)
    reduce_few_parts_kernel(Reduction reduction, few_parts parts_of) {
  meet_other_launch<Reduction>();
  const T value = reduce_long_part<few_long_shape, aligned, T>(reduction, parts_of, blockIdx.x);
  if (threadIdx.x == 0) reduction.write(blockIdx.x, value, true);
}

// The same in one launch. The block of a segment's last part gathers what those of the others post under a tag of the
// call.
template <bool aligned, class T, class Reduction>
__global__ void __launch_bounds__(few_long_shape::block_threads, few_long_shape::blocks)
    reduce_few_long_kernel(Reduction reduction, few_parts parts_of, parts::mailboxes<T> mailboxes, parts::tag of_call) {
  using shape = few_long_shape;
  alignas(16) __shared__ T aggregates[shape::most_parts + 20 / sizeof(T)];  // and what a piece has behind them
  const unsigned last = parts_of.parts_per_segment - 1, part = parts_of.in_segment(blockIdx.x);
  if (part != last && threadIdx.x == 0) mailboxes.prefetch(blockIdx.x);
  const T value = reduce_long_part<few_long_shape, aligned, T>(reduction, parts_of, blockIdx.x);
  if (part != last) {
    if (threadIdx.x == 0) mailboxes.post(blockIdx.x, value, of_call);
    return;
  }
  if (threadIdx.x == 0) aggregates[last] = value;
  if (threadIdx.x < last) {
    T other;
    while (!mailboxes.peek(blockIdx.x - last + threadIdx.x, other, of_call)) continue;
    aggregates[threadIdx.x] = other;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const T* const of_parts = aggregates;
    reduction.write(parts_of.segment(blockIdx.x),
                    reduce_alone<shape::most_parts, T>(of_parts, parts_of.parts_per_segment, reduction.op), true);
  }
}

// The most parts of all segments that are reduced so, and the least pieces of a segment that is one part.
inline constexpr std::size_t few_long_parts = 264, least_long_pieces = 1025;

inline bool are_few_long(std::size_t num_segments, std::size_t num_parts) {
  return num_parts <= few_long_shape::most_parts && num_segments * num_parts <= few_long_parts;
}

template <class T>
inline constexpr bool fits_mailboxes = std::is_trivially_copyable_v<T> && sizeof(T) <= 40;

// Segments of one part and of more pieces than threads, a block each.
template <class shape, bool aligned, class T, class Reduction>
cudaError_t reduce_whole(const Reduction& reduction, std::size_t num_segments, std::size_t size, cudaStream_t stream) {
  bool overlaps = false;
  if constexpr ((trial & 4) != 0)
    if (const cudaError_t error = parts::overlaps_launches(overlaps)) return error;
  return parts::launch_overlapped(reduce_whole_kernel<shape, aligned, T, Reduction>, num_segments, shape::threads, 0,
                                  overlaps, stream, reduction, static_cast<unsigned>(size));
}

// Reduces segments so if they are few and long. In a graph, where a tag would be the same each time, two launches do.
template <class T, class Reduction>
cudaError_t try_few_long(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                         void* storage, bool& is_done, cudaStream_t stream) {
  is_done = false;
  const std::size_t num_parts = parts_of.parts_per_segment;
  const std::size_t pieces = parts::ceil_div(parts_of.segment_items, piece_items_of_reduction<Reduction>);
  if constexpr ((trial & 24) != 0 && fits_mailboxes<T> && pieces_of_reduction<Reduction>::in_vectors)
    if (num_parts == 1 && reduction.items.aligned && pieces > 128) {
      const auto launch = [&](auto shape) {
        is_done = true;
        return reduce_whole<decltype(shape), true, T>(reduction, num_segments, parts_of.segment_items, stream);
      };
      if ((trial & 16) != 0 && pieces >= least_long_pieces && num_segments > few_long_parts)
        return launch(whole_shape<256, 8, 3>{});
      if ((trial & 8) != 0 && pieces < least_long_pieces && (num_segments <= 528 || (trial & 16) != 0)) {
        if (pieces <= 256) return launch(whole_shape<32, 8, 1>{});
        if (pieces <= 512) return launch(whole_shape<64, 8, 1>{});
        return launch(whole_shape<128, 8, 1>{});
      }
    }
  if (!are_few_long(num_segments, num_parts)) return cudaSuccess;
  if (num_parts == 1) {
    is_done = fits_mailboxes<T> && pieces >= least_long_pieces;
    if (!is_done) return cudaSuccess;
    if constexpr ((trial & 2) != 0 && pieces_of_reduction<Reduction>::in_vectors && sizeof(T) <= 8)
      if (reduction.items.aligned) {
        if (pieces <= 4096)
          return parts::launch_overlapped(reduce_wide_kernel<4, T, Reduction>, num_segments, 1024, 0, false, stream,
                                          reduction, static_cast<unsigned>(parts_of.segment_items));
        if constexpr (sizeof(T) <= 4)
          return parts::launch_overlapped(reduce_wide_kernel<8, T, Reduction>, num_segments, 1024, 0, false, stream,
                                          reduction, static_cast<unsigned>(parts_of.segment_items));
      }
    return with_alignment(reduction, [&](auto aligned) {
      return reduce_whole<few_long_shape, aligned(), T>(reduction, num_segments, parts_of.segment_items, stream);
    });
  }
  if constexpr (fits_mailboxes<T>) {
    bool captured = false;
    if (const cudaError_t error = parts::is_captured(stream, captured)) return error;
    if (captured) return cudaSuccess;
    is_done = true;
    return with_alignment(reduction, [&](auto aligned) {
      return launch_next<Reduction>(reduce_few_long_kernel<aligned(), T, Reduction>, num_segments * num_parts,
                                    few_long_shape::block_threads, stream, reduction, few_parts(parts_of),
                                    parts::mailboxes<T>(static_cast<char*>(storage)), parts::draw_tag());
    });
  }
  return cudaSuccess;
}

// Parts of whole pieces, as even as these allow.
template <class Reduction>
segment_parts parts_of_segments(std::size_t segment_items) {
  constexpr std::size_t item_bytes = sizeof(typename pieces_of_reduction<Reduction>::item);
  constexpr std::size_t piece_items = piece_items_of_reduction<Reduction>;
  const std::size_t most_parts = parts::ceil_div(segment_items * item_bytes, most_part_bytes);
  if (most_parts <= 1) return {segment_items, 1, static_cast<unsigned>(segment_items)};
  const std::size_t part_items = parts::ceil_div(segment_items, most_parts * piece_items) * piece_items;
  return {segment_items, static_cast<unsigned>(parts::ceil_div(segment_items, part_items)),
          static_cast<unsigned>(part_items)};
}

// What the parts of so many segments leave, where a segment has more than one.
template <class T>
std::size_t bytes_of_aggregates(std::size_t num_segments, unsigned num_parts) {
  if (num_parts == 1) return 0;
  const std::size_t bytes = num_segments * num_parts * sizeof(T);
  if (!fits_mailboxes<T> || !are_few_long(num_segments, num_parts)) return bytes;
  return parts::mailboxes<T>::bytes(num_segments * num_parts);
}

// Every segment, accumulated in T. `storage` has bytes_of_aggregates<T>(num_segments, parts_of.parts_per_segment)
// bytes, and is aligned to 16.
template <class T, class Reduction>
cudaError_t reduce_segments(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                            void* storage, cudaStream_t stream) {
  if (num_segments == 0) return cudaSuccess;
  bool is_done = false;
  cudaError_t error = try_few_long<T>(reduction, parts_of, num_segments, storage, is_done, stream);
  if (error != cudaSuccess || is_done) return error;
  const unsigned num_parts = parts_of.parts_per_segment;
  if (num_parts == 1) return reduce_parts<T>(reduction, parts_of, num_segments, stream);
  T* const d_aggregates = static_cast<T*>(storage);
  const reduction_of of_parts{reduction.items, reduction.op, write_part<T>{d_aggregates}};
  using leaving = std::remove_const_t<decltype(of_parts)>;
  if (fits_mailboxes<T> && are_few_long(num_segments, num_parts))
    error = with_alignment(of_parts, [&](auto aligned) {
      return launch_next<leaving>(reduce_few_parts_kernel<aligned(), T, leaving>, num_segments * num_parts,
                                  few_long_shape::block_threads, stream, of_parts, few_parts(parts_of));
    });
  else
    error = reduce_parts<T>(of_parts, parts_of, num_segments * num_parts, stream);
  if (error != cudaSuccess) return error;
  return reduce_parts<T>(reduction_of{aggregates_of_parts<T>{{d_aggregates, false}}, reduction.op, reduction.write},
                         segment_parts{num_parts, 1, num_parts}, num_segments, stream);
}

}  // namespace rungs::RUNGS_ABI::production
