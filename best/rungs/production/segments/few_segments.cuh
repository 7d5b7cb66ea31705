// Few segments between offsets, scanned in one launch.
//
// A block takes a group of consecutive segments. Warps scan the short ones by themselves, or teams of warps where a
// block has as many teams. The block scans the others, one after the other, tile by tile. Segments of more than some
// tiles are left until then. The first blocks, the scouts, list them (segment_records.cuh), and say early whether there
// are none. Up to 32 segments have no scouts: every block lists the long ones. If there are none, blocks end. Else each
// helps with a share of the list's concatenation (segment_shares.cuh): it posts what its last segment has there, where
// the next share goes on with that, folds what blocks before have posted of its first segment, and scans its share.
//
// Scouts wait for scouts of lower indices, and helpers for scouts and for helpers of lower indices. These start first.
#pragma once

#include <cstddef>

#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/segments/whole_segments.cuh"

namespace rungs::RUNGS_ABI::production {

inline constexpr std::size_t few_segments = 8192;

// Tiles that a block scans one after the other: of one segment, and of its group of at most eight.
inline constexpr std::size_t most_direct_tiles = 4, most_direct_rounds = 16;

struct few_plan {
  unsigned num_scouts, num_helpers;  // blocks, in this order
  unsigned group;                    // segments that a helper scans first
  unsigned long long most_direct;    // items of such a segment
};
template <class Call>
few_plan plan_for_few(std::size_t num_segments, std::size_t multiprocessors) {
  const std::size_t resident = Call::least_blocks_of_few * multiprocessors;
  const std::size_t group = parts::at_most(parts::ceil_div(num_segments, resident), Call::shape::num_warps);
  const std::size_t scouts =
      num_segments > parts::warp_threads ? parts::ceil_div(num_segments, record_tile::tile_items) : 0;
  const std::size_t groups = parts::ceil_div(num_segments, group);
  const std::size_t helpers = groups + scouts < resident ? resident - scouts : groups;
  return {static_cast<unsigned>(scouts), static_cast<unsigned>(helpers), static_cast<unsigned>(group),
          parts::at_most(most_direct_tiles, most_direct_rounds / group) * Call::shape::tile_items};
}

template <class T>
struct few_mailboxes {
  parts::mailboxes<segment_counts> counts;     // of scouts, for scouts
  parts::mailboxes<unsigned> lists, is_there;  // of scouts: whether they list segments; that they have
  parts::mailboxes<T> aggregates;              // of helpers

  static constexpr std::size_t bytes(const few_plan& plan) {
    return parts::mailboxes<segment_counts>::bytes(plan.num_scouts) +
           2 * parts::mailboxes<unsigned>::bytes(plan.num_scouts) + parts::mailboxes<T>::bytes(plan.num_helpers);
  }
  static few_mailboxes at(char* region, const few_plan& plan) {
    char* const lists = region + parts::mailboxes<segment_counts>::bytes(plan.num_scouts);
    const std::size_t bytes = parts::mailboxes<unsigned>::bytes(plan.num_scouts);
    return {parts::mailboxes<segment_counts>(region), parts::mailboxes<unsigned>(lists),
            parts::mailboxes<unsigned>(lists + bytes), parts::mailboxes<T>(lists + 2 * bytes)};
  }

  // Whether one of the first num_scouts scouts lists segments. All threads of the block call it.
  __device__ bool any_lists(unsigned num_scouts, parts::tag tag) const {
    unsigned of_scout = 0;
    if (threadIdx.x < num_scouts)
      while (!lists.peek(threadIdx.x, of_scout, tag)) continue;
    return __syncthreads_or(static_cast<int>(of_scout)) != 0;
  }
};

// Scans those segments of a group that are not left to helpers. Every warp knows all of the group's offsets. Where
// there is one scout or none, `lists` says whether the thread has seen a segment, of all of them, that is left to
// helpers. Returns false if it knows that nobody has.
template <class Call, class Segments>
__device__ bool scan_group(const share_tiles<Call>& tiles, const Segments& segments, unsigned num_segments,
                           const few_plan& plan, unsigned group, unsigned& lists) {
  using shape = typename Call::shape;
  constexpr unsigned at_once = record_tile::tile_items / shape::block_threads;
  const unsigned lane = tiles.lane, segment = group * plan.group + lane;
  typename Segments::place of_lane{0, 0, 0};
  if (lane < plan.group && segment < num_segments) of_lane = segments(segment);
  unsigned long long sizes[at_once];  // of one scout's segments, read at once with the group's offsets
#pragma unroll
  for (unsigned k = 0; k < at_once; ++k) {
    const unsigned i = threadIdx.x + k * shape::block_threads;
    sizes[k] = plan.num_scouts <= 1 && i < num_segments ? segments(i).size : 0;
  }
  lists = 0;
#pragma unroll
  for (unsigned k = 0; k < at_once; ++k) lists |= sizes[k] > plan.most_direct;
  if (of_lane.size > plan.most_direct) of_lane.size = 0;
  // Short ones by teams, where there are as many.
  const bool by_teams = are_by_teams<Call>(plan.group);
  if (by_teams) {
    scan_by_teams<Segments>(tiles, of_lane);
    if (plan.num_scouts <= 1 && __syncthreads_or(lists | (of_lane.size > shape::warp_items)) == 0) return false;
  }
  scan_by_warps_or_block<Segments>(tiles, of_lane, by_teams);
  return true;
}

// Lists those of at most 32 segments that are longer than `longer_than`, as scouts do. A warp of every helper calls it,
// and all write the same.
template <class Segments>
__device__ void list_in_warp(const Segments& segments, unsigned num_segments, unsigned long long longer_than,
                             const segment_records& records) {
  const unsigned lane = threadIdx.x % parts::warp_threads;
  typename Segments::place own{0, 0, 0};
  if (lane < num_segments) own = segments(lane);
  const bool is_listed = own.size > longer_than;
  const unsigned listed = __ballot_sync(parts::full_mask, is_listed);
  const unsigned long long size = is_listed ? own.size : 0, through = parts::warp_scan(size, plus{});
  const auto num_listed = static_cast<unsigned>(__popc(listed));
  if (is_listed) {
    const int record = __popc(listed & ((1u << lane) - 1));
    const unsigned long long begin = through - size;
    records.begins[record] = begin;
    records.in[record] = own.in - static_cast<long long>(begin);
    if constexpr (Segments::outputs_apart) records.out[record] = own.out - static_cast<long long>(begin);
    if (num_listed == 1) *records.list = {{1, size, 0}, own.in, own.out};
  }
  if (lane == parts::warp_threads - 1) {
    if (num_listed > 1) records.list->counts = {num_listed, through, 1};
    records.begins[num_listed] = through;
  }
}

// Scans a helper's share of the listed segments. Where there is one scout or none, `lists` says whether the thread has
// seen a segment that is listed.
template <class Call, class Segments>
__device__ void help(const share_tiles<Call>& tiles, const Segments& segments, unsigned num_segments,
                     const few_plan& plan, unsigned helper, unsigned lists,
                     const few_mailboxes<typename Call::accumulator>& mailboxes, parts::tag tag) {
  using T = typename Call::accumulator;
  const Call& call = tiles.call;
  const segment_records& records = call.records;
  if (plan.num_scouts <= 1 && __syncthreads_or(lists) == 0) return;
  parts::wait_until_cleared();
  if (plan.num_scouts > 1 && !mailboxes.any_lists(plan.num_scouts, tag)) return;
  if (plan.num_scouts == 0 && tiles.warp == 0) list_in_warp(segments, num_segments, plan.most_direct, records);
  unsigned is_there;
  if (threadIdx.x < plan.num_scouts) {
    while (!mailboxes.is_there.peek(threadIdx.x, is_there, tag)) continue;
    __threadfence();
  }
  __syncthreads();
  const segment_counts counts = records.list->counts;
  const share_place share = place_of_share<typename Call::shape>(counts, helper, plan.num_helpers);
  if (share.first >= counts.items) return;
  if (share.end < counts.items) {
    const std::size_t begun = records.num_before(share.end, counts.records);
    if (records.begins[begun] != share.end) {
      const T aggregate = aggregate_at_end(tiles, share.first, share.end, begun);
      if (threadIdx.x == 0) mailboxes.aggregates.post(helper, aggregate, tag);
    }
  }
  const std::size_t begun = helper > 0 ? records.num_before(share.first, counts.records) : 0;
  if (records.begins[begun] != share.first) {
    const T carry =
        fold_shares(call, tiles.shared.of_warp, records.begins[begun - 1] / share.items, helper, [&](std::size_t i) {
          T aggregate;
          while (!mailboxes.aggregates.peek(i, aggregate, tag)) {
          }
          return aggregate;
        });
    if (threadIdx.x == 0) tiles.shared.carry[0] = carry;
  }
  tiles.clear_heads();
  scan_share(tiles, share, counts, begun);
}

template <class Call, class Segments>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks_of_few)
    few_segments_kernel(const __grid_constant__ Call call, const __grid_constant__ Segments segments,
                        unsigned num_segments, const __grid_constant__ few_plan plan,
                        few_mailboxes<typename Call::accumulator> mailboxes, parts::tag tag) {
  static_assert(Call::shape::block_threads == record_tile::block_threads && Call::shape::num_warps <= 32);
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  const unsigned block = blockIdx.x;
  if (block >= plan.num_scouts) {
    const unsigned helper = block - plan.num_scouts;
    unsigned lists;
    if (scan_group(tiles, segments, num_segments, plan, helper, lists))
      help(tiles, segments, num_segments, plan, helper, lists, mailboxes, tag);
  } else {
    __shared__ listing_memory of_scout;
    list_segments(segments, num_segments, plan.most_direct, block, plan.num_scouts, call.records, mailboxes.counts, tag,
                  of_scout, [&](bool lists) {
                    lists = __syncthreads_or(lists) != 0;
                    if (plan.num_scouts == 1) return lists;
                    parts::wait_until_cleared();
                    if (threadIdx.x == 0) mailboxes.lists.post(block, lists, tag);
                    if (lists || (block > 0 && mailboxes.any_lists(block, tag))) return true;
                    // Nothing is listed up to here. What is left out breaks the list.
                    if (threadIdx.x == 0) mailboxes.counts.post(block, {0, 0, 1}, tag, parts::posted::prefix);
                    return false;
                  });
    parts::wait_until_cleared();
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      mailboxes.is_there.post(block, 1, tag);
    }
  }
}

// Scans 1 to few_segments segments. Of `call`, the records are found here.
//
// Storage: 16 bytes a segment, 24 where outputs lie apart, 80 for each 1024 segments, and for each of at most
// least_blocks_of_few blocks a multiprocessor a mailbox of an accumulator.
template <class Call, class Segments>
cudaError_t scan_few_segments(void* d_temp_storage, std::size_t& temp_storage_bytes, Call call,
                              const Segments& segments, std::size_t num_segments, const parts::device_limits& limits,
                              cudaStream_t stream) {
  using mailboxes = few_mailboxes<typename Call::accumulator>;
  const few_plan plan = plan_for_few<Call>(num_segments, limits.multiprocessors);
  char* messages;
  const auto place = [&](char* region) {
    segment_records::taker take{region};
    take(messages, mailboxes::bytes(plan));
    call.records.take(take, num_segments, Call::outputs_apart);
    return take.bytes;
  };
  char* region = nullptr;
  const std::size_t bytes = place(region);
  cudaError_t error = cudaSuccess;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  place(region);
  parts::opened_storage storage;
  error = storage.open(messages, mailboxes::bytes(plan), stream);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(few_segments_kernel<Call, Segments>, plan.num_scouts + plan.num_helpers,
                                  Call::shape::block_threads, 0, storage.clears, stream, call, segments,
                                  static_cast<unsigned>(num_segments), plan, mailboxes::at(messages, plan),
                                  storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
