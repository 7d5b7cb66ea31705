// Few segments between offsets, reduced in one launch, to the bits of two (offset_segments.cuh).
//
// A warp reduces a segment of up to 8 KB. Of more segments than blocks it takes up to 16 KB, where the order of items
// does not matter. Longer ones are cut into chunks. Every block reads all offsets and counts all chunks, so it knows
// its share by itself: as many in a row as the others have. A block that has all chunks of a segment merges them.
// Chunks of a segment that lies in several shares are posted, and the block with its last chunk merges them. That block
// waits for blocks of lower indices alone. These start first, and post before they wait.
//
// A block that has all of a segment of up to four chunks reduces these at once (chunks_at_once), where that is cheaper.
// It does so behind the chunks that it takes one by one, and before it merges what other blocks post. If there are no
// more segments than blocks, and not too few of up to four chunks, each block has that of its number. Of more segments
// than blocks, a quarter may have a few chunks, and none more. Then blocks take these in turn (segments_in_turn.cuh).
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/segment_by_warp.cuh"
#include "rungs/production/segments/segment_chunks.cuh"
#include "rungs/production/segments/segments_in_turn.cuh"
#include "rungs/production/segments/short_segments.cuh"

namespace rungs::RUNGS_ABI::production {

// Every block reads the offsets of all, so many more segments are two launches.
inline constexpr unsigned few_offset_segments = 4096;

// Blocks of a multiprocessor, with 32 KB each on their way. Three would have enough registers for all types, but be too
// few for 397 to 528 segments, and for 3,169 to 4,096, on an H200.
inline constexpr unsigned few_segment_blocks = 4;

// Chunks that can be posted. Segments whose chunks come behind these lie in one share each.
inline constexpr unsigned most_posted_chunks = 64 * 1024;

// Fewer segments of up to four chunks are shared out, since most blocks would have none.
inline constexpr int fewest_own_segments = 64;

// Items that chunks at once always suit.
template <class T, class Item>
inline constexpr bool are_small_items = sizeof(T) <= 8 && sizeof(Item) <= 4;

// Others have their chunks one by one, unless there are so many segments and no more than blocks.
template <class T>
inline constexpr std::size_t fewest_of_large_at_once = sizeof(T) > 8 ? 100 : fewest_own_segments;

// Most chunks of a segment where blocks take segments in turn. Of few segments the last ones would take longer than
// chunks that are shared out.
inline unsigned most_chunks_in_turn(std::size_t num_segments, std::size_t resident) {
  return num_segments <= 2 * resident ? 4 : 8;
}

// What blocks have posted of a segment's chunks, or will have.
template <class T>
struct posted_chunks {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = T;

  parts::mailboxes<T> mailboxes;
  parts::tag of_call;
  std::ptrdiff_t first;

  __device__ T operator[](std::ptrdiff_t i) const {
    T value;
    while (!mailboxes.peek(static_cast<std::size_t>(first + i), value, of_call)) continue;
    return value;
  }
  __device__ posted_chunks operator+(std::ptrdiff_t i) const { return {mailboxes, of_call, first + i}; }
};

enum class few_segments_way {
  shared_out,
  large_at_once,  // items that are not small, too
  in_turn         // may be: there are more segments than blocks, and all blocks are resident
};

template <class T, class Reduction, class Offsets, few_segments_way way_>
struct few_segments_call : offset_segments_call<T, Reduction, Offsets> {
  static constexpr few_segments_way way = way_;
  using common = offset_segments_call<T, Reduction, Offsets>;
  using at_once = chunks_at_once<T, typename common::item>;
  // Of more segments than blocks a warp takes longer ones, too.
  static constexpr bool in_any_order = has_no_order<T, std::decay_t<decltype(std::declval<Reduction>().op)>>;
  static constexpr unsigned most_warp_items =
      (in_any_order && way == few_segments_way::in_turn ? 2 : 1) * common::most_warp_items;
  // Segments of up to four chunks.
  static constexpr bool takes_at_once =
      at_once::of_few && (are_small_items<T, typename common::item> || way == few_segments_way::large_at_once);

  unsigned num_segments, tile_segments;  // of all, and of a block's warps
  unsigned sharing_blocks;               // the first ones, which are resident at once
  double per_block;                      // 1 / their number
  parts::mailboxes<T> mailboxes;         // of chunks
  parts::tag of_call;
  bool may_take_own;      // each block, with the segment of its number
  unsigned most_in_turn;  // items of a segment, where blocks take them in turn
};

// Chunks, and their weights, which differ where chunks have more than 32 KB. One word, so that both add up at once.
struct chunk_counts {
  static constexpr int chunk_bits = 24;
  unsigned long long word;

  // Of a giant the number of chunks is an upper bound, which takes no division.
  template <class Call>
  static __device__ chunk_counts of(typename Call::count size) {
    using cut = typename Call::cut;
    constexpr unsigned least_items = cut::template least_items<typename Call::item>;
    if (size <= Call::most_warp_items) return {0};
    const auto chunk_items = cut::template of<typename Call::item>(size).chunk_items;
    if (chunk_items == least_items) {
      const auto num_chunks = static_cast<unsigned>(size + least_items - 1) / least_items;
      return {static_cast<unsigned long long>(num_chunks) << chunk_bits | num_chunks};
    }
    const unsigned long long weight = parts::at_most(chunk_items / least_items, 1u << 16);
    return {weight * cut::most_chunks << chunk_bits | cut::most_chunks};
  }
  __device__ unsigned num_chunks() const { return static_cast<unsigned>(word) & ((1u << chunk_bits) - 1); }
  __device__ unsigned long long weight() const { return word >> chunk_bits; }
};

template <class Call>
struct few_segments_worker {
  using T = typename Call::T;
  using item = typename Call::item;
  using cut_of_call = typename Call::cut;
  using iterator = typename Call::Reduction::Items::iterator;
  using op_of_call = std::decay_t<decltype(std::declval<const Call&>().reduction.op)>;

  using flight = chunks_in_flight<T, iterator, op_of_call>;
  using at_once = typename Call::at_once;
  using in_turn = segments_in_turn<Call>;
  static constexpr bool takes_in_turn = Call::way == few_segments_way::in_turn && in_turn::are_taken;
  static constexpr unsigned chunk_items = cut_of_call::template least_items<item>;  // of chunks that are not larger

  // Chunks of a segment: from `begin` to `end`. The segment's chunk 0 is chunk `first` of all.
  struct some_chunks {
    unsigned segment, first, begin, end;
  };
  struct shared {
    uint4 held[flight::held_pieces];
    unsigned long long of_warps_words[segment_block_warps];
    T of_warps[2][segment_block_warps], of_merge[segment_block_warps], of_chunk;
    unsigned num_cut, num_whole;
    some_chunks cut[2];  // of segments that others have chunks of, too
    // Segments of which the block has all chunks. Those at once are listed from the end.
    unsigned short whole[few_offset_segments];
    unsigned num_at_once;
    T of_at_once[2][Call::takes_at_once ? at_once::num_kept : 1];
  };

  const Call& call;
  shared& own;

  __device__ void run() {
    const unsigned warp = threadIdx.x / parts::warp_threads;
    const unsigned segment = blockIdx.x * call.tile_segments + warp;
    const bool exists = warp < call.tile_segments && segment < call.num_segments;
    const auto begin = exists ? call.offsets.begin(segment) : 0;
    const auto size = exists ? call.offsets.size(segment, begin) : 0;
    unsigned long long sum = 0, sum_at_once = 0;  // of the thread's segments
    bool has_long = false;
    unsigned num_middle = 0;
    if (shares())
      for_own_segments([&](unsigned, typename Call::count size, chunk_counts counts) {
        (is_at_once(size) ? sum_at_once : sum) += counts.word;
        if constexpr (takes_in_turn) {
          ++num_middle;
          if (size > call.most_in_turn) has_long = true;
        }
      });
    if (threadIdx.x == 0) {
      own.num_cut = own.num_whole = 0;
      if constexpr (Call::takes_at_once) own.num_at_once = 0;
    }
    if (exists && size <= Call::most_warp_items)
      reduce_short(segment, call.reduction.items.of_segment(begin), static_cast<unsigned>(size));
    if (__syncthreads_or(sum > 0 || sum_at_once > 0)) {
      if constexpr (takes_in_turn)
        if (!__syncthreads_or(has_long) && are_alike(num_middle)) {
          in_turn::run(call, gridDim.x, reinterpret_cast<T*>(own.held));
          return parts::wait_until_cleared();
        }
      bool takes_own = false;
      if constexpr (Call::takes_at_once) {
        takes_own = call.may_take_own && __syncthreads_count(sum_at_once > 0) >= fewest_own_segments;
        if (!takes_own) sum += sum_at_once;
        // The first thread has the size of the block's only segment.
        if (takes_own && threadIdx.x == 0 && is_at_once(size)) list_at_once(segment);
      }
      if (!takes_own || __syncthreads_or(sum > 0)) take_share(sum, takes_own);
      reduce_share();
    }
    parts::wait_until_cleared();
  }

 private:
  __device__ bool shares() const { return blockIdx.x < call.sharing_blocks; }

  static __device__ bool is_at_once(typename Call::count size) {
    return Call::takes_at_once && size > Call::most_warp_items && size <= at_once::most * chunk_items;
  }

  // A segment of up to most_warp_items, by the caller's warp.
  __device__ void reduce_short(std::size_t segment, const iterator& items, unsigned size) const {
    const auto& op = call.reduction.op;
    const unsigned lane = threadIdx.x % parts::warp_threads;
    T value;
    unsigned num_valid;
    if (size <= short_segments<T>::most_items) {
      value = short_segments<T>::reduce_alone(items, size, num_valid, op);
    } else {
      value = share_of_warp<T, 8>(items, size, num_valid, op);
    }
    value = reduce_valid_lanes<parts::warp_threads>(value, num_valid, op);
    if (lane == 0) write(segment, value, size > 0);
  }

  // Whether a quarter of the segments is of middle size, or nearly so.
  __device__ bool are_alike(unsigned num_middle) const {
    const unsigned of_thread = (call.num_segments + segment_block_threads - 1) / segment_block_threads;
    return 2 * __syncthreads_count(4 * num_middle >= of_thread) > segment_block_threads;
  }

  // Calls of(segment, its size, its counts) for the segments that the thread looks after. Offsets of four come at once.
  template <class Of>
  __device__ void for_own_segments(const Of& of) const {
    constexpr unsigned loads = 4;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < call.num_segments; first += loads * segment_block_threads) {
      typename Call::count sizes[loads];
#pragma unroll
      for (unsigned k = 0; k < loads; ++k) {
        const unsigned segment = first + k * segment_block_threads;
        const unsigned each = segment < call.num_segments ? segment : first;
        sizes[k] = call.offsets.size(each, call.offsets.begin(each));
      }
#pragma unroll
      for (unsigned k = 0; k < loads; ++k) {
        const unsigned segment = first + k * segment_block_threads;
        if (segment < call.num_segments && sizes[k] > Call::most_warp_items)
          of(segment, sizes[k], chunk_counts::of<Call>(sizes[k]));
      }
    }
  }
  __device__ void write(std::size_t segment, const T& aggregate, bool has_items = true) const {
    call.reduction.write(segment, aggregate, has_items);
  }

  // Lists what the block has of all chunks, in any order. `sum`: of the thread's segments, less those that blocks
  // take by their number.
  __device__ void take_share(unsigned long long sum, bool takes_own) const {
    const unsigned warp = threadIdx.x / parts::warp_threads;
    const unsigned long long through = parts::warp_scan(sum, plus{});
    if (threadIdx.x % parts::warp_threads == parts::warp_threads - 1) own.of_warps_words[warp] = through;
    __syncthreads();
    chunk_counts before{through - sum}, all{0};
#pragma unroll
    for (unsigned w = 0; w < segment_block_warps; ++w) {
      if (w < warp) before.word += own.of_warps_words[w];
      all.word += own.of_warps_words[w];
    }
    // Of few chunks the first blocks have one each. They lie on different multiprocessors.
    const double most = static_cast<double>(all.weight()) * call.per_block, share = most > 1 ? most : 1;
    const auto begin_of = [&](unsigned block) { return static_cast<unsigned long long>(block * share); };
    const unsigned long long from = begin_of(blockIdx.x);
    const unsigned long long to = blockIdx.x + 1 < call.sharing_blocks ? begin_of(blockIdx.x + 1) : all.weight();
    if (sum > 0 && before.weight() < to && (before.word + sum) >> chunk_counts::chunk_bits > from) {
      for_own_segments([&](unsigned segment, typename Call::count size, chunk_counts each) {
        if (takes_own && is_at_once(size)) return;
        const auto of_chunk = static_cast<unsigned>(each.weight() / cut_of_call::most_chunks);
        const auto chunks_until = [&](unsigned long long end) {
          const unsigned long long begin = before.weight(), distance = end > begin ? end - begin : 0;
          const auto weight = static_cast<unsigned>(parts::at_most(distance, each.weight()));
          return of_chunk > 1 ? (weight + of_chunk - 1) / of_chunk : weight;
        };
        const unsigned first = before.num_chunks(), begin = chunks_until(from);
        const bool is_posted = first + each.num_chunks() <= most_posted_chunks;
        unsigned end = chunks_until(to);
        if (begin < end) {
          const unsigned num_chunks = cut_of_call::template of<item>(size).num_chunks;
          if (end > num_chunks || (!is_posted && begin == 0)) end = num_chunks;
          if (begin == 0 && end == num_chunks && is_at_once(size) && !comes_by_copies(segment))
            list_at_once(segment);
          else if (begin == 0 && end == num_chunks)
            own.whole[atomicAdd(&own.num_whole, 1u)] = static_cast<unsigned short>(segment);
          else if (is_posted && begin < end)
            own.cut[atomicAdd(&own.num_cut, 1u)] = {segment, first, begin, end};
        }
        before.word += each.word;
      });
    }
    __syncthreads();
  }

  // Chunks are faster one by one where all come by copies, and lie in items of at least four bytes.
  __device__ bool comes_by_copies(unsigned segment) const {
    const auto begin = call.offsets.begin(segment);
    return sizeof(item) >= 4 && call.offsets.size(segment, begin) % chunk_items == 0 &&
           flight::share::can_hold(call.reduction.items.of_segment(begin), chunk_items);
  }

  __device__ void list_at_once(unsigned segment) const {
    own.whole[few_offset_segments - 1 - atomicAdd(&own.num_at_once, 1u)] = static_cast<unsigned short>(segment);
  }

  __device__ cut_of_call cut_of(unsigned segment) const {
    return cut_of_call::template of<item>(call.offsets.size(segment, call.offsets.begin(segment)));
  }

  // Chunks of a segment that is whole are merged by the threads that would merge posted ones; others are posted. Before
  // they are, the next chunk is begun.
  __device__ void reduce_share() {
    const auto& op = call.reduction.op;
    const unsigned num_cut = own.num_cut, num_taken = num_cut + own.num_whole;
    if (!Call::takes_at_once && num_taken == 0) return;
    const auto segment_of = [&](unsigned i) { return i < num_cut ? own.cut[i].segment : own.whole[i - num_cut]; };
    unsigned i = 0, turn = 0, chunk, end;
    cut_of_call cut;
    iterator of_segment;
    const auto open = [&] {
      const unsigned segment = segment_of(i);
      const auto begin = call.offsets.begin(segment);
      cut = cut_of_call::template of<item>(call.offsets.size(segment, begin));
      of_segment = call.reduction.items.of_segment(begin);
      chunk = i < num_cut ? own.cut[i].begin : 0;
      end = i < num_cut ? own.cut[i].end : cut.num_chunks;
    };
    flight in_flight{own.held};
    T partial;  // of a segment that is whole
    iterator items;
    if (!Call::takes_at_once || num_taken > 0) {
      open();
      items = of_segment + static_cast<std::ptrdiff_t>(chunk * cut.chunk_items);
      in_flight.begin(items, cut.chunk_size(chunk));
    }
    for (; i < num_taken; turn ^= 1) {
      const unsigned its = i, current = chunk, num_chunks = cut.num_chunks, size = cut.chunk_size(chunk);
      const bool is_last = chunk + 1 >= end;
      T value = in_flight.reduce(items, size, op);
      ++chunk;
      if (is_last && ++i < num_taken) open();
      if (i < num_taken) {
        items = of_segment + static_cast<std::ptrdiff_t>(chunk * cut.chunk_items);
        in_flight.begin(items, cut.chunk_size(chunk));
      }
      value = merge_in_block(value, flight::share::num_valid(size), op, own.of_warps[turn]);

      if (its < num_cut) {
        if (threadIdx.x == 0) {
          parts::wait_until_cleared();
          call.mailboxes.post(own.cut[its].first + current, value, call.of_call);
        }
        continue;
      }
      if (num_chunks > parts::warp_threads) {
        if (threadIdx.x == 0) own.of_chunk = value;
        __syncthreads();
        if (threadIdx.x == current % segment_block_threads)
          partial = current < segment_block_threads ? own.of_chunk : op(partial, own.of_chunk);
        __syncthreads();
        if (is_last) value = merge_in_block(partial, num_chunks, op, own.of_merge);
      } else if (num_chunks > 1 && threadIdx.x < parts::warp_threads) {
        partial = with_chunk(partial, current, value);
        if (is_last) value = reduce_valid_lanes<parts::warp_threads>(partial, num_chunks, op);
      }
      if (is_last && threadIdx.x == 0) write(segment_of(its), value);
    }
    if constexpr (Call::takes_at_once) reduce_at_once();
    // The segment whose last chunks the block has, and others the first. The first warp may still read what it merged
    // last, so this one takes the other memory.
    for (i = 0; i < num_cut; ++i) {
      const some_chunks& last = own.cut[i];
      const unsigned num_chunks = cut_of(last.segment).num_chunks;
      if (last.begin == 0 || last.end < num_chunks) continue;
      parts::wait_until_cleared();
      const T value =
          reduce_by_block<T>(posted_chunks<T>{call.mailboxes, call.of_call, static_cast<std::ptrdiff_t>(last.first)},
                             num_chunks, op, own.of_warps[turn]);
      if (threadIdx.x == 0) write(last.segment, value);
    }
  }

  __device__ void reduce_at_once() const {
    const auto& op = call.reduction.op;
    // The offsets of the next segment come while the block reduces one.
    typename Call::offset next_begin{};
    unsigned next_size = 0;
    const auto look_at = [&](unsigned i) {
      if (i >= own.num_at_once) return;
      const unsigned segment = own.whole[few_offset_segments - 1 - i];
      next_begin = call.offsets.begin(segment);
      next_size = static_cast<unsigned>(call.offsets.size(segment, next_begin));
    };
    look_at(0);
#pragma unroll 1
    for (unsigned i = 0, turn = 0; i < own.num_at_once; turn ^= 1) {
      const auto items = call.reduction.items.of_segment(next_begin);
      const unsigned size = next_size;
      look_at(++i);
      const T value = at_once::template reduce<chunk_items>(items, size, op, own.of_at_once[turn]);
      if (threadIdx.x == 0) write(own.whole[few_offset_segments - i], value);
    }
  }
};

template <class Call>
__global__ void __launch_bounds__(segment_block_threads, few_segment_blocks)
    few_offset_segments_kernel(const __grid_constant__ Call call) {
  __shared__ typename few_segments_worker<Call>::shared shared;
  few_segments_worker<Call>{call, shared}.run();
}

// Up to few_offset_segments segments, accumulated in T. Storage: a mailbox of T for each chunk that can be posted.
template <class T, class Reduction, class Offsets>
cudaError_t reduce_few_offset_segments(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                       const Reduction& reduction, const Offsets& offsets, std::size_t num_segments,
                                       cudaStream_t stream) {
  constexpr std::size_t bytes = parts::mailboxes<T>::bytes(most_posted_chunks);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  if (num_segments == 0) return cudaSuccess;
  parts::device_limits limits;
  parts::opened_storage storage;
  error = limits.ask();
  if (error == cudaSuccess) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  using item = typename offset_segments_call<T, Reduction, Offsets>::item;
  const std::size_t resident = std::size_t{few_segment_blocks} * limits.multiprocessors;
  const std::size_t for_warps = parts::ceil_div(num_segments, segment_block_warps);
  const std::size_t blocks = for_warps > resident ? for_warps : resident;
  const auto launch = [&](auto its_way) {
    using call = few_segments_call<T, Reduction, Offsets, its_way>;
    const call made{{reduction, offsets},
                    static_cast<unsigned>(num_segments),
                    static_cast<unsigned>(parts::ceil_div(num_segments, blocks)),
                    static_cast<unsigned>(resident),
                    1.0 / static_cast<double>(resident),
                    parts::mailboxes<T>(region),
                    storage.of_call,
                    num_segments <= resident,
                    most_chunks_in_turn(num_segments, resident) * call::cut::template least_items<item>};
    return parts::launch_overlapped(few_offset_segments_kernel<call>, blocks, segment_block_threads, 0, storage.clears,
                                    stream, made);
  };
  using way = few_segments_way;
  if (num_segments > resident && for_warps <= resident) return launch(std::integral_constant<way, way::in_turn>{});
  if constexpr (chunks_at_once<T, item>::of_few && !are_small_items<T, item>)
    if (num_segments >= fewest_of_large_at_once<T> && num_segments <= resident)
      return launch(std::integral_constant<way, way::large_at_once>{});
  return launch(std::integral_constant<way, way::shared_out>{});
}

}  // namespace rungs::RUNGS_ABI::production
