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

// Jobs that are listed: chunk c of a segment whose first job is b is job b + c. There is room for one job a segment and
// extra_jobs more; where those are taken, a long segment is one job. So is one of chunks that are reduced at once, if
// enough jobs for all blocks are listed already.
//
// Storage may hold anything. Who lists first finds another word than the call's tag, and sets the counters to zero.
template <class T>
struct segment_jobs {
  static constexpr unsigned extra_jobs = 64 * 1024;
  static constexpr unsigned most_of_one_job = 2;  // of a segment's chunks
  static constexpr unsigned enough_jobs = 2048;
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

// Lists the lane's segment where num_chunks is not 0. Up to most_at_once chunks are reduced at once. All lanes call it.
template <unsigned most_at_once, class T>
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
  // Read together with the tag that begin_list looks at. An old number costs time, but the results are the same.
  const bool has_enough = most_at_once > list::most_of_one_job && lane == 0 &&
                          *static_cast<volatile unsigned long long*>(&jobs.count->listed) >= list::enough_jobs;
  if (lane == 0) jobs.begin_list(of_call);
  const unsigned most_of_one = __any_sync(parts::full_mask, has_enough) ? most_at_once : list::most_of_one_job;
  unsigned num_jobs = num_chunks > most_of_one ? num_chunks : num_chunks > 0, all;
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

}  // namespace rungs::RUNGS_ABI::production
