// Segments between offsets, scanned whatever their lengths.
//
// Segments that adjoin each other are one launch (adjoining_segments.cuh), and few others, too (few_segments.cuh). Many
// others are three.
//
// The first one lists the segments that are not empty (segment_records.cuh). What follows works on their concatenation,
// cut into shares of as many tiles for every block: so neither a long segment nor a million short ones leave blocks
// idle. A block of the second launch adds up what the last segment of its share has there, where the next share goes on
// with it. A block of the third one folds what the shares before have added to its first segment, and scans its share
// tile by tile. Nobody waits for another block in these two, and all orders are fixed.
//
// Items are read twice where they belong to a segment that its share does not end, once elsewhere.
#pragma once

#include <cstddef>

#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/segments/adjoining_segments.cuh"
#include "rungs/production/segments/few_segments.cuh"
#include "rungs/production/segments/segment_shares.cuh"

namespace rungs::RUNGS_ABI::production {

// Most operations that one item passes through: tiles of a share twice, the fold of the shares before, and the tile.
// A tile has 256 items at least. Of few segments there may be as few shares as helpers; a block scans others by itself
// in at most most_direct_rounds.
constexpr std::size_t segmented_scan_height(std::size_t num_items, std::size_t multiprocessors) {
  return 2 * parts::ceil_div(num_items, 256 * multiprocessors) + parts::ceil_div(multiprocessors, 32) + 80;
}

// Whether few_segments.cuh scans the segments: where they adjoin, only if blocks cannot take groups of those.
template <class Call>
bool are_few(std::size_t num_segments, bool adjoin) {
  if (!adjoin) return num_segments > 0 && num_segments <= few_segments;
  return !adjoining_plan<Call>::can_group && num_segments >= 16 && num_segments <= 1024;
}

// Shares of a call of many segments; more than are resident at once, so that what else runs on the device does not
// delay it by much.
inline constexpr std::size_t shares_per_multiprocessor = 8;

// What the shares before add to the segments that go on in the next one.
template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    segment_carries_kernel(const __grid_constant__ Call call) {
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  parts::wait_until_cleared();  // and until the list is there
  const segment_counts counts = call.records.list->counts;
  const share_place share = place_of_share<typename Call::shape>(counts, blockIdx.x, gridDim.x);
  if (share.end >= counts.items) return;
  const std::size_t begun = call.records.num_before(share.end, counts.records);
  if (threadIdx.x == 0) call.last_begun[blockIdx.x] = begun;
  if (call.records.begins[begun] == share.end) return;  // the next share begins a segment
  const auto aggregate = aggregate_at_end(tiles, share.first, share.end, begun);
  if (threadIdx.x == 0) call.aggregates[blockIdx.x] = aggregate;
}

template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    scan_segments_kernel(const __grid_constant__ Call call) {
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  tiles.clear_heads();
  parts::wait_until_cleared();
  const segment_counts counts = call.records.list->counts;
  const share_place share = place_of_share<typename Call::shape>(counts, blockIdx.x, gridDim.x);
  if (share.first >= counts.items) return;
  const std::size_t begun = blockIdx.x > 0 ? call.last_begun[blockIdx.x - 1] : 0;  // records, before the share
  if (call.records.begins[begun] != share.first) {
    const auto carry = fold_shares(call, shared.of_warp, call.records.begins[begun - 1] / share.items, blockIdx.x,
                                   [&](std::size_t i) { return call.aggregates[i]; });
    if (threadIdx.x == 0) shared.carry[0] = carry;
  }
  scan_share(tiles, share, counts, begun);
}

// Scans the segments. Of `call`, records and aggregates are found here.
//
// Storage: 16 bytes a segment, 24 where outputs lie apart. Of three launches 48 for each 1024 segments, and for each
// share an accumulator and 8 bytes; of few segments what few_segments.cuh says. Where segments adjoin it takes no more.
template <class Call, class Segments>
cudaError_t scan_segments(void* d_temp_storage, std::size_t& temp_storage_bytes, Call call, const Segments& segments,
                          std::size_t num_segments, cudaStream_t stream) {
  using mailboxes = parts::mailboxes<segment_counts>;
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
  bool adjoin = false;
  if constexpr (adjoining_offsets<Segments>::may_be) adjoin = adjoining_offsets<Segments>::are(segments);
  if (are_few<Call>(num_segments, adjoin))
    return scan_few_segments(d_temp_storage, temp_storage_bytes, call, segments, num_segments, limits, stream);
  const std::size_t num_shares = shares_per_multiprocessor * limits.multiprocessors;
  const std::size_t num_tiles = parts::ceil_div(num_segments, record_tile::tile_items);
  char* messages;
  const auto place = [&](char* region) {
    segment_records::taker take{region};
    take(messages, mailboxes::bytes(num_tiles));
    call.records.take(take, num_segments, Call::outputs_apart);
    take(call.aggregates, num_shares);
    take(call.last_begun, num_shares);
    return take.bytes;
  };
  char* region = nullptr;
  const adjoining_plan<Call> plan(num_segments, limits);
  const std::size_t of_three = place(region), of_one = plan.bytes(), bytes = of_three > of_one ? of_three : of_one;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  if (num_segments == 0) return cudaSuccess;
  if constexpr (adjoining_offsets<Segments>::may_be)
    if (adjoin) return scan_adjoining_segments(region, plan, call, segments.begins, num_segments, stream);
  place(region);
  parts::opened_storage storage;
  error = storage.open(messages, mailboxes::bytes(num_tiles), stream);
  if (error == cudaSuccess)
    error = parts::launch_overlapped(segment_records_kernel<Segments>, num_tiles, record_tile::block_threads, 0,
                                     storage.clears, stream, segments, num_segments, call.records, mailboxes(messages),
                                     storage.of_call);
  if (error == cudaSuccess)
    error = parts::launch_overlapped(segment_carries_kernel<Call>, num_shares, Call::shape::block_threads, 0,
                                     limits.overlaps(), stream, call);
  if (error == cudaSuccess)
    error = parts::launch_overlapped(scan_segments_kernel<Call>, num_shares, Call::shape::block_threads, 0,
                                     limits.overlaps(), stream, call);
  return error;
}

}  // namespace rungs::RUNGS_ABI::production
