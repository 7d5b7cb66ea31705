// Segments of one size, reduced: by a thread each where they are short and lie in memory, by lanes of a warp each, by
// warps of a block, or in parts where they are long. Up to some thousands of long ones are long_segments.cuh's. The
// order is that of segment_parts.cuh in each case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/segments/long_segments.cuh"
#include "rungs/production/segments/pieces.cuh"
#include "rungs/production/segments/segment_parts.cuh"

namespace rungs::RUNGS_ABI::production {

// reduce_valid_lanes for several parts at once. At each distance a lane gives away half of its parts, while there are
// several, and takes a partner's values of the other half: fewer shuffles, and the order is that of reduce_valid_lanes.
// The value of part r is in lane r * (lanes / num_parts). num_valid(r) is the number of lanes with a value of part r.
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

// Longer segments are reduced in parts of so many bytes: as short as gives a segment up to most_block_parts of them. A
// second launch combines their aggregates, unless the parts are few (long_segments.cuh).
inline constexpr std::size_t most_part_bytes = 128 * 1024, least_part_bytes = 32 * 1024;

// Parts of whole pieces, as even as these allow. Aggregates are of type T.
template <class T, class Reduction>
segment_parts parts_of_segments(std::size_t segment_items) {
  constexpr std::size_t item_bytes = sizeof(typename pieces_of_reduction<Reduction>::item);
  constexpr std::size_t piece_items = piece_items_of_reduction<Reduction>;
  const std::size_t bytes = segment_items * item_bytes;
  if (bytes <= most_part_bytes) return {segment_items, 1, static_cast<unsigned>(segment_items)};
  std::size_t part_bytes = parts::ceil_div(bytes, most_block_parts<T>);
  if (part_bytes < least_part_bytes) part_bytes = least_part_bytes;
  if (part_bytes > most_part_bytes) part_bytes = most_part_bytes;
  const std::size_t most_parts = parts::ceil_div(bytes, part_bytes);
  std::size_t part_items = parts::ceil_div(segment_items, most_parts * piece_items) * piece_items;
  if constexpr (pieces_of_reduction<Reduction>::in_vectors) {  // threads of a block have a piece of the last one each
    constexpr std::size_t least = part_blocks_shape<true>::block_threads * piece_items;
    while (segment_items % part_items != 0 && segment_items % part_items < least) part_items += piece_items;
  }
  return {segment_items, static_cast<unsigned>(parts::ceil_div(segment_items, part_items)),
          static_cast<unsigned>(part_items)};
}

// What the parts of so many segments leave, where a segment has more than one.
template <class T>
std::size_t bytes_of_aggregates(std::size_t num_segments, unsigned num_parts) {
  if (num_parts == 1) return 0;
  const std::size_t bytes = num_segments * num_parts * sizeof(T);
  if (!fits_mailboxes<T> || !are_few_long<T>(num_segments, num_parts)) return bytes;
  return parts::mailboxes<T>::bytes(num_segments * num_parts);
}

// Every segment, accumulated in T. `storage` has bytes_of_aggregates<T>(num_segments, parts_of.parts_per_segment)
// bytes, and is aligned to 16.
template <class T, class Reduction>
cudaError_t reduce_segments(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                            void* storage, cudaStream_t stream) {
  if (num_segments == 0) return cudaSuccess;
  bool is_done = false;
  cudaError_t error = try_blocks<T>(reduction, parts_of, num_segments, storage, is_done, stream);
  if (error != cudaSuccess || is_done) return error;
  const unsigned num_parts = parts_of.parts_per_segment;
  if (num_parts == 1) return reduce_parts<T>(reduction, parts_of, num_segments, stream);
  T* const d_aggregates = static_cast<T*>(storage);
  error = leave_aggregates<T>(reduction_of{reduction.items, reduction.op, write_part<T>{d_aggregates}}, parts_of,
                              num_segments, stream);
  if (error != cudaSuccess) return error;
  return reduce_parts<T>(reduction_of{aggregates_of_parts<T>{{d_aggregates, false}}, reduction.op, reduction.write},
                         segment_parts{num_parts, 1, num_parts}, num_segments, stream);
}

}  // namespace rungs::RUNGS_ABI::production
