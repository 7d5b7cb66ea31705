// The second launch of offset_segments.cuh: blocks draw the listed jobs until none is left.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/production/segments/segment_chunks.cuh"
#include "rungs/production/segments/segment_jobs.cuh"

namespace rungs::RUNGS_ABI::production {

// Blocks of a multiprocessor, with 32 KB each on their way. Four of large aggregates would have too few registers.
template <class T>
inline constexpr int job_blocks = sizeof(T) > 4 ? 3 : 4;

// What the blocks of the second launch do. A block has one barrier a chunk, or a segment of chunks that it reduces at
// once. Before it, threads begin the chunk after.
template <class Call>
struct segments_worker {
  using T = typename Call::T;
  using item = typename Call::item;
  using list = segment_jobs<T>;
  using cut_of_call = typename Call::cut;
  using op_of_call = std::decay_t<decltype(std::declval<const Call&>().reduction.op)>;
  using iterator = typename Call::Reduction::Items::iterator;
  struct job {
    unsigned number;
    bool is_whole;  // segment, or a chunk
    unsigned chunk;
    std::size_t segment;
    typename Call::offset begin;
    typename Call::count size;

    __device__ unsigned first() const { return number - chunk; }  // job of the segment
  };
  // The job behind those that are described, its entry, and the job behind it.
  struct drawn_ahead {
    unsigned next;
    uint2 entry;
    unsigned later;
  };
  static constexpr unsigned num_jobs_kept = 8, none = ~0u;
  using flight = chunks_in_flight<T, iterator, op_of_call>;
  using at_once = chunks_at_once<T, item>;
  static constexpr unsigned chunk_items = cut_of_call::template least_items<item>;  // of chunks that are not larger
  struct shared {
    uint4 held[flight::held_pieces];
    T of_warps[2][at_once::of_jobs ? at_once::num_kept : segment_block_warps], of_merge[segment_block_warps], of_chunk;
    unsigned num_chunk_jobs, num_jobs;  // that are listed
    job jobs[num_jobs_kept];            // of this block: two more than this one, and some before
    drawn_ahead ahead;                  // used by the thread that draws
    unsigned complete[2];               // of these, or none
    unsigned ticket;                    // of the job that the first thread has posted
  };

  const Call& call;
  shared& own;

  // The last thread draws jobs, and learns what they are while the others reduce the two before.
  __device__ void run() const {
    const bool draws = threadIdx.x == segment_block_threads - 1;
    const list& jobs = call.jobs;
    const auto& op = call.reduction.op;
    // Of a whole segment it is as of its first chunk, and behind all jobs as of the block's first one. So all that is
    // read is there, and comes at once.
    const auto entry_of = [&](unsigned index) {
      const unsigned num_chunks = own.num_chunk_jobs, job = index < own.num_jobs ? index : blockIdx.x;
      const unsigned* const segment = job < num_chunks ? &jobs.chunks()[job].x : jobs.segments() + (job - num_chunks);
      return make_uint2(__ldcg(segment), job < num_chunks ? __ldcg(&jobs.chunks()[job].y) : 0);
    };
    const auto described = [&](unsigned index, uint2 entry) {
      job its{index, index >= own.num_chunk_jobs, entry.y, call.first_segment + entry.x, 0, 0};
      its.begin = call.offsets.begin(its.segment);
      its.size = call.offsets.size(its.segment, its.begin);
      return its;
    };
    const auto nth = [&](unsigned n) { return n * gridDim.x + blockIdx.x; };
    if (draws) {
      const auto listed = jobs.listed(call.of_call);
      own.num_chunk_jobs = listed.chunks;
      own.num_jobs = listed.chunks + listed.segments;
      if (blockIdx.x < own.num_jobs) {
        const uint2 entries[] = {entry_of(nth(0)), entry_of(nth(1)), entry_of(nth(2))};
        const job first = described(nth(0), entries[0]), second = described(nth(1), entries[1]);
        own.jobs[0] = first;
        own.jobs[1] = second;
        own.ahead = {nth(2), entries[2], nth(3)};
      }
    }
    __syncthreads();
    if (blockIdx.x >= own.num_jobs) return;

    flight in_flight{own.held};
    T partial;  // of a segment that is one job
    unsigned turn = 0, number = 0;
    unsigned posted = none;  // by the first thread: which job of this block
    cut_of_call cut = cut_of(own.jobs[0]);
    unsigned chunk = own.jobs[0].chunk;
    iterator items = items_of(own.jobs[0], cut, chunk);
    if (!is_at_once(own.jobs[0], cut)) in_flight.begin(items, cut.chunk_size(chunk));
    for (bool goes_on = true; goes_on; turn ^= 1) {
      const job& taken = own.jobs[number % num_jobs_kept];
      const unsigned num_chunks = cut.num_chunks, size = cut.chunk_size(chunk), current = chunk;
      const bool takes_all = taken.is_whole, takes_at_once = is_at_once(taken, cut);
      const bool is_last = !takes_all || takes_at_once || chunk + 1 == num_chunks;
      T value;
      if (takes_at_once)
        at_once::template collect<chunk_items>(items, static_cast<unsigned>(taken.size), op, own.of_warps[turn]);
      else
        value = in_flight.reduce(items, size, op);
      ++chunk;
      if (is_last) {
        const job& next = own.jobs[++number % num_jobs_kept];
        goes_on = next.number < own.num_jobs;
        if (goes_on) {
          cut = cut_of(next);
          chunk = next.chunk;
        }
      }
      if (goes_on) {
        items = items_of(own.jobs[number % num_jobs_kept], cut, chunk);
        if (!is_at_once(own.jobs[number % num_jobs_kept], cut)) in_flight.begin(items, cut.chunk_size(chunk));
      }
      if (draws && is_last && goes_on) {  // while items are on their way
        const uint2 its_entry = entry_of(own.ahead.later);
        const unsigned drawn = atomicAdd(&jobs.count()->drawn, 1u);
        own.jobs[(number + 1) % num_jobs_kept] = described(own.ahead.next, own.ahead.entry);
        own.ahead = {own.ahead.later, its_entry, 4 * gridDim.x + drawn};
      }
      if (threadIdx.x == 0) own.complete[turn] = completed(posted);
      value = takes_at_once ? at_once::template merge<chunk_items, iterator>(static_cast<unsigned>(taken.size), op,
                                                                             own.of_warps[turn])
                            : merge_in_block(value, flight::share::num_valid(size), op, own.of_warps[turn]);
      merge_complete(own.complete[turn]);

      if (takes_all && num_chunks > parts::warp_threads) {
        if (threadIdx.x == 0) own.of_chunk = value;
        __syncthreads();
        if (threadIdx.x == current % segment_block_threads)
          partial = current < segment_block_threads ? own.of_chunk : op(partial, own.of_chunk);
        __syncthreads();
        if (is_last) write(taken.segment, merge_in_block(partial, num_chunks, op, own.of_merge));
      } else if (threadIdx.x < parts::warp_threads) {
        if (num_chunks == 1 || takes_at_once) {
          write(taken.segment, value);
        } else if (takes_all) {
          partial = with_chunk(partial, current, value);
          if (is_last) write(taken.segment, reduce_valid_lanes<parts::warp_threads>(partial, num_chunks, op));
        } else if (threadIdx.x == 0) {
          jobs.aggregates()[taken.number] = value;
          __threadfence();
          posted = number - 1;
          own.ticket = atomicAdd(jobs.arrivals() + taken.first(), 1u);
        }
      }
    }
    if (threadIdx.x == 0) own.complete[turn] = completed(posted);
    __syncthreads();
    merge_complete(own.complete[turn]);
  }

 private:
  static __device__ bool is_at_once(const job& its, const cut_of_call& cut) {
    return at_once::of_jobs && its.is_whole && cut.num_chunks > 1 && cut.num_chunks <= at_once::most;
  }
  static __device__ cut_of_call cut_of(const job& its) { return cut_of_call::template of<item>(its.size); }
  __device__ void write(std::size_t segment, const T& aggregate) const {
    if (threadIdx.x == 0) call.reduction.write(segment, aggregate, true);
  }
  __device__ iterator items_of(const job& taken, const cut_of_call& cut, unsigned chunk) const {
    return call.reduction.items.of_segment(taken.begin) + static_cast<std::ptrdiff_t>(chunk * cut.chunk_items);
  }

  // Which job the first thread has posted, if it was the segment's last one.
  __device__ unsigned completed(unsigned& posted) const {
    const unsigned its = posted;
    posted = none;
    if (its == none || own.ticket != cut_of(own.jobs[its % num_jobs_kept]).num_chunks - 1) return none;
    __threadfence();
    return its;
  }
  __device__ void merge_complete(unsigned its) const {
    if (its == none) return;
    const job& last = own.jobs[its % num_jobs_kept];
    write(last.segment, reduce_by_block<T>(written_by_others<T>{call.jobs.aggregates() + last.first()},
                                           cut_of(last).num_chunks, call.reduction.op, own.of_merge));
  }
};
template <class Call>
__global__ void __launch_bounds__(segment_block_threads, job_blocks<typename Call::T>)
    segment_jobs_kernel(const __grid_constant__ Call call) {
  __shared__ typename segments_worker<Call>::shared shared;
  parts::wait_until_cleared();  // and until all jobs are listed
  segments_worker<Call>{call, shared}.run();
}

}  // namespace rungs::RUNGS_ABI::production
