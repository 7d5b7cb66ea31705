// Parts of segments of one size: where they lie, how threads take their items, and how lanes combine what they have.
//
// A part of a segment is cut into pieces of up to 16 bytes; piece p belongs to thread p % threads of the part. Which
// thread takes which items, and in which order, follows from the size of the segments alone: a segment has the same
// result wherever it lies. No item is combined with anything but items, so operators need no identity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"
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

}  // namespace rungs::RUNGS_ABI::production
