// Segments between offsets, reduced in two launches whatever their lengths. Few are one launch
// (few_offset_segments.cuh).
//
// Lanes of a warp reduce up to 256 items, a warp up to 8 KB and a block up to 32 KB. Longer segments are cut into
// chunks of so much, counted from their beginning. So a segment's size alone says how it is reduced, and it has the
// same result wherever it lies.
//
// In the first launch a block takes so many segments. What would take it too long it lists as jobs, which the blocks of
// the second launch draw. So one long segment keeps the whole device busy. Nobody waits for a block that may not have
// started.
#pragma once

#include <cstddef>
#include <cstring>

#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/fixed_segments.cuh"
#include "rungs/production/segments/pieces.cuh"

namespace rungs::RUNGS_ABI::production {

// Segment s has the items begins[s] to ends[s] - 1, or none.
template <class BeginOffsetIteratorT, class EndOffsetIteratorT>
struct segment_offsets {
  using stored = std::common_type_t<parts::item_of<BeginOffsetIteratorT>, parts::item_of<EndOffsetIteratorT>>;
  // Narrow where they are: a register each, instead of two.
  static constexpr bool are_narrow = sizeof(stored) <= 4;
  using offset = std::conditional_t<are_narrow, std::conditional_t<sizeof(stored) == 4, stored, int>, long long>;
  using count = std::conditional_t<are_narrow, unsigned, unsigned long long>;

  BeginOffsetIteratorT begins;
  EndOffsetIteratorT ends;

  __device__ offset begin(std::size_t segment) const {
    return static_cast<offset>(begins[static_cast<std::ptrdiff_t>(segment)]);
  }
  __device__ count size(std::size_t segment, offset begin) const {
    const auto end = static_cast<offset>(ends[static_cast<std::ptrdiff_t>(segment)]);
    return end > begin ? static_cast<count>(end) - static_cast<count>(begin) : 0;
  }
};

// How a segment is cut: chunks of 32 KB, or so many larger ones.
template <class Count>
struct segment_cut {
  static constexpr unsigned most_chunks = 4096;
  template <class Item>
  static constexpr unsigned least_items = sizeof(Item) <= 16 ? 32 * 1024 / sizeof(Item) : 2048;
  Count size, chunk_items;
  unsigned num_chunks;

  template <class Item>
  static __device__ segment_cut of(Count size) {
    constexpr unsigned piece_items = 16;  // or more, of which chunks are whole
    if (size <= std::size_t{most_chunks} * least_items<Item>)
      return {size, least_items<Item>, (static_cast<unsigned>(size) + least_items<Item> - 1) / least_items<Item>};
    const Count chunk_items = static_cast<Count>(parts::ceil_div(size, most_chunks * piece_items)) * piece_items;
    return {size, chunk_items, static_cast<unsigned>(parts::ceil_div(size, chunk_items))};
  }
  __device__ unsigned chunk_size(unsigned chunk) const {
    return static_cast<unsigned>(parts::at_most(size - chunk * chunk_items, chunk_items));
  }
};

// Jobs that are listed: chunk c of a segment whose first job is b is job b + c. There is room for one job a segment and
// extra_jobs more; where those are taken, a long segment is one job.
//
// Storage may hold anything. Who lists first finds another word than the call's tag, and sets the counters to zero.
template <class T>
struct segment_jobs {
  static constexpr unsigned extra_jobs = 64 * 1024;
  static constexpr unsigned most_of_one_job = 2;  // of a segment's chunks
  static constexpr unsigned chunk_bits = 24, all_chunks = (1u << chunk_bits) - 1;
  struct counters {
    parts::tag of_call;  // or its complement while they are being set
    unsigned long long listed, extra, drawn;
  };

  counters* count;
  unsigned long long* entries;  // segment and chunk
  T* aggregates;                // of a job
  unsigned* arrivals;           // of a segment's chunks, at its first job

  // Where they lie in a region, and how much they take of it.
  static std::size_t place(char* region, std::size_t num_segments, segment_jobs& jobs) {
    const std::size_t most = num_segments + extra_jobs;
    std::size_t bytes = 0;
    const auto take = [&](auto*& array, std::size_t size) {
      array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(region + bytes);
      bytes += parts::ceil_div(size * sizeof(*array), parts::storage_alignment) * parts::storage_alignment;
    };
    take(jobs.count, 1);
    take(jobs.entries, most);
    take(jobs.aggregates, most);
    take(jobs.arrivals, most);
    return bytes;
  }

  __device__ bool are_listed(parts::tag of_call) const {
    return *static_cast<volatile parts::tag*>(&count->of_call) == of_call;
  }
  // One thread calls it before it lists.
  __device__ void begin_list(parts::tag of_call) const {
    const parts::tag found = *static_cast<volatile parts::tag*>(&count->of_call);
    if (found != of_call && found != ~of_call && atomicCAS(&count->of_call, found, ~of_call) == found) {
      count->listed = count->extra = count->drawn = 0;
      __threadfence();
      *static_cast<volatile parts::tag*>(&count->of_call) = of_call;
      return;
    }
    while (!are_listed(of_call)) continue;
    __threadfence();
  }
};

// What other blocks have written before.
template <class T>
struct written_by_others {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = T;

  const T* values;

  __device__ T operator[](std::ptrdiff_t i) const {
    using word = std::conditional_t<alignof(T) % 4 == 0, unsigned, unsigned char>;
    word words[sizeof(T) / sizeof(word)];
    const auto* const from = reinterpret_cast<const word*>(values + i);
#pragma unroll
    for (unsigned w = 0; w < sizeof(T) / sizeof(word); ++w) words[w] = __ldcg(from + w);
    T value;
    memcpy(static_cast<void*>(&value), words, sizeof(T));
    return value;
  }
  __device__ written_by_others operator+(std::ptrdiff_t i) const { return {values + i}; }
};

// The aggregate of `size` items, at least one, in the first lane of the warp.
template <class T, class InputIteratorT, class Op>
__device__ T reduce_by_warp(const InputIteratorT& items, unsigned size, const Op& op) {
  using share = share_of_items<parts::warp_threads, T, InputIteratorT, Op>;
  const T value = share::reduce(items, size, threadIdx.x % parts::warp_threads, op);
  return reduce_valid_lanes<parts::warp_threads>(value, share::num_valid(size), op);
}

inline constexpr int segment_block_threads = 256, segment_block_warps = segment_block_threads / parts::warp_threads;

inline constexpr int job_blocks = 4;  // of a multiprocessor, with 32 KB each on their way

// The aggregate of the values of the first num_valid threads of the block, in its first thread. Calls that follow each
// other take different memory.
template <class T, class Op>
__device__ T merge_in_block(T value, unsigned num_valid, const Op& op, T* of_warps) {
  const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const unsigned before = warp * parts::warp_threads;
  value = reduce_valid_lanes<parts::warp_threads>(value, num_valid > before ? num_valid - before : 0, op);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp > 0) return value;
  const auto valid_warps = static_cast<unsigned>(parts::ceil_div(num_valid, parts::warp_threads));
  constexpr int lanes = by_whole_warp<T, Op>::is_faster ? parts::warp_threads : segment_block_warps;
  return reduce_valid_lanes<lanes>(of_warps[lane % segment_block_warps], valid_warps, op);
}
template <class T, class InputIteratorT, class Op>
__device__ T reduce_by_block(const InputIteratorT& items, unsigned size, const Op& op, T* of_warps) {
  using share = share_of_items<segment_block_threads, T, InputIteratorT, Op>;
  return merge_in_block(share::reduce(items, size, threadIdx.x, op), share::num_valid(size), op, of_warps);
}

// Chunks that a block reduces one after the other. The next one's items are on their way while threads merge.
template <class T, class Items, class Op>
struct chunks_in_flight {
  using share = share_of_items<segment_block_threads, T, Items, Op>;

  // Shared memory has room for the items beside aggregates of so many bytes.
  static constexpr bool may_hold = sizeof(T) <= 64;
  static constexpr unsigned held_pieces = may_hold ? share::held_pieces : 1;

  uint4* held;  // of held_pieces, in shared memory
  bool holds = false;

  __device__ void begin(const Items& items, unsigned size) {
    holds = may_hold && share::can_hold(items, size);
    if (holds) share::fetch(held, items, threadIdx.x);
  }
  // What the thread has of the chunk that was begun.
  __device__ T reduce(const Items& items, unsigned size, const Op& op) const {
    return holds ? share::reduce_fetched(held, items, threadIdx.x, op) : share::reduce(items, size, threadIdx.x, op);
  }
};

// What the lanes of a warp have of chunks of a segment, one each, with that of another, which the first lane has.
template <class T>
__device__ T with_chunk(const T& own, unsigned chunk, const T& value) {
  const T of_chunk = parts::by_words(value, [](auto word) { return __shfl_sync(parts::full_mask, word, 0); });
  return threadIdx.x % parts::warp_threads == chunk ? of_chunk : own;
}

// The short segments of a warp's tile, several at once. A segment of up to 8 items has one lane, of up to 16 two …
// Lanes are given out from the longest segments on, so that those of a segment lie side by side.
template <class T>
struct short_segments {
  static constexpr unsigned lane_items = 8, most_items = lane_items * parts::warp_threads;
  static constexpr int num_classes = 6;  // of 1, 2 … 32 lanes

  // `size`: of the lane's segment, 0 where it is none of the short ones. write(lane of the segment, aggregate).
  template <class Items, class Offset, class Op, class Write>
  static __device__ void reduce(unsigned char* order, const Items& items, Offset begin, unsigned size, const Op& op,
                                const Write& write) {
    const unsigned lane = threadIdx.x % parts::warp_threads, below = (1u << lane) - 1;
    if (!__any_sync(parts::full_mask, size > lane_items)) {
      const T value = reduce_own(items.of_segment(begin), 1, size, op);
      if (size > 0) write(lane, value);
      return;
    }
    const int own_class = 32 - __clz((size + lane_items - 1) / lane_items - 1);
    unsigned firsts[num_classes], num_lanes = 0, num_segments = 0;  // a lane, and in the lower byte a segment
    unsigned place = 0;                                             // of the lane's segment in the order
#pragma unroll
    for (int c = num_classes - 1; c >= 0; --c) {
      const unsigned members = __ballot_sync(parts::full_mask, size > 0 && own_class == c);
      firsts[c] = num_lanes << 8 | num_segments;
      if (own_class == c) place = num_segments + __popc(members & below);
      num_lanes += __popc(members) << c;
      num_segments += __popc(members);
    }
    if (size > 0) order[place] = static_cast<unsigned char>(lane);
    __syncwarp();
    for (unsigned pass = 0; pass < num_lanes; pass += parts::warp_threads) {
      const unsigned given = pass + lane;
      int c = num_classes - 1;
      unsigned first = firsts[num_classes - 1];
#pragma unroll
      for (int k = num_classes - 2; k >= 0; --k)
        if ((given << 8 | 0xff) >= firsts[k]) {
          c = k;
          first = firsts[k];
        }
      const unsigned from = first >> 8, segment = first & 0xff;
      const unsigned rank = (given - from) & ((1u << c) - 1);
      const bool is_given = given < num_lanes;
      const unsigned owner = is_given ? order[segment + ((given - from) >> c)] : 0;
      const unsigned its_size = __shfl_sync(parts::full_mask, size, owner), num_valid = is_given ? its_size : 0;
      const unsigned own_items = num_valid > rank ? ((num_valid - 1 - rank) >> c) + 1 : 0;
      const auto its_items = items.of_segment(__shfl_sync(parts::full_mask, begin, owner));
      T value = reduce_own(its_items + static_cast<std::ptrdiff_t>(rank), std::ptrdiff_t{1} << c, own_items, op);

      const int largest = __shfl_sync(parts::full_mask, c, 0);
#pragma unroll
      for (int level = num_classes - 2; level >= 0; --level) {
        if (level >= largest) continue;
        const unsigned distance = 1u << level;
        const T other = parts::shuffle_down(value, static_cast<int>(distance));
        if (level < c && rank < distance && rank + distance < num_valid) value = op(value, other);
      }
      if (is_given && rank == 0) write(owner, value);
    }
  }

  // The lane's share of a segment that has the warp to itself, to the same bits. The first num_valid lanes have one.
  template <class Items, class Op>
  static __device__ T reduce_alone(const Items& items, unsigned size, unsigned& num_valid, const Op& op) {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const int its_class = size > lane_items ? 32 - __clz((size - 1) / lane_items) : 0;
    const unsigned lanes = 1u << its_class;
    num_valid = size < lanes ? size : lanes;
    const unsigned own_items = lane < num_valid ? ((size - 1 - lane) >> its_class) + 1 : 0;
    return reduce_own(items + static_cast<std::ptrdiff_t>(lane), static_cast<std::ptrdiff_t>(lanes), own_items, op);
  }

 private:
  // The first num_items of a lane's eight, so far from each other.
  template <class Items, class Op>
  static __device__ T reduce_own(Items items, std::ptrdiff_t distance, unsigned num_items, const Op& op) {
    T value, loaded[lane_items];
#pragma unroll
    for (unsigned k = 0; k < lane_items; ++k) {
      if (k < num_items) loaded[k] = static_cast<T>(items[0]);
      items = items + distance;
    }
#pragma unroll
    for (unsigned k = 0; k < lane_items; ++k)
      if (k < num_items) value = k == 0 ? loaded[0] : op(value, loaded[k]);
    return value;
  }
};

// Lists the lane's segment where num_chunks is not 0. All lanes call it.
template <class T>
__device__ void list_jobs(const segment_jobs<T>& jobs, parts::tag of_call, std::size_t segment, unsigned num_chunks) {
  using list = segment_jobs<T>;
  constexpr unsigned last_lane = parts::warp_threads - 1;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  // The warp draws all, and this is the first of the lane's.
  const auto draw = [&](unsigned long long& counter, unsigned own, unsigned& all) {
    const unsigned sum = parts::warp_scan(own, plus{});
    all = __shfl_sync(parts::full_mask, sum, last_lane);
    unsigned long long first = 0;
    if (lane == 0 && all > 0) first = atomicAdd(&counter, all);
    return __shfl_sync(parts::full_mask, first, 0) + sum - own;
  };
  if (lane == 0) jobs.begin_list(of_call);
  unsigned num_jobs = num_chunks > list::most_of_one_job ? num_chunks : num_chunks > 0, all;
  const unsigned long long extra = draw(jobs.count->extra, num_jobs > 1 ? num_jobs - 1 : 0, all);
  if (num_jobs > 1 && extra + num_jobs - 1 > list::extra_jobs) num_jobs = 1;
  const unsigned long long first = draw(jobs.count->listed, num_jobs, all);
  const auto enter = [&](unsigned long long job, std::size_t segment, unsigned chunk) {
    jobs.entries[job] = static_cast<unsigned long long>(segment) << list::chunk_bits | chunk;
  };
  if (num_jobs > 0) jobs.arrivals[first] = 0;
  if (num_jobs == 1) enter(first, segment, num_chunks > 1 ? list::all_chunks : 0);
  for (unsigned many = __ballot_sync(parts::full_mask, num_jobs > 1); many != 0; many &= many - 1) {
    const int owner = __ffs(static_cast<int>(many)) - 1;
    const auto its_first = __shfl_sync(parts::full_mask, first, owner);
    const auto its_segment = __shfl_sync(parts::full_mask, static_cast<unsigned long long>(segment), owner);
    const unsigned its_jobs = __shfl_sync(parts::full_mask, num_jobs, owner);
    for (unsigned chunk = lane; chunk < its_jobs; chunk += parts::warp_threads)
      enter(its_first + chunk, its_segment, chunk);
  }
}

// A call: its segments, and where jobs are listed.
template <class T_, class Reduction_, class Offsets>
struct segments_call {
  using T = T_;
  using Reduction = Reduction_;
  using offset = typename Offsets::offset;
  using count = typename Offsets::count;
  using cut = segment_cut<count>;
  using item = typename pieces_of<typename Reduction::Items::iterator>::item;
  static constexpr unsigned most_warp_items = sizeof(item) <= 16 ? 8 * 1024 / sizeof(item) : 512;

  Reduction reduction;
  Offsets offsets;
  std::size_t num_segments;
  unsigned tile_segments, warp_segments;  // of a block, and of a warp of it
  segment_jobs<T> jobs;
  parts::tag of_call;
};

// What a block of the first launch does: short segments by lanes, longer ones by warps, and some of those for a block.
// It lists the rest.
template <class Call>
struct segments_tile {
  using T = typename Call::T;
  using item = typename Call::item;
  // What a warp's segments for the block may have together.
  static constexpr unsigned most_long_items = 8 * Call::most_warp_items;
  static constexpr unsigned most_long_segments = segment_block_warps * (most_long_items / Call::most_warp_items);

  struct long_segment {
    std::size_t segment;
    typename Call::offset begin;
    unsigned size;
  };
  struct shared {
    unsigned char orders[segment_block_warps][parts::warp_threads];
    T of_warps[2][segment_block_warps];
    unsigned num_long;
    long_segment long_segments[most_long_segments];
  };

  static __device__ void run(const Call& call, shared& shared) {
    const auto& reduction = call.reduction;
    const auto& op = reduction.op;
    const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
    const std::size_t tile = blockIdx.x * std::size_t{call.tile_segments};
    const std::size_t end = parts::at_most(call.num_segments, tile + call.tile_segments);
    const std::size_t first = tile + warp * call.warp_segments, segment = first + lane;
    const bool exists = lane < call.warp_segments && segment < end;
    const auto begin = exists ? call.offsets.begin(segment) : 0;
    const auto size = exists ? call.offsets.size(segment, begin) : 0;
    const bool is_short = size <= short_segments<T>::most_items;
    const bool is_for_warp = !is_short && size <= Call::most_warp_items;
    if (threadIdx.x == 0) shared.num_long = 0;
    __syncthreads();

    if (exists && size == 0) reduction.write(segment, T{}, false);
    short_segments<T>::reduce(
        shared.orders[warp], reduction.items, begin, is_short ? static_cast<unsigned>(size) : 0, op,
        [&](unsigned owner, const T& aggregate) { reduction.write(first + owner, aggregate, true); });
    unsigned by_warp = __ballot_sync(parts::full_mask, is_for_warp);
    for (; by_warp != 0; by_warp &= by_warp - 1) {
      const int owner = __ffs(static_cast<int>(by_warp)) - 1;
      const auto its_items = reduction.items.of_segment(__shfl_sync(parts::full_mask, begin, owner));
      const unsigned its_size = __shfl_sync(parts::full_mask, static_cast<unsigned>(size), owner);
      const T value = reduce_by_warp<T>(its_items, its_size, op);
      if (lane == 0) reduction.write(first + owner, value, true);
    }

    const bool is_long = !is_short && !is_for_warp;
    if (__any_sync(parts::full_mask, is_long)) {
      unsigned num_chunks = is_long ? Call::cut::template of<item>(size).num_chunks : 0;
      const unsigned its_items = num_chunks == 1 ? static_cast<unsigned>(size) : 0;
      if (parts::warp_scan(its_items, plus{}) <= most_long_items && num_chunks == 1) {
        shared.long_segments[atomicAdd(&shared.num_long, 1u)] = {segment, begin, its_items};
        num_chunks = 0;
      }
      parts::wait_until_cleared();
      if (__any_sync(parts::full_mask, num_chunks > 0)) list_jobs(call.jobs, call.of_call, segment, num_chunks);
    }
    parts::wait_until_cleared();
    __syncthreads();
    for (unsigned i = 0; i < shared.num_long; ++i) {
      const long_segment& taken = shared.long_segments[i];
      const auto its_items = reduction.items.of_segment(taken.begin);
      const T value = reduce_by_block<T>(its_items, taken.size, op, shared.of_warps[i % 2]);
      if (threadIdx.x == 0) reduction.write(taken.segment, value, true);
    }
  }
};
template <class Call>
__global__ void __launch_bounds__(segment_block_threads, 5) segment_tiles_kernel(const __grid_constant__ Call call) {
  __shared__ typename segments_tile<Call>::shared shared;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  segments_tile<Call>::run(call, shared);
}

// What the blocks of the second launch do. A block has one barrier a chunk. Before it, threads begin the chunk after.
template <class Call>
struct segments_worker {
  using T = typename Call::T;
  using item = typename Call::item;
  using list = segment_jobs<T>;
  using cut_of_call = typename Call::cut;
  using op_of_call = std::decay_t<decltype(std::declval<const Call&>().reduction.op)>;
  using iterator = typename Call::Reduction::Items::iterator;
  struct job {
    unsigned long long number;
    std::size_t segment;
    unsigned chunk;
    typename Call::offset begin;
    typename Call::count size;

    __device__ unsigned first_chunk() const { return chunk == list::all_chunks ? 0 : chunk; }
    __device__ unsigned long long first() const { return number - chunk; }  // job of the segment
  };
  // The job behind those that are described, its entry, and the job behind it.
  struct drawn_ahead {
    unsigned long long next, entry, later;
  };
  static constexpr unsigned num_jobs_kept = 8, none = ~0u;
  using flight = chunks_in_flight<T, iterator, op_of_call>;
  struct shared {
    uint4 held[flight::held_pieces];
    T of_warps[2][segment_block_warps], of_merge[segment_block_warps], of_chunk;
    job jobs[num_jobs_kept];  // of this block: two more than this one, and some before
    drawn_ahead ahead;        // used by the thread that draws
    unsigned complete[2];     // of these, or none
  };

  const Call& call;
  shared& own;

  // The last thread draws jobs, and learns what they are while the others reduce the two before.
  __device__ void run() const {
    const bool draws = threadIdx.x == segment_block_threads - 1;
    const list& jobs = call.jobs;
    const auto& op = call.reduction.op;
    const unsigned long long listed = __ldcg(&jobs.count->listed);
    const unsigned long long num_jobs = jobs.are_listed(call.of_call) ? listed : 0;
    const auto entry_of = [&](unsigned long long index) { return index < num_jobs ? __ldcg(jobs.entries + index) : 0; };
    const auto described = [&](unsigned long long index, unsigned long long entry) {
      job its{index, entry >> list::chunk_bits, static_cast<unsigned>(entry & list::all_chunks), 0, 0};
      if (index < num_jobs) {
        its.begin = call.offsets.begin(its.segment);
        its.size = call.offsets.size(its.segment, its.begin);
      }
      return its;
    };
    if (blockIdx.x >= num_jobs) return;
    const auto nth = [&](unsigned long long n) { return n * gridDim.x + blockIdx.x; };
    if (draws) {
      own.ahead = {nth(2), entry_of(nth(2)), nth(3)};
      own.jobs[0] = described(nth(0), entry_of(nth(0)));
      own.jobs[1] = described(nth(1), entry_of(nth(1)));
    }
    __syncthreads();

    flight in_flight{own.held};
    T partial;  // of a segment that is one job
    unsigned turn = 0, number = 0;
    unsigned posted = none, ticket = 0;  // by the first thread: of which job of this block
    cut_of_call cut = cut_of(own.jobs[0]);
    unsigned chunk = own.jobs[0].first_chunk();
    iterator items = items_of(own.jobs[0], cut, chunk);
    in_flight.begin(items, cut.chunk_size(chunk));
    for (bool goes_on = true; goes_on; turn ^= 1) {
      const job& taken = own.jobs[number % num_jobs_kept];
      const unsigned num_chunks = cut.num_chunks, size = cut.chunk_size(chunk), current = chunk;
      const bool takes_all = taken.chunk == list::all_chunks, is_last = !takes_all || chunk + 1 == num_chunks;
      if (draws && is_last) {
        const unsigned long long its_entry = entry_of(own.ahead.later), drawn = atomicAdd(&jobs.count->drawn, 1ull);
        own.jobs[(number + 2) % num_jobs_kept] = described(own.ahead.next, own.ahead.entry);
        own.ahead = {own.ahead.later, its_entry, 4ull * gridDim.x + drawn};
      }
      T value = in_flight.reduce(items, size, op);
      ++chunk;
      if (is_last) {
        const job& next = own.jobs[++number % num_jobs_kept];
        goes_on = next.number < num_jobs;
        if (goes_on) {
          cut = cut_of(next);
          chunk = next.first_chunk();
        }
      }
      if (goes_on) {
        items = items_of(own.jobs[number % num_jobs_kept], cut, chunk);
        in_flight.begin(items, cut.chunk_size(chunk));
      }
      if (threadIdx.x == 0) own.complete[turn] = completed(posted, ticket);
      value = merge_in_block(value, flight::share::num_valid(size), op, own.of_warps[turn]);
      merge_complete(own.complete[turn]);

      if (takes_all && num_chunks > parts::warp_threads) {
        if (threadIdx.x == 0) own.of_chunk = value;
        __syncthreads();
        if (threadIdx.x == current % segment_block_threads)
          partial = current < segment_block_threads ? own.of_chunk : op(partial, own.of_chunk);
        __syncthreads();
        if (is_last) write(taken.segment, merge_in_block(partial, num_chunks, op, own.of_merge));
      } else if (threadIdx.x < parts::warp_threads) {
        if (num_chunks == 1) {
          write(taken.segment, value);
        } else if (takes_all) {
          partial = with_chunk(partial, current, value);
          if (is_last) write(taken.segment, reduce_valid_lanes<parts::warp_threads>(partial, num_chunks, op));
        } else if (threadIdx.x == 0) {
          jobs.aggregates[taken.number] = value;
          __threadfence();
          posted = number - 1;
          ticket = atomicAdd(jobs.arrivals + taken.first(), 1u);
        }
      }
    }
    if (threadIdx.x == 0) own.complete[turn] = completed(posted, ticket);
    __syncthreads();
    merge_complete(own.complete[turn]);
  }

 private:
  static __device__ cut_of_call cut_of(const job& its) { return cut_of_call::template of<item>(its.size); }
  __device__ void write(std::size_t segment, const T& aggregate) const {
    if (threadIdx.x == 0) call.reduction.write(segment, aggregate, true);
  }
  __device__ iterator items_of(const job& taken, const cut_of_call& cut, unsigned chunk) const {
    return call.reduction.items.of_segment(taken.begin) + static_cast<std::ptrdiff_t>(chunk * cut.chunk_items);
  }

  // Which job the first thread has posted, if it was the segment's last one.
  __device__ unsigned completed(unsigned& posted, unsigned ticket) const {
    const unsigned its = posted;
    posted = none;
    if (its == none || ticket != cut_of(own.jobs[its % num_jobs_kept]).num_chunks - 1) return none;
    __threadfence();
    return its;
  }
  __device__ void merge_complete(unsigned its) const {
    if (its == none) return;
    const job& last = own.jobs[its % num_jobs_kept];
    write(last.segment, reduce_by_block<T>(written_by_others<T>{call.jobs.aggregates + last.first()},
                                           cut_of(last).num_chunks, call.reduction.op, own.of_merge));
  }
};
template <class Call>
__global__ void __launch_bounds__(segment_block_threads, job_blocks)
    segment_jobs_kernel(const __grid_constant__ Call call) {
  __shared__ typename segments_worker<Call>::shared shared;
  parts::wait_until_cleared();  // and until all jobs are listed
  segments_worker<Call>{call, shared}.run();
}

// Every segment, accumulated in T. `jobs` may hold anything.
template <class T, class Reduction, class Offsets>
cudaError_t reduce_offset_segments(const Reduction& reduction, const Offsets& offsets, std::size_t num_segments,
                                   const segment_jobs<T>& jobs, cudaStream_t stream) {
  if (num_segments == 0) return cudaSuccess;
  if (num_segments >> 38 != 0) return cudaErrorInvalidValue;  // more than a grid can take
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  parts::opened_storage storage;
  if (error == cudaSuccess)
    error = storage.open(reinterpret_cast<char*>(jobs.count), sizeof(typename segment_jobs<T>::counters), stream);
  if (error != cudaSuccess) return error;
  // Few segments are spread over all multiprocessors; of many, a block has eight and more.
  const std::size_t resident_blocks = std::size_t{4} * limits.multiprocessors;
  const std::size_t of_resident = parts::ceil_div(num_segments, resident_blocks);
  constexpr std::size_t few = segment_block_warps;
  const std::size_t tile_segments = of_resident <= 4 * few
                                        ? parts::at_most(of_resident, few)
                                        : parts::at_most(of_resident / (4 * few) * few, segment_block_threads);
  using call = segments_call<T, Reduction, Offsets>;
  const call made{reduction,
                  offsets,
                  num_segments,
                  static_cast<unsigned>(tile_segments),
                  static_cast<unsigned>(parts::ceil_div(tile_segments, segment_block_warps)),
                  jobs,
                  storage.of_call};
  error = parts::launch_overlapped(segment_tiles_kernel<call>, parts::ceil_div(num_segments, tile_segments),
                                   segment_block_threads, 0, storage.clears, stream, made);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(segment_jobs_kernel<call>, std::size_t{job_blocks} * limits.multiprocessors,
                                  segment_block_threads, 0, limits.overlaps(), stream, made);
}

}  // namespace rungs::RUNGS_ABI::production
