// Segments between offsets, scanned in three launches whatever their lengths.
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
#include <cstdint>

#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/compaction/by_key_kernel.cuh"
#include "rungs/production/segments/segment_records.cuh"

namespace rungs::RUNGS_ABI::production {

// Most operations that one item passes through: tiles of a share twice, the fold of the shares before, and the tile.
// A tile has 256 items at least.
constexpr std::size_t segmented_scan_height(std::size_t num_items, std::size_t multiprocessors) {
  return 2 * parts::ceil_div(num_items, 256 * 8 * multiprocessors) + parts::ceil_div(multiprocessors, 32) + 80;
}

enum class of_segments : unsigned char { inclusive_scans, inclusive_scans_from_init, exclusive_scans };

// Shares of a call; more than are resident at once, so that what else runs on the device does not delay it by much.
inline constexpr std::size_t shares_per_multiprocessor = 8;

template <of_segments result_, class InputIteratorT, class OutputIteratorT, class T, class Op, bool outputs_apart_>
struct segmented_scan {
  using value = held_of<parts::item_of<InputIteratorT>>;
  using accumulator = T;
  static constexpr of_segments result = result_;
  static constexpr bool outputs_apart = outputs_apart_;
  using shape = tile_shape<(sizeof(T) > sizeof(value) ? sizeof(T) : sizeof(value)), 4>;
  static constexpr int least_blocks = sizeof(T) <= 8 && sizeof(value) <= 8 ? 3 : 1;
  static constexpr int flag_words = shape::tile_items / 32;

  InputIteratorT d_in;
  OutputIteratorT d_out;
  Op op;
  T init;
  segment_records records;
  T* aggregates;                   // of a share's last segment in it, where the next share goes on with that
  unsigned long long* last_begun;  // how many records have begun by the end of a share
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

// What the shares before add to the segments that go on in the next one.
template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    segment_carries_kernel(const __grid_constant__ Call call) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  using value = typename Call::value;
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  parts::wait_until_cleared();  // and until the list is there
  const segment_counts counts = call.records.list->counts;
  const std::size_t share_items =
      parts::ceil_div(parts::ceil_div(counts.items, shape::tile_items), gridDim.x) * shape::tile_items;
  const std::size_t first = blockIdx.x * share_items, end = first + share_items;
  if (end >= counts.items) return;
  const std::size_t begun = call.records.num_before(end, counts.records);
  if (threadIdx.x == 0) call.last_begun[blockIdx.x] = begun;
  if (call.records.begins[begun] == end) return;  // the next share begins a segment
  const std::size_t begin = call.records.begins[begun - 1];
  const std::size_t from = begin > first ? begin : first;
  const long long distance = call.records.are_contiguous() ? call.records.list->first_in : call.records.in[begun - 1];
  const auto d_in = call.d_in + static_cast<std::ptrdiff_t>(distance);

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
  if (threadIdx.x == 0) call.aggregates[blockIdx.x] = shared.carry[turn];
}

// The fold of the aggregates of shares begin to end - 1, begin < end, in the first thread of the block.
template <class Call>
__device__ typename Call::accumulator fold_shares(const Call& call, typename Call::accumulator* of_warps,
                                                  std::size_t begin, std::size_t end) {
  using T = typename Call::accumulator;
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const std::size_t of_warp = parts::ceil_div(end - begin, Call::shape::num_warps);
  const std::size_t own = begin + warp * of_warp, own_end = parts::at_most(end, own + of_warp);
  T value;
  for (std::size_t first = own; first < own_end; first += parts::warp_threads) {
    const int count = static_cast<int>(parts::at_most(own_end - first, parts::warp_threads));
    const T of_window = fold_lanes(call.aggregates[first + (lane < count ? lane : 0)], 0, count, call.op);
    value = first == own ? of_window : static_cast<T>(call.op(value, of_window));
  }
  if (lane == 0 && own < own_end) of_warps[warp] = value;
  __syncthreads();
  if (threadIdx.x > 0) return value;
  value = of_warps[0];
  for (std::size_t i = 1; begin + i * of_warp < end; ++i) value = call.op(value, of_warps[i]);
  return value;
}

template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    scan_segments_kernel(const __grid_constant__ Call call) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  using value = typename Call::value;
  constexpr int neighbours = shape::neighbours, warp_words = shape::warp_items / 32;
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  const int warp = tiles.warp, lane = tiles.lane;
  const segment_records& records = call.records;
  for (int i = threadIdx.x; i < Call::flag_words; i += shape::block_threads) shared.heads[0][i] = 0;
  parts::wait_until_cleared();
  const segment_counts counts = records.list->counts;
  const std::size_t share_items =
      parts::ceil_div(parts::ceil_div(counts.items, shape::tile_items), gridDim.x) * shape::tile_items;
  const std::size_t share = blockIdx.x * share_items, last = counts.items - 1;
  if (share >= counts.items) return;
  const std::size_t share_end = parts::at_most(counts.items, share + share_items);
  const bool are_contiguous = records.are_contiguous();
  std::size_t begun = blockIdx.x > 0 ? call.last_begun[blockIdx.x - 1] : 0;  // records, before the tile
  if (records.begins[begun] != share) {
    const T carry = fold_shares(call, shared.of_warp, records.begins[begun - 1] / share_items, blockIdx.x);
    if (threadIdx.x == 0) shared.carry[0] = carry;
  }
  __syncthreads();

  int turn = 0;
  for (std::size_t tile = share; tile < share_end; tile += shape::tile_items, turn ^= 1) {
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
    unsigned num_heads = 0,
             heads = 0;  // of the tile, and in the upper half of what precedes the warp; the lane's flags
#pragma unroll
    for (int i = lane; i < Call::flag_words; i += parts::warp_threads) {
      const auto in_word = static_cast<unsigned>(__popc(shared.heads[turn][i]));
      num_heads += i < warp * warp_words ? in_word << 16 | in_word : in_word;
    }
    num_heads = parts::warp_aggregate(num_heads, plus{});
    const unsigned heads_before = num_heads >> 16;
    num_heads &= 0xffff;
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      const int at = shape::position(warp, row);
      heads |= (shared.heads[turn][at / 32] >> at % 32 & ((1u << neighbours) - 1)) << (row * neighbours);
    }
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

    // What precedes the warp joins the items of its first segment.
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
        if (lane == 0) ahead = row_before;
        row_before = parts::shuffle_from(through, parts::warp_threads - 1);
#pragma unroll
        for (int k = 0; k < neighbours; ++k) {
          values[k] = call.init;
          if (((heads | ~present) & shape::bit(row, k)) == 0)
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
        write_neighbours<shape>(values, d_out, tile, position, left,
                                is_aligned_here<neighbours>(d_out + static_cast<std::ptrdiff_t>(tile)));
      }
    }
    begun += num_heads;
  }
}

// Scans the segments. Of `call`, records and aggregates are found here.
//
// Storage: 16 bytes a segment, 24 where outputs lie apart, 48 for each 1024 segments, and for each share an accumulator
// and 8 bytes.
template <class Call, class Segments>
cudaError_t scan_segments(void* d_temp_storage, std::size_t& temp_storage_bytes, Call call, const Segments& segments,
                          std::size_t num_segments, cudaStream_t stream) {
  using mailboxes = parts::mailboxes<segment_counts>;
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
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
  const std::size_t bytes = place(region);
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  if (num_segments == 0) return cudaSuccess;
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
