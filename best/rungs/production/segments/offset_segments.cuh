// Segments between offsets, reduced whatever their lengths, in two launches.
//
// A segment is cut into chunks, counted from its beginning, and a warp reduces a chunk; how follows from the size of
// the segment alone, so a segment has the same result wherever it lies. In the first launch a warp takes up to 32
// segments and reduces the short ones, many at once. It lists the chunks of the others as jobs, and the warps of the
// second launch draw them. Whoever ends a group of chunks last merges it. Nobody waits for anybody.
#pragma once

#include <cstddef>
#include <cstring>

#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/segments/fixed_segments.cuh"

namespace rungs::RUNGS_ABI::production {

// Segment s has the items begins[s] to ends[s] - 1, or none.
template <class BeginOffsetIteratorT, class EndOffsetIteratorT>
struct segment_offsets {
  BeginOffsetIteratorT begins;
  EndOffsetIteratorT ends;

  __device__ long long begin(std::size_t segment) const {
    return static_cast<long long>(begins[static_cast<std::ptrdiff_t>(segment)]);
  }
  __device__ unsigned long long size(std::size_t segment, long long begin) const {
    const auto end = static_cast<long long>(ends[static_cast<std::ptrdiff_t>(segment)]);
    return end > begin ? end - begin : 0;
  }
};

// How a segment is cut: chunks of 8 KB, or so many larger ones, in groups.
struct segment_cut {
  static constexpr unsigned most_chunks = 16 * 1024, group_chunks = 128;
  unsigned long long size, chunk_items;

  template <class Item>
  static __device__ segment_cut of(unsigned long long size) {
    constexpr unsigned least_items = sizeof(Item) <= 16 ? 8 * 1024 / sizeof(Item) : 512;
    const bool is_giant = size > std::size_t{most_chunks} * least_items;
    return {size, is_giant ? parts::ceil_div(size, most_chunks) : least_items};
  }
  __device__ unsigned num_chunks() const { return static_cast<unsigned>(parts::ceil_div(size, chunk_items)); }
  __device__ unsigned num_groups() const { return static_cast<unsigned>(parts::ceil_div(num_chunks(), group_chunks)); }
  __device__ unsigned group_size(unsigned group) const {
    return static_cast<unsigned>(parts::at_most(num_chunks() - group * group_chunks, group_chunks));
  }
  __device__ unsigned chunk_size(unsigned chunk) const {
    return static_cast<unsigned>(parts::at_most(size - chunk * chunk_items, chunk_items));
  }
};

// Jobs that are listed: chunk c of a segment whose first job is b is job b + c. There is room for one job a segment and
// extra_jobs more; where those are taken, a long segment is one job.
template <class T>
struct segment_jobs {
  static constexpr unsigned extra_jobs = 64 * 1024;
  static constexpr unsigned chunk_bits = 24, all_chunks = (1u << chunk_bits) - 1;
  struct counters {
    unsigned long long listed, extra, drawn;
  };

  counters* count;
  unsigned long long* entries;  // segment and chunk
  T* aggregates;                // of a job, and then of the group that begins with it
  unsigned* arrivals;           // of a group, at its first job; of a segment's groups, at its second job

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
};

// What another block has written before.
template <class T>
struct written_by_others {
  const T* values;
  unsigned stride;

  __device__ T operator[](std::ptrdiff_t i) const {
    using word = std::conditional_t<alignof(T) % 4 == 0, unsigned, unsigned char>;
    word words[sizeof(T) / sizeof(word)];
    const auto* const from = reinterpret_cast<const word*>(values + i * stride);
#pragma unroll
    for (unsigned w = 0; w < sizeof(T) / sizeof(word); ++w) words[w] = __ldcg(from + w);
    T value;
    memcpy(static_cast<void*>(&value), words, sizeof(T));
    return value;
  }
};

// The warp's aggregate of `size` items, at least one, in its first lane: lane l takes item l and every 32nd from there.
template <class T, class Items, class Op>
__device__ T reduce_by_warp(const Items& items, unsigned size, const Op& op) {
  constexpr unsigned loads = sizeof(T) <= 8 ? 16 : 4;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  T value, loaded[loads];
  for (unsigned first = lane; first < size; first += loads * parts::warp_threads) {
#pragma unroll
    for (unsigned k = 0; k < loads; ++k)
      if (first + k * parts::warp_threads < size)
        loaded[k] = static_cast<T>(items[static_cast<std::ptrdiff_t>(first + k * parts::warp_threads)]);
#pragma unroll
    for (unsigned k = 0; k < loads; ++k)
      if (first + k * parts::warp_threads < size) value = k == 0 && first == lane ? loaded[0] : op(value, loaded[k]);
  }
  return reduce_valid_lanes<parts::warp_threads>(value, size, op);
}

// The short segments of a warp's tile, several at once. A segment of up to 8 items has one lane, of up to 16 two …;
// lanes are given out from the longest segments on, so that those of a segment lie side by side.
template <class T>
struct short_segments {
  static constexpr unsigned lane_items = 8, most_items = lane_items * parts::warp_threads;
  static constexpr int num_classes = 6;  // of 1, 2 … 32 lanes

  // `size`: of the lane's segment, 0 where it is none of the short ones. write(lane of the segment, aggregate).
  template <class Items, class Op, class Write>
  static __device__ void reduce(unsigned char* order, const Items& items, long long begin, unsigned size, const Op& op,
                                const Write& write) {
    const unsigned lane = threadIdx.x % parts::warp_threads, below = (1u << lane) - 1;
    const int own_class = 32 - __clz((size + lane_items - 1) / lane_items - 1);
    unsigned first_lane[num_classes], first_segment[num_classes], num_lanes = 0, num_segments = 0;
#pragma unroll
    for (int c = num_classes - 1; c >= 0; --c) {
      const unsigned members = __ballot_sync(parts::full_mask, size > 0 && own_class == c);
      first_lane[c] = num_lanes;
      first_segment[c] = num_segments;
      if (size > 0 && own_class == c) order[num_segments + __popc(members & below)] = static_cast<unsigned char>(lane);
      num_lanes += __popc(members) << c;
      num_segments += __popc(members);
    }
    __syncwarp();
    for (unsigned pass = 0; pass < num_lanes; pass += parts::warp_threads) {
      const unsigned given = pass + lane;
      int c = num_classes - 1;
      unsigned from = 0, segment = 0;
#pragma unroll
      for (int k = num_classes - 2; k >= 0; --k)
        if (given >= first_lane[k]) {
          c = k;
          from = first_lane[k];
          segment = first_segment[k];
        }
      const unsigned rank = (given - from) & ((1u << c) - 1);
      const bool is_given = given < num_lanes;
      const unsigned owner = is_given ? order[segment + ((given - from) >> c)] : 0;
      const auto its_items = items.of_segment(__shfl_sync(parts::full_mask, begin, owner));
      const unsigned its_size = __shfl_sync(parts::full_mask, size, owner), num_valid = is_given ? its_size : 0;
      T value, loaded[lane_items];
#pragma unroll
      for (unsigned k = 0; k < lane_items; ++k)
        if (rank + (k << c) < num_valid) loaded[k] = static_cast<T>(its_items[rank + (k << c)]);
#pragma unroll
      for (unsigned k = 0; k < lane_items; ++k)
        if (rank + (k << c) < num_valid) value = k == 0 ? loaded[0] : op(value, loaded[k]);

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
};

inline constexpr int segment_block_threads = 256, segment_block_warps = segment_block_threads / parts::warp_threads;

// Lists the lane's segment where num_chunks is not 0. All lanes call it.
template <class T>
__device__ void list_jobs(const segment_jobs<T>& jobs, std::size_t segment, unsigned num_chunks) {
  using list = segment_jobs<T>;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  const auto sum_before = [&](unsigned own, unsigned& all) {
    unsigned sum = own;
#pragma unroll
    for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
      const unsigned before = __shfl_up_sync(parts::full_mask, sum, distance);
      if (lane >= distance) sum += before;
    }
    all = __shfl_sync(parts::full_mask, sum, parts::warp_threads - 1);
    return sum - own;
  };
  const auto draw = [&](unsigned long long& counter, unsigned all) {
    unsigned long long first = 0;
    if (lane == 0) first = atomicAdd(&counter, all);
    return __shfl_sync(parts::full_mask, first, 0);
  };
  unsigned num_jobs = num_chunks, all_extra, all_jobs;
  sum_before(num_chunks > 1 ? num_chunks - 1 : 0, all_extra);
  if (all_extra > 0 && draw(jobs.count->extra, all_extra) + all_extra > list::extra_jobs)
    num_jobs = num_chunks > 0 ? 1 : 0;
  const unsigned before = sum_before(num_jobs, all_jobs);
  const unsigned long long first = draw(jobs.count->listed, all_jobs) + before;
  const auto enter = [&](unsigned long long first, std::size_t segment, unsigned chunk, bool is_all) {
    jobs.entries[first + chunk] =
        static_cast<unsigned long long>(segment) << list::chunk_bits | (is_all ? list::all_chunks : chunk);
    jobs.arrivals[first + chunk] = 0;
  };
  constexpr unsigned few = 8;
  if (num_jobs <= few)
    for (unsigned chunk = 0; chunk < num_jobs; ++chunk) enter(first, segment, chunk, num_jobs < num_chunks);
  for (unsigned many = __ballot_sync(parts::full_mask, num_jobs > few); many != 0; many &= many - 1) {
    const int owner = __ffs(static_cast<int>(many)) - 1;
    const auto its_first = __shfl_sync(parts::full_mask, first, owner);
    const auto its_segment = __shfl_sync(parts::full_mask, static_cast<unsigned long long>(segment), owner);
    const unsigned its_jobs = __shfl_sync(parts::full_mask, num_jobs, owner);
    for (unsigned chunk = lane; chunk < its_jobs; chunk += parts::warp_threads)
      enter(its_first, its_segment, chunk, false);
  }
}

// The first launch: a warp has tile_segments segments.
template <class T, class Reduction, class Offsets>
__global__ void __launch_bounds__(segment_block_threads)
    reduce_short_segments_kernel(Reduction reduction, Offsets offsets, std::size_t num_segments, unsigned tile_segments,
                                 segment_jobs<T> jobs) {
  using item = typename Reduction::Items::item;
  constexpr unsigned most_medium_items = 4 * 8 * 1024 / sizeof(item);  // more are left to the second launch
  __shared__ unsigned char orders[segment_block_warps][parts::warp_threads];
  const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  const std::size_t first = (blockIdx.x * std::size_t{segment_block_warps} + warp) * tile_segments;
  const std::size_t segment = first + lane;
  const bool exists = lane < tile_segments && segment < num_segments;
  const long long begin = exists ? offsets.begin(segment) : 0;
  const unsigned long long size = exists ? offsets.size(segment, begin) : 0;
  const auto& op = reduction.op;
  if (exists && size == 0) reduction.write(segment, T{}, false);

  const unsigned short_size = size <= short_segments<T>::most_items ? static_cast<unsigned>(size) : 0;
  short_segments<T>::reduce(
      orders[warp], reduction.items, begin, short_size, op,
      [&](unsigned owner, const T& aggregate) { reduction.write(first + owner, aggregate, true); });

  const segment_cut cut = segment_cut::of<item>(size);
  unsigned num_chunks = size > short_segments<T>::most_items ? cut.num_chunks() : 0;
  unsigned reduced = 0;
  for (unsigned medium = __ballot_sync(parts::full_mask, num_chunks == 1); medium != 0; medium &= medium - 1) {
    const int owner = __ffs(static_cast<int>(medium)) - 1;
    const unsigned its_size = __shfl_sync(parts::full_mask, static_cast<unsigned>(size), owner);
    if (reduced > 0 && reduced + its_size > most_medium_items) break;
    const auto its_items = reduction.items.of_segment(__shfl_sync(parts::full_mask, begin, owner));
    const T value = reduce_by_warp<T>(its_items, its_size, op);
    if (lane == 0) reduction.write(first + owner, value, true);
    if (lane == owner) num_chunks = 0;
    reduced += its_size;
  }
  parts::wait_until_cleared();
  if (__any_sync(parts::full_mask, num_chunks > 0)) list_jobs(jobs, segment, num_chunks);
}

// One job, by a warp.
template <class T, class Reduction>
struct segment_job {
  using item = typename Reduction::Items::item;
  using list = segment_jobs<T>;

  const Reduction& reduction;
  const list& jobs;
  std::size_t segment;
  long long begin;
  segment_cut cut;

  __device__ T chunk(unsigned index) const {
    const auto items = reduction.items.of_segment(begin);
    return reduce_by_warp<T>(items + static_cast<std::ptrdiff_t>(index * cut.chunk_items), cut.chunk_size(index),
                             reduction.op);
  }
  __device__ void write(const T& aggregate) const {
    if (threadIdx.x % parts::warp_threads == 0) reduction.write(segment, aggregate, true);
  }
  // Leaves what the first lane has, and says whether the warp is the last of so many to do so.
  __device__ bool arrives_last(const T& aggregate, unsigned long long job, unsigned long long counter,
                               unsigned expected) const {
    bool is_last = false;
    if (threadIdx.x % parts::warp_threads == 0) {
      jobs.aggregates[job] = aggregate;
      __threadfence();
      is_last = atomicAdd(jobs.arrivals + counter, 1u) == expected - 1;
      __threadfence();
    }
    return __any_sync(parts::full_mask, is_last);
  }

  // Chunk `index`, which is that job, and what became complete by it.
  __device__ void run(unsigned index, unsigned long long job) const {
    const T of_chunk = chunk(index);
    if (cut.num_chunks() == 1) return write(of_chunk);
    const unsigned group = index / segment_cut::group_chunks;
    const unsigned long long first = job - index, group_job = first + group * segment_cut::group_chunks;
    if (!arrives_last(of_chunk, job, group_job, cut.group_size(group))) return;
    const T of_group =
        reduce_by_warp<T>(written_by_others<T>{jobs.aggregates + group_job, 1}, cut.group_size(group), reduction.op);
    if (cut.num_groups() == 1) return write(of_group);
    if (!arrives_last(of_group, group_job, first + 1, cut.num_groups())) return;
    write(reduce_by_warp<T>(written_by_others<T>{jobs.aggregates + first, segment_cut::group_chunks}, cut.num_groups(),
                            reduction.op));
  }

  // All chunks one after the other, merged in the same order.
  __device__ void run_all() const {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const auto add = [&](T& to, const T& aggregate, unsigned index) {
      const T value = parts::by_words(aggregate, [](auto word) { return __shfl_sync(parts::full_mask, word, 0); });
      if (lane == index % parts::warp_threads) to = index < parts::warp_threads ? value : reduction.op(to, value);
    };
    const auto merged = [&](const T& of_lane, unsigned num_values) {
      return reduce_valid_lanes<parts::warp_threads>(of_lane, num_values, reduction.op);
    };
    T of_groups;
    for (unsigned group = 0; group < cut.num_groups(); ++group) {
      T of_chunks;
      for (unsigned index = 0; index < cut.group_size(group); ++index)
        add(of_chunks, chunk(group * segment_cut::group_chunks + index), index);
      add(of_groups, merged(of_chunks, cut.group_size(group)), group);
    }
    write(merged(of_groups, cut.num_groups()));
  }
};

// The second launch: warps draw jobs until none is left.
template <class T, class Reduction, class Offsets>
__global__ void __launch_bounds__(segment_block_threads)
    reduce_segment_jobs_kernel(Reduction reduction, Offsets offsets, segment_jobs<T> jobs) {
  using list = segment_jobs<T>;
  parts::wait_until_cleared();  // and until all jobs are listed
  const unsigned long long num_jobs = __ldcg(&jobs.count->listed), num_warps = gridDim.x * segment_block_warps;
  unsigned long long job = blockIdx.x * segment_block_warps + threadIdx.x / parts::warp_threads;
  while (job < num_jobs) {
    unsigned long long next = 0;
    if (threadIdx.x % parts::warp_threads == 0) next = num_warps + atomicAdd(&jobs.count->drawn, 1ull);
    const unsigned long long entry = __ldcg(jobs.entries + job);
    const std::size_t segment = entry >> list::chunk_bits;
    const unsigned chunk = entry & list::all_chunks;
    const long long begin = offsets.begin(segment);
    const segment_job<T, Reduction> taken{
        reduction, jobs, segment, begin,
        segment_cut::of<typename Reduction::Items::item>(offsets.size(segment, begin))};
    if (chunk == list::all_chunks)
      taken.run_all();
    else
      taken.run(chunk, job);
    job = __shfl_sync(parts::full_mask, next, 0);
  }
}

// Every segment, accumulated in T. `jobs` may hold anything.
template <class T, class Reduction, class Offsets>
cudaError_t reduce_offset_segments(const Reduction& reduction, const Offsets& offsets, std::size_t num_segments,
                                   const segment_jobs<T>& jobs, cudaStream_t stream) {
  if (num_segments == 0) return cudaSuccess;
  if (num_segments >> 40 != 0) return cudaErrorInvalidValue;
  parts::device_limits limits;
  if (const cudaError_t error = limits.ask()) return error;
  using counters = typename segment_jobs<T>::counters;
  if (const cudaError_t error = parts::launch_clear(reinterpret_cast<unsigned*>(jobs.count),
                                                    static_cast<unsigned>(sizeof(counters) / sizeof(unsigned)), stream))
    return error;
  // Enough tiles for every warp of the device to have two, as long as there are segments.
  const std::size_t warps = std::size_t{48} * limits.multiprocessors;
  const std::size_t tile_segments = parts::at_most(parts::ceil_div(num_segments, 2 * warps), parts::warp_threads);
  const std::size_t tiles = parts::ceil_div(num_segments, tile_segments);
  const cudaError_t error =
      parts::launch_overlapped(reduce_short_segments_kernel<T, Reduction, Offsets>,
                               parts::ceil_div(tiles, segment_block_warps), segment_block_threads, 0, limits.overlaps(),
                               stream, reduction, offsets, num_segments, static_cast<unsigned>(tile_segments), jobs);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(reduce_segment_jobs_kernel<T, Reduction, Offsets>, warps / segment_block_warps,
                                  segment_block_threads, 0, limits.overlaps(), stream, reduction, offsets, jobs);
}

}  // namespace rungs::RUNGS_ABI::production
