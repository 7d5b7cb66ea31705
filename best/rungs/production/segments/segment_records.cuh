// Segments that are not empty, listed one behind the other: where each begins if all of them are concatenated, and how
// far its items and its outputs lie from there.
//
// One pass over the offsets: a block takes the tile of its index, and learns from the tiles before how many records and
// items precede it. Sums of integers alone are exchanged, so the list is the same each time. A list of segments that
// follow each other without gaps is recognised: then one distance holds for all.
#pragma once

#include <cstddef>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/tiles.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// In place of offsets of outputs: an output has its item's index.
struct as_the_items {};

// Segment s has the items begins[s] to ends[s] - 1, or none; its outputs are from out_begins[s] on.
template <class BeginOffsetIteratorT, class EndOffsetIteratorT, class OutBeginOffsetIteratorT>
struct placed_segments {
  static constexpr bool outputs_apart = !std::is_same_v<OutBeginOffsetIteratorT, as_the_items>;

  BeginOffsetIteratorT begins;
  EndOffsetIteratorT ends;
  OutBeginOffsetIteratorT out_begins;

  struct place {
    long long in, out;
    unsigned long long size;
  };
  __device__ place operator()(std::size_t segment) const {
    const auto s = static_cast<std::ptrdiff_t>(segment);
    const auto begin = static_cast<long long>(begins[s]), end = static_cast<long long>(ends[s]);
    place of_segment{begin, begin, end > begin ? static_cast<unsigned long long>(end - begin) : 0};
    if constexpr (outputs_apart) of_segment.out = static_cast<long long>(out_begins[s]);
    return of_segment;
  }
};

// What a tile of segments adds to the list. A break is a segment that does not begin where the one before has ended.
struct segment_counts {
  unsigned long long records, items, breaks;
};
struct add_counts {
  template <class T>
  static __host__ __device__ constexpr T identity() {
    return {0, 0, 0};
  }
  __host__ __device__ segment_counts operator()(const segment_counts& a, const segment_counts& b) const {
    return {a.records + b.records, a.items + b.items, a.breaks + b.breaks};
  }
};

struct segment_records {
  struct whole_list {
    segment_counts counts;
    long long first_in, first_out;  // distances of all records, where there are no breaks
  };

  whole_list* list;
  unsigned long long* begins;  // of a record in the concatenation; behind the last one, the number of all items
  long long *in, *out;         // distances: an item's index is its place in the concatenation and `in`

  // Takes regions for arrays of a size one after the other.
  struct taker {
    char* region;
    std::size_t bytes = 0;

    template <class Item>
    void operator()(Item*& array, std::size_t size) {
      array = reinterpret_cast<Item*>(region + bytes);
      bytes += parts::ceil_div(size * sizeof(Item), parts::storage_alignment) * parts::storage_alignment;
    }
  };
  void take(taker& take, std::size_t num_segments, bool outputs_apart) {
    take(list, 1);
    take(begins, num_segments + 1);
    take(in, num_segments);
    out = in;
    if (outputs_apart) take(out, num_segments);
  }

  __device__ bool are_contiguous() const { return list->counts.breaks == 0; }

  // How many of the first num_records begin before `place`. All lanes of a warp call it, and read 32 at once.
  __device__ std::size_t num_before(unsigned long long place, std::size_t num_records) const {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    std::size_t low = 0, high = num_records;
    while (low < high) {
      const std::size_t step = parts::ceil_div(high - low, parts::warp_threads), probe = low + lane * step;
      const unsigned before = __ballot_sync(parts::full_mask, probe < high && begins[probe] < place);
      if (before == 0) return low;
      const std::size_t number = static_cast<std::size_t>(__popc(before));
      high = parts::at_most(high, low + number * step);
      low += (number - 1) * step + 1;
    }
    return low;
  }
};

using record_tile = tile_shape<8, 1>;

struct listing_memory {
  segment_counts of_warps[record_tile::num_warps], before_tile;
};

// Lists those of one tile's segments that are longer than `longer_than`, behind those of the tiles before. All threads
// of the block call it; on_read(whether the thread has segments to list) tells them whether to go on. The last tile
// writes what is known of the whole list. Segments that are not listed, and not empty, break it.
template <class Segments, class OnRead>
__device__ void list_segments(const Segments& segments, std::size_t num_segments, unsigned long long longer_than,
                              unsigned tile, unsigned num_tiles, const segment_records& records,
                              const parts::mailboxes<segment_counts>& mailboxes, parts::tag tag, listing_memory& shared,
                              OnRead on_read) {
  using shape = record_tile;
  constexpr unsigned last_lane = parts::warp_threads - 1;
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const bool is_last_tile = tile == num_tiles - 1;
  const std::size_t first = std::size_t{tile} * shape::tile_items;

  using place = typename Segments::place;
  place places[shape::num_rows];
  segment_counts before[shape::num_rows], of_warp = add_counts::identity<segment_counts>();
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) {
    const std::size_t segment = first + shape::position(warp, row);
    const bool exists = segment < num_segments;
    places[row] = exists ? segments(segment) : place{0, 0, 0};
  }
  bool lists = false;
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) lists = lists || places[row].size > longer_than;
  if (!on_read(lists)) return;
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) {
    const std::size_t segment = first + shape::position(warp, row);
    const bool exists = segment < num_segments;
    const place own = places[row];
    long long in_end = own.in + static_cast<long long>(own.size), out_end = own.out + static_cast<long long>(own.size);
    in_end = parts::shuffle_up(in_end, 1);
    out_end = parts::shuffle_up(out_end, 1);
    if (lane == 0 && exists && segment > 0) {
      const place left = segments(segment - 1);
      in_end = left.in + static_cast<long long>(left.size);
      out_end = left.out + static_cast<long long>(left.size);
    }
    const bool is_listed = own.size > longer_than, is_left_out = own.size > 0 && !is_listed;
    const bool breaks = exists && (is_left_out || (segment > 0 && (own.in != in_end || own.out != out_end)));
    const unsigned listed = __ballot_sync(parts::full_mask, is_listed);
    const unsigned long long size = is_listed ? own.size : 0, through = parts::warp_scan(size, plus{});
    before[row] = {of_warp.records + __popc(listed & ((1u << lane) - 1)), of_warp.items + through - size, 0};
    of_warp.records += __popc(listed);
    of_warp.items += parts::shuffle_from(through, last_lane);
    of_warp.breaks += __popc(__ballot_sync(parts::full_mask, breaks));
  }
  if (lane == 0) shared.of_warps[warp] = of_warp;
  __syncthreads();
  segment_counts before_warp = add_counts::identity<segment_counts>(), of_tile = before_warp;
#pragma unroll
  for (int i = 0; i < shape::num_warps; ++i) {
    if (i == warp) before_warp = of_tile;
    of_tile = add_counts{}(of_tile, shared.of_warps[i]);
  }
  parts::wait_until_cleared();
  if (warp == 0) {
    using parts::posted;
    if (lane == 0 && !is_last_tile) mailboxes.post(tile, of_tile, tag, tile > 0 ? posted::aggregate : posted::prefix);
    segment_counts prefix = add_counts::identity<segment_counts>();
    if (tile > 0) prefix = scans::prefix_before(mailboxes, tile, tag, add_counts{});
    const segment_counts through = add_counts{}(prefix, of_tile);
    if (lane == 0) {
      if (tile > 0 && !is_last_tile) mailboxes.post(tile, through, tag, posted::prefix);
      shared.before_tile = prefix;
      if (is_last_tile) {
        records.list->counts = through;
        records.begins[through.records] = through.items;
      }
    }
  }
  __syncthreads();
  before_warp = add_counts{}(shared.before_tile, before_warp);
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) {
    const place own = places[row];
    if (first + shape::position(warp, row) == 0) {
      records.list->first_in = own.in;
      records.list->first_out = own.out;
    }
    if (own.size <= longer_than) continue;
    const unsigned long long record = before_warp.records + before[row].records;
    const unsigned long long begin = before_warp.items + before[row].items;
    records.begins[record] = begin;
    records.in[record] = own.in - static_cast<long long>(begin);
    if constexpr (Segments::outputs_apart) records.out[record] = own.out - static_cast<long long>(begin);
  }
}

template <class Segments>
__global__ void __launch_bounds__(record_tile::block_threads)
    segment_records_kernel(const __grid_constant__ Segments segments, std::size_t num_segments, segment_records records,
                           parts::mailboxes<segment_counts> mailboxes, parts::tag tag) {
  __shared__ listing_memory shared;
  list_segments(segments, num_segments, 0, blockIdx.x, gridDim.x, records, mailboxes, tag, shared,
                [](bool) { return true; });
}

}  // namespace rungs::RUNGS_ABI::production
