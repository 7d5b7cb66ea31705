// Equal shares of the concatenation of segments (segment_records.cuh): what a block does with one of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rungs/production/compaction/by_key_kernel.cuh"
#include "rungs/production/segments/segment_records.cuh"

namespace rungs::RUNGS_ABI::production {

enum class of_segments : unsigned char { inclusive_scans, inclusive_scans_from_init, exclusive_scans };

// num_rows: of a tile that has fewer rows than its items allow, or 0.
template <of_segments result_, class InputIteratorT, class OutputIteratorT, class T, class Op, bool outputs_apart_,
          int num_rows = 0>
struct segmented_scan {
  using value = held_of<parts::item_of<InputIteratorT>>;
  using accumulator = T;
  static constexpr of_segments result = result_;
  static constexpr bool outputs_apart = outputs_apart_;
  using full_shape = tile_shape<(sizeof(T) > sizeof(value) ? sizeof(T) : sizeof(value)), 4>;
  using shape = std::conditional_t<num_rows == 0, full_shape,
                                   rows_of_warps<full_shape::neighbours, num_rows, full_shape::num_warps>>;
  static constexpr int least_blocks = sizeof(T) <= 8 && sizeof(value) <= 8 ? 3 : 1;
  static constexpr int least_blocks_of_few = least_blocks == 1 ? 2 : sizeof(T) < 4 ? 3 : 4;  // of few segments
  static constexpr int flag_words = shape::tile_items / 32;

  InputIteratorT d_in;
  OutputIteratorT d_out;
  Op op;
  T init;
  segment_records records;
  T* aggregates;                   // of a share's last segment in it, where the next share goes on with that
  unsigned long long* last_begun;  // how many records have begun by the end of a share

  template <int rows>
  __device__ auto with_rows() const {
    return segmented_scan<result_, InputIteratorT, OutputIteratorT, T, Op, outputs_apart_, rows>{
        d_in, d_out, op, init, records, aggregates, last_begun};
  }
};

// Where iterators' vectors of `count` items are aligned.
template <int count, class Iterator>
__device__ bool is_aligned_here(const Iterator& iterator) {
  if constexpr (is_vectorisable<Iterator>)
    return reinterpret_cast<std::uintptr_t>(iterator) % (sizeof(parts::item_of<Iterator>) * count) == 0;
  else
    return false;
}

// The tiles of one share, in order. All threads of the block call all of it.
template <class Call>
struct share_tiles {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  using value = typename Call::value;

  struct memory {
    unsigned heads[2][Call::flag_words];  // of this tile and of the next one
    T of_warp[shape::num_warps];
    unsigned begins[shape::num_warps];
    T carry[2];  // what precedes this tile, and the next one
  };

  const Call& call;
  memory& shared;
  const int warp = parts::warp_of_block(), lane = static_cast<int>(threadIdx.x) % parts::warp_threads;

  __device__ void clear_heads() const {
    for (int i = threadIdx.x; i < Call::flag_words; i += shape::block_threads) shared.heads[0][i] = 0;
  }

  __device__ void take(warp_runs<shape, T>& runs, const lane_rows<shape, value>& items) const {
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) runs.values[row][k] = accumulated<T>(items(row, k));
  }

  // Scans within the tile. Returns what precedes the warp's first item in its segment, if it does not begin one; that
  // of the next tile's first item goes to the other carry.
  __device__ T scan(warp_runs<shape, T>& runs, unsigned starts, int turn) const {
    runs.scan(starts, call.op);
    if (lane == 0) {
      shared.of_warp[warp] = runs.of_warp;
      shared.begins[warp] = runs.begins;
    }
    __syncthreads();
    unsigned warps_beginning = 0;
#pragma unroll
    for (int i = 0; i < shape::num_warps; ++i) warps_beginning |= shared.begins[i] << i;
    T before = shared.carry[turn];
    if (warp > 0) {
      const T in_tile = before_warp_in_tile(shared, warps_beginning, warp, call.op);
      before = (warps_beginning & ((1u << warp) - 1)) == 0 ? static_cast<T>(call.op(before, in_tile)) : in_tile;
    }
    if (warp == shape::num_warps - 1 && lane == 0)
      shared.carry[turn ^ 1] = runs.begins ? runs.of_warp : static_cast<T>(call.op(before, runs.of_warp));
    return before;
  }
};

// A share: whole tiles, as many for every block.
struct share_place {
  std::size_t items, first, end;
};
template <class Shape>
__device__ share_place place_of_share(const segment_counts& counts, unsigned share, unsigned num_shares) {
  const std::size_t tiles = parts::ceil_div(counts.items, Shape::tile_items);
  const std::size_t items = parts::ceil_div(tiles, num_shares) * Shape::tile_items;
  return {items, share * items, share * items + items};
}

// What the items from `from` to end - 1, all of one segment, add up to; in the first thread of the block. d_in has the
// concatenation's places.
template <class Call, class InputIteratorT>
__device__ typename Call::accumulator aggregate_between(const share_tiles<Call>& tiles, InputIteratorT d_in,
                                                        std::size_t from, std::size_t end) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  using value = typename Call::value;
  int turn = 0;
  for (std::size_t tile = from / shape::tile_items * shape::tile_items; tile < end; tile += shape::tile_items) {
    warp_runs<shape, T> runs;
    unsigned starts = 0;
    if (tile >= from) {
      const bool by_vectors = is_aligned_here<shape::neighbours>(d_in + static_cast<std::ptrdiff_t>(tile));
      tiles.take(runs, read_tile<shape, value>(d_in, tile, end - 1, tiles.warp, by_vectors));
      if (tile <= from && threadIdx.x == 0) starts = shape::bit(0, 0);
    } else {
      // What precedes the segment is not looked at: such places have its first item, and begin nothing that lasts.
      const int before = static_cast<int>(from - tile);
      lane_rows<shape, value> items;
#pragma unroll
      for (int row = 0; row < shape::num_rows; ++row) {
        value read[shape::neighbours];
#pragma unroll
        for (int k = 0; k < shape::neighbours; ++k) {
          const int at = shape::position(tiles.warp, row) + k;
          if (at <= before) starts |= shape::bit(row, k);
          read[k] = static_cast<value>(d_in[static_cast<std::ptrdiff_t>(tile + (at > before ? at : before))]);
        }
        items.rows[row] = neighbours_of<value, shape::neighbours>(read);
      }
      tiles.take(runs, items);
    }
    tiles.scan(runs, starts, turn);
    turn ^= 1;
    __syncthreads();
  }
  return tiles.shared.carry[turn];
}

// What a share, which ends before `end`, adds to the segment that goes on in the next one, record begun - 1; in the
// first thread of the block.
template <class Call>
__device__ typename Call::accumulator aggregate_at_end(const share_tiles<Call>& tiles, std::size_t first,
                                                       std::size_t end, std::size_t begun) {
  const segment_records& records = tiles.call.records;
  const std::size_t begin = records.begins[begun - 1];
  const long long distance = records.are_contiguous() ? records.list->first_in : records.in[begun - 1];
  return aggregate_between(tiles, tiles.call.d_in + static_cast<std::ptrdiff_t>(distance),
                           begin > first ? begin : first, end);
}

// The fold of the aggregates of shares begin to end - 1, begin < end, in the first thread of the block.
template <class Call, class AggregateOf>
__device__ typename Call::accumulator fold_shares(const Call& call, typename Call::accumulator* of_warps,
                                                  std::size_t begin, std::size_t end, AggregateOf aggregate_of) {
  using T = typename Call::accumulator;
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const std::size_t of_warp = parts::ceil_div(end - begin, Call::shape::num_warps);
  const std::size_t own = begin + warp * of_warp, own_end = parts::at_most(end, own + of_warp);
  T value;
  for (std::size_t first = own; first < own_end; first += parts::warp_threads) {
    const int count = static_cast<int>(parts::at_most(own_end - first, parts::warp_threads));
    const T of_window = fold_lanes(aggregate_of(first + (lane < count ? lane : 0)), 0, count, call.op);
    value = first == own ? of_window : static_cast<T>(call.op(value, of_window));
  }
  if (lane == 0 && own < own_end) of_warps[warp] = value;
  __syncthreads();
  if (threadIdx.x > 0) return value;
  value = of_warps[0];
  for (std::size_t i = 1; begin + i * of_warp < end; ++i) value = call.op(value, of_warps[i]);
  return value;
}

// Of a tile's flags those of the lane's items.
template <class Shape>
__device__ unsigned heads_of_lane(const unsigned* flags, int warp) {
  unsigned heads = 0;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    const int at = Shape::position(warp, row);
    heads |= (flags[at / 32] >> at % 32 & ((1u << Shape::neighbours) - 1)) << (row * Shape::neighbours);
  }
  return heads;
}

// Completes a tile's items with `before`, what precedes the warp's first one in its segment, and calls write(row, the
// lane's outputs). `starts` flags items that continue no segment, `present` those that are there.
template <class Call, class T, class Write>
__device__ void complete_tile(const Call& call, warp_runs<typename Call::shape, T>& runs, unsigned starts,
                              unsigned present, const T& before, Write write) {
  using shape = typename Call::shape;
  constexpr int neighbours = shape::neighbours;
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
    for (int k = 0; k < neighbours; ++k)
      if ((runs.continues & shape::bit(row, k)) != 0) runs.values[row][k] = call.op(before, runs.values[row][k]);
  T row_before = before;  // of the row's first item
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) {
    T values[neighbours];
    if constexpr (Call::result == of_segments::exclusive_scans) {
      const T through = runs.values[row][neighbours - 1];
      T ahead = parts::shuffle_up(through, 1);
      if (threadIdx.x % parts::warp_threads == 0) ahead = row_before;
      row_before = parts::shuffle_from(through, parts::warp_threads - 1);
#pragma unroll
      for (int k = 0; k < neighbours; ++k) {
        values[k] = call.init;
        if ((starts & shape::bit(row, k)) == 0)
          values[k] = call.op(call.init, k == 0 ? ahead : runs.values[row][k - (k > 0)]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < neighbours; ++k) {
        values[k] = runs.values[row][k];
        if constexpr (Call::result == of_segments::inclusive_scans_from_init)
          if ((present & shape::bit(row, k)) != 0) values[k] = call.op(call.init, values[k]);
      }
    }
    write(row, values);
  }
}

// Scans a share, in which records from `begun` on begin; shared.carry[0] has what precedes it in record begun - 1, and
// shared.heads[0] no flags.
template <class Call>
__device__ void scan_share(const share_tiles<Call>& tiles, const share_place& share, const segment_counts& counts,
                           std::size_t begun) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  using value = typename Call::value;
  constexpr int neighbours = shape::neighbours, warp_words = shape::warp_items / 32;
  const Call& call = tiles.call;
  auto& shared = tiles.shared;
  const int warp = tiles.warp, lane = tiles.lane;
  const segment_records& records = call.records;
  const std::size_t last = counts.items - 1, share_end = parts::at_most(counts.items, share.end);
  const bool are_contiguous = records.are_contiguous();
  __syncthreads();

  int turn = 0;
  for (std::size_t tile = share.first; tile < share_end; tile += shape::tile_items, turn ^= 1) {
    const std::size_t tile_end = parts::at_most(counts.items, tile + shape::tile_items);
    const int left = static_cast<int>(tile_end - tile);
    warp_runs<shape, T> runs;
    const auto read_at = [&](long long distance) {
      const auto d_in = call.d_in + static_cast<std::ptrdiff_t>(distance);
      const bool by_vectors = is_aligned_here<neighbours>(d_in + static_cast<std::ptrdiff_t>(tile));
      tiles.take(runs, read_tile<shape, value>(d_in, tile, last, warp, by_vectors));
    };
    if (are_contiguous) read_at(records.list->first_in);

    // Where segments begin.
    for (std::size_t record = begun + threadIdx.x; record < counts.records; record += shape::block_threads) {
      const std::size_t begin = records.begins[record];
      if (begin >= tile_end) break;
      const auto at = static_cast<unsigned>(begin - tile);
      atomicOr(&shared.heads[turn][at / 32], 1u << at % 32);
    }
    __syncthreads();
    unsigned num_heads = 0;  // of the tile, and in the upper half of what precedes the warp
#pragma unroll
    for (int i = lane; i < Call::flag_words; i += parts::warp_threads) {
      const auto in_word = static_cast<unsigned>(__popc(shared.heads[turn][i]));
      num_heads += i < warp * warp_words ? in_word << 16 | in_word : in_word;
    }
    num_heads = parts::warp_aggregate(num_heads, plus{});
    const unsigned heads_before = num_heads >> 16;
    num_heads &= 0xffff;
    const unsigned heads = heads_of_lane<shape>(shared.heads[turn], warp);
    for (int i = threadIdx.x; i < Call::flag_words; i += shape::block_threads) shared.heads[turn ^ 1][i] = 0;

    // Gaps between segments of one tile: each lane looks up how far its items lie away.
    const row_counts<shape> lane_heads(heads);
    const bool is_apart = !are_contiguous && num_heads > 0;
    const auto record_of = [&](int row, int k) {
      const unsigned up_to = row_counts<shape>::of_row(row) & (shape::bit(row, k) * 2 - 1);
      return begun + heads_before + lane_heads.before(row) + __popc(heads & up_to) - 1;
    };
    if (is_apart) {
      lane_rows<shape, value> items;
#pragma unroll
      for (int row = 0; row < shape::num_rows; ++row) {
        value read[neighbours];
#pragma unroll
        for (int k = 0; k < neighbours; ++k) {
          const int at = shape::position(warp, row) + k;
          const long long i =
              static_cast<long long>(tile) + (at < left ? at : left - 1) + records.in[record_of(row, k)];
          read[k] = static_cast<value>(call.d_in[static_cast<std::ptrdiff_t>(i)]);
        }
        items.rows[row] = neighbours_of<value, neighbours>(read);
      }
      tiles.take(runs, items);
    } else if (!are_contiguous) {
      read_at(records.in[begun - 1]);
    }

    const unsigned present = flags_present<shape>(warp, left);
    const T before = tiles.scan(runs, heads | ~present, turn);

    complete_tile(call, runs, heads | ~present, present, before, [&](int row, const T(&values)[neighbours]) {
      const int position = shape::position(warp, row);
      if (is_apart) {
#pragma unroll
        for (int k = 0; k < neighbours; ++k) {
          if (position + k >= left) continue;
          const long long i = static_cast<long long>(tile) + position + k + records.out[record_of(row, k)];
          write(call.d_out + static_cast<std::ptrdiff_t>(i), values[k]);
        }
      } else {
        const long long distance = are_contiguous ? records.list->first_out : records.out[begun - 1];
        const auto d_out = call.d_out + static_cast<std::ptrdiff_t>(distance);
        write_neighbours<shape, true>(values, d_out, tile, position, left,
                                      is_aligned_here<neighbours>(d_out + static_cast<std::ptrdiff_t>(tile)));
      }
    });
    begun += num_heads;
  }
}

}  // namespace rungs::RUNGS_ABI::production
