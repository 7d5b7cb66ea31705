// What the first launch of offset_segments.cuh leaves to the second one: a list of segments and chunks in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::production {

// Jobs that are listed: chunks, and behind them whole segments. Chunk c of a segment whose first job is b is job b + c.
// There is room for most_chunks; where those are taken, a long segment is one job. So is one of chunks that are reduced
// at once, if enough jobs for all blocks are listed already.
//
// Storage may hold anything. Who lists first finds another word than the call's tag, and sets the counters.
template <class T>
struct segment_jobs {
  static constexpr std::size_t most_segments = 16 * 1024 * 1024;  // that are looked at
  static constexpr unsigned most_chunks = 64 * 1024;
  static constexpr unsigned most_of_one_job = 2;  // of a segment's chunks
  static constexpr unsigned enough_jobs = 2048;
  struct alignas(32) counters {  // that come from memory at once
    parts::tag of_call;          // or its complement while they are being set
    // Chunks are drawn without looking whether there is room. Those of the first segment without room end the list.
    unsigned long long chunks;
    unsigned end_of_chunks, segments, drawn;
  };

  static constexpr std::size_t chunks_at = parts::storage_alignment;
  static constexpr std::size_t aggregates_at = chunks_at + most_chunks * sizeof(uint2);
  static constexpr std::size_t arrivals_at = aggregates_at + most_chunks * sizeof(T);
  static constexpr std::size_t segments_at = arrivals_at + most_chunks * sizeof(unsigned);
  static_assert(sizeof(counters) <= chunks_at && most_chunks % parts::storage_alignment == 0);
  static_assert(sizeof(counters) == 2 * sizeof(uint4));

  char* region;

  static std::size_t bytes(std::size_t num_segments) {
    return segments_at + parts::at_most(num_segments, most_segments) * sizeof(unsigned);
  }
  __host__ __device__ counters* count() const { return reinterpret_cast<counters*>(region); }
  // x: their segment, y: their number in it.
  __device__ uint2* chunks() const { return reinterpret_cast<uint2*>(region + chunks_at); }
  __device__ T* aggregates() const { return reinterpret_cast<T*>(region + aggregates_at); }  // of chunks
  // Of a segment's chunks, at its first one.
  __device__ unsigned* arrivals() const { return reinterpret_cast<unsigned*>(region + arrivals_at); }
  __device__ unsigned* segments() const { return reinterpret_cast<unsigned*>(region + segments_at); }

  __device__ bool are_listed(parts::tag of_call) const {
    return *static_cast<volatile parts::tag*>(&count()->of_call) == of_call;
  }
  // How many jobs the launch before has listed. One thread of a block calls it, since all blocks read the same words.
  struct numbers {
    unsigned chunks, segments;
  };
  __device__ numbers listed(parts::tag of_call) const {
    const auto* const words = reinterpret_cast<const uint4*>(region);
    const uint4 both[] = {__ldcg(words), __ldcg(words + 1)};
    counters found;
    memcpy(&found, both, sizeof(found));
    if (found.of_call != of_call) return {0, 0};
    return {static_cast<unsigned>(parts::at_most(found.chunks, found.end_of_chunks)), found.segments};
  }
  // One thread calls it before it lists.
  __device__ void begin_list(parts::tag of_call) const {
    const parts::tag found = *static_cast<volatile parts::tag*>(&count()->of_call);
    if (found != of_call && found != ~of_call && atomicCAS(&count()->of_call, found, ~of_call) == found) {
      count()->chunks = count()->segments = count()->drawn = 0;
      count()->end_of_chunks = most_chunks;
      __threadfence();
      *static_cast<volatile parts::tag*>(&count()->of_call) = of_call;
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

// Lists the lane's segment where num_chunks is not 0. Up to most_at_once chunks are reduced at once. All lanes call it.
template <unsigned most_at_once, class T>
__device__ void list_jobs(const segment_jobs<T>& jobs, parts::tag of_call, unsigned segment, unsigned num_chunks) {
  using list = segment_jobs<T>;
  constexpr unsigned last_lane = parts::warp_threads - 1;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  // The warp draws all, and this is the first of the lane's.
  const auto draw = [&](auto& counter, unsigned own) {
    const unsigned sum = parts::warp_scan(own, plus{}), all = __shfl_sync(parts::full_mask, sum, last_lane);
    std::decay_t<decltype(counter)> first = 0;
    if (lane == 0 && all > 0) first = atomicAdd(&counter, all);
    return __shfl_sync(parts::full_mask, first, 0) + sum - own;
  };
  // Read together with the tag that begin_list looks at. Old numbers cost time, but the results are the same.
  const auto found = [](const volatile auto& counter) { return counter; };
  const bool has_enough = most_at_once > list::most_of_one_job && lane == 0 &&
                          found(jobs.count()->chunks) + found(jobs.count()->segments) >= list::enough_jobs;
  if (lane == 0) jobs.begin_list(of_call);
  const unsigned most_of_one = __any_sync(parts::full_mask, has_enough) ? most_at_once : list::most_of_one_job;
  bool is_cut = num_chunks > most_of_one;
  const unsigned long long first = draw(jobs.count()->chunks, is_cut ? num_chunks : 0);
  if (is_cut && first + num_chunks > list::most_chunks) {
    if (first <= list::most_chunks) jobs.count()->end_of_chunks = static_cast<unsigned>(first);
    is_cut = false;
  }
  const bool is_whole = num_chunks > 0 && !is_cut;
  const unsigned place = draw(jobs.count()->segments, is_whole);
  if (is_whole) jobs.segments()[place] = segment;
  if (is_cut) jobs.arrivals()[first] = 0;
  for (unsigned cut = __ballot_sync(parts::full_mask, is_cut); cut != 0; cut &= cut - 1) {
    const int owner = __ffs(static_cast<int>(cut)) - 1;
    const auto its_first = __shfl_sync(parts::full_mask, first, owner);
    const unsigned its_segment = __shfl_sync(parts::full_mask, segment, owner);
    const unsigned its_chunks = __shfl_sync(parts::full_mask, num_chunks, owner);
    for (unsigned chunk = lane; chunk < its_chunks; chunk += parts::warp_threads)
      jobs.chunks()[its_first + chunk] = make_uint2(its_segment, chunk);
  }
}

}  // namespace rungs::RUNGS_ABI::production
