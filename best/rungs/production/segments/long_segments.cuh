// Long segments of one size, reduced by a warp or a block each; those of several parts by a block for each part.
//
// Every thread has a piece, so no lane asks which others have one. Aligned segments and others have kernels of their
// own, without divisions. Up to 132 segments of 1 Ki to 32 Ki floats took 0.71 to 0.75 of the time of kernels for any
// size and alignment (in graphs, on an H200). Blocks of 1,024 threads, and loads that refill each register as soon as
// it is used, did not help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/segments/pieces.cuh"
#include "rungs/production/segments/segment_parts.cuh"

namespace rungs::RUNGS_ABI::production {

// What a thread of so many has of whole aligned pieces, `at_once` of them on their way. All loads are issued before one
// is used, and none is under a branch. The order is that of share_of_part, here and below.
template <int threads, int at_once, class T, class InputIteratorT, class Op>
__device__ T share_of_aligned(const InputIteratorT& items, unsigned size, const Op& op) {
  using from = pieces_of<InputIteratorT>;
  constexpr unsigned piece_items = piece_items_of<InputIteratorT>;
  typename from::template folded<T, Op> folded;
  const unsigned whole = size / piece_items;
  const auto* at = reinterpret_cast<const uint4*>(from::address(items)) + threadIdx.x;
#pragma unroll 1
  for (unsigned first = threadIdx.x; first < whole; first += at_once * threads, at += at_once * threads) {
    parts::vector<typename from::item> loaded[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) load_vector_before(whole, first + k * threads, at + k * threads, loaded[k].words);
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if (first + k * threads >= whole) break;
      folded.take_piece(loaded[k], items, (first + k * threads) * piece_items, op);
    }
  }
  folded.settle(items, op);
  return folded.value;
}

// The same of pieces that begin anywhere. Each lies in two aligned vectors. Around the first and the last whole piece
// there may be no memory: these two come item by item.
template <int threads, int at_once, class T, class InputIteratorT, class Op>
__device__ T share_of_unaligned(const InputIteratorT& items, unsigned size, const Op& op) {
  using from = pieces_of<InputIteratorT>;
  using item = typename from::item;
  constexpr unsigned piece_items = piece_items_of<InputIteratorT>;
  typename from::template folded<T, Op> folded;
  const item* const begin = from::address(items);
  const unsigned whole = size / piece_items, last = whole - 1;
  const unsigned thread = threadIdx.x;
  const bool has_last = thread == last % threads;
  parts::vector<item> first_piece, last_piece;
  if (thread == 0) first_piece = load_piece<T>(items, 0, false);
  if (has_last) last_piece = load_piece<T>(items, last * piece_items, false);
  const unsigned offset = reinterpret_cast<std::uintptr_t>(begin) % 16;
  const auto* at = reinterpret_cast<const uint4*>(reinterpret_cast<const unsigned char*>(begin) - offset) + thread;
#pragma unroll 1
  for (unsigned first = thread; first < last; first += at_once * threads, at += at_once * threads) {
    unsigned words[at_once][8];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const unsigned p = first + k * threads;
      load_vector_before(last - 1, p - 1, at + k * threads, words[k]);  // not for piece 0, which wraps
      load_vector_before(last, p, at + k * threads + 1, words[k] + 4);
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const unsigned p = first + k * threads;
      if (p >= last) break;
      parts::vector<item> piece;
      if (k == 0 && p == 0)
        piece = first_piece;
      else if (alignof(item) >= 8 && offset == 0)
        memcpy(piece.words, words[k], sizeof(piece.words));
      else
        piece = parts::shifted<item>(words[k], offset);
      folded.take_piece(piece, items, p * piece_items, op);
    }
  }
  if (has_last) folded.take_piece(last_piece, items, last * piece_items, op);
  folded.settle(items, op);
  if (thread == whole % threads)
#pragma unroll 1
    for (unsigned i = whole * piece_items; i < size; ++i) folded.take(static_cast<T>(items[i]), op);
  return folded.value;
}

// The values of all threads of a block, combined in the order of reduce_shares, in its thread 0. Thread 0 combines the
// warps' values alone: it reads several at once, and no level of shuffles waits for the one before.
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
    if (threadIdx.x == 0) {
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

// Threads of a part, the pieces that each has on its way, and blocks that fit a multiprocessor.
template <int threads, int pieces, int blocks_>
struct block_shape : part_shape<threads, pieces> {
  static constexpr int block_threads = threads, blocks = blocks_;
};
// Few segments have more on their way than many: 64 KB each. Pieces that begin anywhere take twice the registers.
using few_blocks_shape = block_shape<256, 16, 1>;
using many_blocks_shape = block_shape<256, 8, 3>;
using unaligned_blocks_shape = block_shape<256, 8, 2>;
// Of parts, which are shorter, more blocks are resident: where pieces begin anywhere, eight on their way in two blocks
// took up to 1.2 times as long as four in four.
template <bool aligned>
using part_blocks_shape = std::conditional_t<aligned, block_shape<256, 8, 4>, block_shape<256, 4, 4>>;
// Of a segment. Eight lanes combine up to 64 pieces of aggregates, in the second launch, too. A thread awaits one.
template <class T>
inline constexpr unsigned most_block_parts = 64 * (piece_items_of<const T*> < 4 ? piece_items_of<const T*> : 4);

// A part reduced by a block. The aggregate is its thread 0's. Parts in vectors have at least as many pieces as the
// block has threads; of other items there may be fewer.
template <class shape, bool aligned, class T, class Reduction, class Parts>
__device__ T reduce_part_by_block(const Reduction& reduction, const Parts& parts_of, std::size_t part) {
  constexpr int threads = shape::threads, at_once = shape::pieces;
  const unsigned size = parts_of.size(part);
  const auto items = reduction.items.of(parts_of, part);
  const auto& op = reduction.op;
  if constexpr (!pieces_of_reduction<Reduction>::in_vectors)
    return reduce_shares<shape, 1>(share_of_part<shape, T>(reduction, parts_of, part), size, op);
  else if constexpr (aligned)
    return reduce_full_block<threads>(share_of_aligned<threads, at_once, T>(items, size, op), op);
  else
    return reduce_full_block<threads>(share_of_unaligned<threads, at_once, T>(items, size, op), op);
}

// Segments of one part: segment_parts without a division.
struct undivided_segments {
  unsigned segment_items;

  __device__ std::size_t begin_in_segment(std::size_t) const { return 0; }
  __device__ std::size_t begin(std::size_t part) const { return part * segment_items; }
  __device__ unsigned size(std::size_t) const { return segment_items; }
};

// segment_parts of two or more parts each, of fewer than 2^31 parts: with a multiplication in place of the division,
// which takes longer than a load.
struct undivided_parts {
  std::size_t segment_items;
  unsigned part_items, parts_per_segment, inverse = 0;
  int shift = 0;

  explicit undivided_parts(const segment_parts& parts)
      : segment_items(parts.segment_items), part_items(parts.part_items), parts_per_segment(parts.parts_per_segment) {
    while (1ull << (shift + 1) < parts_per_segment) ++shift;
    inverse = static_cast<unsigned>(parts::ceil_div(1ull << (32 + shift), parts_per_segment));
  }

  __device__ unsigned segment(std::size_t part) const {
    return __umulhi(static_cast<unsigned>(part), inverse) >> shift;
  }
  __device__ unsigned in_segment(std::size_t part) const {
    return static_cast<unsigned>(part) - segment(part) * parts_per_segment;
  }
  __device__ std::size_t begin_in_segment(std::size_t part) const { return in_segment(part) * std::size_t{part_items}; }
  __device__ std::size_t begin(std::size_t part) const {
    return segment(part) * segment_items + begin_in_segment(part);
  }
  __device__ unsigned size(std::size_t part) const {
    return static_cast<unsigned>(parts::at_most(segment_items - begin_in_segment(part), part_items));
  }
};

// Called by the first warp. Combines the aggregates of a segment's parts, in shared memory at a multiple of 16 bytes.
// The order is that of the second launch, by which other segments of several parts are reduced.
template <class T, class Reduction>
__device__ void combine_parts(const Reduction& reduction, const undivided_parts& parts_of, const T* aggregates) {
  constexpr unsigned lanes = 8;
  using share = share_of_items<lanes, T, const T*, std::decay_t<decltype(reduction.op)>, 1>;
  const unsigned num_parts = parts_of.parts_per_segment;
  T value;
  if constexpr (share::in_vectors)
    value = share::reduce_aligned(aggregates, num_parts, threadIdx.x % lanes, reduction.op);
  else
    value = share::reduce(aggregates, num_parts, threadIdx.x % lanes, reduction.op);
  value = reduce_valid_lanes<lanes>(value, share::num_valid(num_parts), reduction.op);
  if (threadIdx.x == 0) reduction.write(parts_of.segment(blockIdx.x), value, true);
}

// A block for each segment.
template <class shape, bool aligned, class T, class Reduction>
__global__ void __launch_bounds__(shape::block_threads, shape::blocks)
    reduce_by_block_kernel(Reduction reduction, undivided_segments segments) {
  const T value = reduce_part_by_block<shape, aligned, T>(reduction, segments, blockIdx.x);
  if (threadIdx.x == 0) reduction.write(blockIdx.x, value, true);
}

// A block for each part, in the first of two launches.
template <bool aligned, class T, class Reduction>
__global__ void __launch_bounds__(part_blocks_shape<aligned>::block_threads, part_blocks_shape<aligned>::blocks)
    reduce_parts_by_block_kernel(Reduction reduction, undivided_parts parts_of) {
  meet_other_launch<Reduction>();
  const T value = reduce_part_by_block<part_blocks_shape<aligned>, aligned, T>(reduction, parts_of, blockIdx.x);
  if (threadIdx.x == 0) reduction.write(blockIdx.x, value, true);
}

// A block for each part. That of a segment's last part gathers what the others post under a tag of the call.
template <bool aligned, class T, class Reduction>
__global__ void __launch_bounds__(part_blocks_shape<aligned>::block_threads, part_blocks_shape<aligned>::blocks)
    reduce_by_posts_kernel(Reduction reduction, undivided_parts parts_of, parts::mailboxes<T> mailboxes,
                           parts::tag of_call) {
  alignas(16) __shared__ T aggregates[most_block_parts<T>];
  const unsigned last = parts_of.parts_per_segment - 1, part = parts_of.in_segment(blockIdx.x);
  if (part != last && threadIdx.x == 0) mailboxes.prefetch(blockIdx.x);
  const T value = reduce_part_by_block<part_blocks_shape<aligned>, aligned, T>(reduction, parts_of, blockIdx.x);
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
  if (threadIdx.x < parts::warp_threads) combine_parts<T>(reduction, parts_of, aggregates);
}

// Aggregates that a block holds in registers and posts.
template <class T>
inline constexpr bool fits_mailboxes = std::is_trivially_copyable_v<T> && sizeof(T) <= 40;

// Up to so many segments are few, and so many parts of all segments: eight on each multiprocessor of an H200.
inline constexpr std::size_t few_long_segments = 264, few_long_parts = 1056;

// The least pieces of segments with a block each. Of others than aligned ones only few have one: of many, threads share
// blocks, which is up to 1.6 times as fast.
inline constexpr std::size_t least_aligned_pieces = 129, least_other_pieces = 1025;

template <class T>
bool are_few_long(std::size_t num_segments, std::size_t num_parts) {
  return num_parts <= most_block_parts<T> && num_segments * num_parts <= few_long_parts;
}

// Calls call(whether parts are aligned), as a constant.
template <class Reduction, class Call>
cudaError_t with_alignment(const Reduction& reduction, const Call& call) {
  if constexpr (pieces_of_reduction<Reduction>::in_vectors)
    if (reduction.items.aligned) return call(std::true_type{});
  return call(std::false_type{});
}

// Segments of one part, if they are to have a block each.
template <bool aligned, class T, class Reduction>
cudaError_t try_block_each(const Reduction& reduction, std::size_t segment_items, std::size_t num_segments,
                           bool& is_done, cudaStream_t stream) {
  const auto launch = [&](auto shape) {
    is_done = true;
    return parts::launch(reduce_by_block_kernel<decltype(shape), aligned, T, Reduction>, num_segments, shape.threads,
                         stream, reduction, undivided_segments{static_cast<unsigned>(segment_items)});
  };
  const std::size_t pieces = parts::ceil_div(segment_items, piece_items_of_reduction<Reduction>);
  const bool are_few = num_segments <= few_long_segments;
  if constexpr (!aligned) {
    using shape =
        std::conditional_t<pieces_of_reduction<Reduction>::in_vectors, unaligned_blocks_shape, few_blocks_shape>;
    return are_few && pieces >= least_other_pieces ? launch(shape{}) : cudaSuccess;
  } else {
    if (pieces < least_aligned_pieces) return cudaSuccess;
    if (pieces <= 256) return launch(block_shape<32, 8, 1>{});
    if (pieces <= 512) return launch(block_shape<64, 8, 1>{});
    if (pieces <= 1024) return launch(block_shape<128, 8, 1>{});
    return are_few ? launch(few_blocks_shape{}) : launch(many_blocks_shape{});
  }
}

// Parts of few segments, a block each. In a graph a tag would be the same each time, so that parts are left to the
// first of two launches.
template <bool aligned, class T, class Reduction>
cudaError_t try_posts(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                      void* storage, bool& is_done, cudaStream_t stream) {
  bool captured = false;
  if (const cudaError_t error = parts::is_captured(stream, captured)) return error;
  is_done = !captured;
  if (captured) return cudaSuccess;
  return parts::launch(reduce_by_posts_kernel<aligned, T, Reduction>, num_segments * parts_of.parts_per_segment,
                       part_blocks_shape<aligned>::block_threads, stream, reduction, undivided_parts(parts_of),
                       parts::mailboxes<T>(static_cast<char*>(storage)), parts::draw_tag());
}

// Parts of segments in the first of two launches, which leaves their aggregates.
template <class T, class Reduction>
cudaError_t leave_aggregates(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                             cudaStream_t stream) {
  return with_alignment(reduction, [&](auto aligned) {
    return launch_next<Reduction>(
        reduce_parts_by_block_kernel<aligned(), T, Reduction>, num_segments * parts_of.parts_per_segment,
        part_blocks_shape<aligned()>::block_threads, stream, reduction, undivided_parts(parts_of));
  });
}

// Reduces segments by a block for each, or for each part, in one launch where that is faster.
template <class T, class Reduction>
cudaError_t try_blocks(const Reduction& reduction, const segment_parts& parts_of, std::size_t num_segments,
                       void* storage, bool& is_done, cudaStream_t stream) {
  is_done = false;
  if constexpr (fits_mailboxes<T>)
    return with_alignment(reduction, [&](auto aligned) {
      if (parts_of.parts_per_segment == 1)
        return try_block_each<aligned(), T>(reduction, parts_of.segment_items, num_segments, is_done, stream);
      if (are_few_long<T>(num_segments, parts_of.parts_per_segment))
        return try_posts<aligned(), T>(reduction, parts_of, num_segments, storage, is_done, stream);
      return cudaSuccess;
    });
  return cudaSuccess;
}

}  // namespace rungs::RUNGS_ABI::production
