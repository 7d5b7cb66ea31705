// Segments that a block scans as wholes: short ones by warps or by teams of warps, side by side, others one after the
// other by all of it, tile by tile.
#pragma once

#include <cstddef>

#include "rungs/production/segments/segment_shares.cuh"

namespace rungs::RUNGS_ABI::production {

// The lane's items of the part of a segment that begins at `first`; in place of items behind its `left` items others of
// the part. All reads are on their way at once.
template <class Shape, class Held, class InputIteratorT>
__device__ lane_rows<Shape, Held> read_part(InputIteratorT d_in, int first, int left, int warp, bool by_vectors) {
  constexpr int count = Shape::neighbours;
  if constexpr (reads_vectors<InputIteratorT, Held, count>) {
    if (by_vectors && left % count == 0) {
      lane_rows<Shape, Held> items;
#pragma unroll
      for (int row = 0; row < Shape::num_rows; ++row) {
        const int position = Shape::position(warp, row), at = position < left ? position : left - count;
        items.rows[row] = neighbours_of<Held, count>(
            *reinterpret_cast<const access<sizeof(Held) * count>*>(d_in + static_cast<std::ptrdiff_t>(first + at)));
      }
      return items;
    }
  }
  lane_rows<Shape, Held> items;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    Held read[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const int at = Shape::position(warp, row) + k;
      read[k] = static_cast<Held>(d_in[static_cast<std::ptrdiff_t>(first + (at < left ? at : left - 1))]);
    }
    items.rows[row] = neighbours_of<Held, count>(read);
  }
  return items;
}

// Items of a warp that belong to one segment.
template <class Shape, class T>
struct warp_part {
  T values[Shape::num_rows][Shape::neighbours];  // scanned from the lane's first one of the row on
  T before[Shape::num_rows];                     // of the warp's items before that one, if there are some
  T of_warp;

  template <class Op>
  __device__ void scan(Op op) {
    const int lane = threadIdx.x % parts::warp_threads;
    T through[Shape::num_rows];
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) {
#pragma unroll
      for (int k = 1; k < Shape::neighbours; ++k) values[row][k] = op(values[row][k - 1], values[row][k]);
      through[row] = values[row][Shape::neighbours - 1];
    }
#pragma unroll
    for (int offset = 1; offset < parts::warp_threads; offset *= 2) {
      T left[Shape::num_rows];
#pragma unroll
      for (int row = 0; row < Shape::num_rows; ++row) left[row] = parts::shuffle_up(through[row], offset);
#pragma unroll
      for (int row = 0; row < Shape::num_rows; ++row)
        if (lane >= offset) through[row] = op(left[row], through[row]);
    }
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) {
      before[row] = parts::shuffle_up(through[row], 1);
      const T of_row = parts::shuffle_from(through[row], parts::warp_threads - 1);
      if (row > 0) before[row] = lane == 0 ? of_warp : static_cast<T>(op(of_warp, before[row]));
      of_warp = row > 0 ? static_cast<T>(op(of_warp, of_row)) : of_row;
    }
  }
};

// Reads the warp's items of a part, which begins at `first` and has `left` items.
template <class Held, class Shape, class T, class InputIteratorT>
__device__ void read_items_of_part(warp_part<Shape, T>& part, InputIteratorT d_in, int first, int left, int warp,
                                   bool by_vectors) {
  const auto items = read_part<Shape, Held>(d_in, first, left, warp, by_vectors);
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k) part.values[row][k] = accumulated<T>(items(row, k));
}

// Writes the warp's outputs of a part. `before` is what precedes its items in the segment, where that continues here.
template <class Shape, class Call, class T, class OutputIteratorT>
__device__ void write_scans_of_part(const warp_part<Shape, T>& part, const Call& call, const T& before,
                                    bool continues_here, OutputIteratorT d_out, int first, int left, int warp,
                                    bool by_vectors) {
  constexpr int neighbours = Shape::neighbours;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    T ahead = part.before[row];
    const bool continues_row = row > 0 || threadIdx.x % parts::warp_threads > 0;
    const bool continues = continues_here || continues_row;
    if (continues_here) ahead = continues_row ? static_cast<T>(call.op(before, ahead)) : before;
    T values[neighbours];
#pragma unroll
    for (int k = 0; k < neighbours; ++k)
      values[k] = continues ? static_cast<T>(call.op(ahead, part.values[row][k])) : part.values[row][k];
    if constexpr (Call::result == of_segments::exclusive_scans) {
#pragma unroll
      for (int k = neighbours - 1; k > 0; --k) values[k] = call.op(call.init, values[k - 1]);
      values[0] = continues ? static_cast<T>(call.op(call.init, ahead)) : call.init;
    } else if constexpr (Call::result == of_segments::inclusive_scans_from_init) {
#pragma unroll
      for (int k = 0; k < neighbours; ++k) values[k] = call.op(call.init, values[k]);
    }
    write_neighbours<Shape, true>(values, d_out, first, Shape::position(warp, row), left, by_vectors);
  }
}

// Scans one segment, part by part: by a warp, or by the block, all threads of which call it, with Shape the call's.
template <class Shape, class Call, class Place>
__device__ void scan_segment(const share_tiles<Call>& tiles, const Place& place) {
  using T = typename Call::accumulator;
  constexpr int neighbours = Shape::neighbours, step = Shape::tile_items;
  constexpr bool by_block = Shape::num_warps > 1;
  const Call& call = tiles.call;
  const int warp = by_block ? tiles.warp : 0;
  const auto d_in = call.d_in + static_cast<std::ptrdiff_t>(place.in);
  const auto d_out = call.d_out + static_cast<std::ptrdiff_t>(place.out);
  const bool reads_by_vectors = is_aligned_here<neighbours>(d_in), by_vectors = is_aligned_here<neighbours>(d_out);
  const auto size = static_cast<long long>(place.size);
  T before;  // of the segment's items before the warp's, if there are some
  int turn = 0;
  for (long long at = 0; at < size; at += step, turn ^= 1) {
    const int left = size - at < step ? static_cast<int>(size - at) : step;
    const bool continues = at > 0;
    warp_part<Shape, T> part;
    read_items_of_part<typename Call::value>(part, d_in + static_cast<std::ptrdiff_t>(at), 0, left, warp,
                                             reads_by_vectors);
    if constexpr (by_block) __syncthreads();  // all have read what the scan before has left in shared memory
    part.scan(call.op);
    if constexpr (by_block) {
      auto& shared = tiles.shared;
      if (tiles.lane == 0) shared.of_warp[warp] = part.of_warp;
      __syncthreads();
      if (continues) before = shared.carry[turn];
#pragma unroll 1
      for (int i = 0; i < warp; ++i)
        before = !continues && i == 0 ? shared.of_warp[0] : static_cast<T>(call.op(before, shared.of_warp[i]));
      if (warp == Shape::num_warps - 1 && tiles.lane == 0) shared.carry[turn ^ 1] = call.op(before, part.of_warp);
    }
    write_scans_of_part(part, call, before, continues || warp > 0, d_out + static_cast<std::ptrdiff_t>(at), 0, left,
                        warp, by_vectors);
    if constexpr (!by_block) before = continues ? static_cast<T>(call.op(before, part.of_warp)) : part.of_warp;
  }
}

// Scans one segment of at most warp_items by a team: a row of the call's shape for each of its warps, so operators come
// in the order in which one warp has them. All threads of the block call it, each with its team's segment.
template <class Call, class Place>
__device__ void scan_segment_by_team(const share_tiles<Call>& tiles, const Place& place) {
  using T = typename Call::accumulator;
  constexpr int team_warps = Call::shape::num_rows, neighbours = Call::shape::neighbours;
  using shape = rows_of_warps<neighbours, 1, team_warps>;
  const Call& call = tiles.call;
  T* const of_warps = tiles.shared.of_warp;
  const int warp = tiles.warp % team_warps, first_warp = tiles.warp - warp, size = static_cast<int>(place.size);
  const bool takes = warp * shape::row_items < size;
  warp_part<shape, T> part;
  if (takes) {
    const auto d_in = call.d_in + static_cast<std::ptrdiff_t>(place.in);
    read_items_of_part<typename Call::value>(part, d_in, 0, size, warp, is_aligned_here<neighbours>(d_in));
    part.scan(call.op);
    if (tiles.lane == 0) of_warps[tiles.warp] = part.of_warp;
  }
  __syncthreads();
  if (!takes) return;
  T before;
#pragma unroll
  for (int i = 0; i < team_warps - 1; ++i) {
    if (i >= warp) break;
    before = i == 0 ? of_warps[first_warp] : static_cast<T>(call.op(before, of_warps[first_warp + i]));
  }
  const auto d_out = call.d_out + static_cast<std::ptrdiff_t>(place.out);
  write_scans_of_part(part, call, before, warp > 0, d_out, 0, size, warp, is_aligned_here<neighbours>(d_out));
}

// By a warp: with as few rows as suffice.
template <class Call, class Place>
__device__ void scan_segment_by_warp(const share_tiles<Call>& tiles, const Place& place) {
  constexpr int neighbours = Call::shape::neighbours, num_rows = Call::shape::num_rows;
  if constexpr (num_rows > 1) {
    if (place.size <= Call::shape::row_items) return scan_segment<rows_of_warps<neighbours, 1, 1>>(tiles, place);
  }
  if constexpr (num_rows > 2) {
    if (place.size <= 2 * Call::shape::row_items) return scan_segment<rows_of_warps<neighbours, 2, 1>>(tiles, place);
  }
  scan_segment<rows_of_warps<neighbours, num_rows, 1>>(tiles, place);
}

// The place that a lane of the warp has.
template <class Segments>
__device__ typename Segments::place place_in(const typename Segments::place& of_lane, int lane) {
  typename Segments::place place{parts::shuffle_from(of_lane.in, lane), 0, parts::shuffle_from(of_lane.size, lane)};
  place.out = place.in;
  if constexpr (Segments::outputs_apart) place.out = parts::shuffle_from(of_lane.out, lane);
  return place;
}

// Whether a block has a team of warps for each of so many segments. A team has a warp for each row of a warp's items.
template <class Call>
__device__ bool are_by_teams(unsigned num_segments) {
  constexpr unsigned team_warps = Call::shape::num_rows;
  return team_warps > 1 && num_segments <= Call::shape::num_warps / team_warps;
}

// Of the segments whose places the first lanes of each warp have, scans those of at most warp_items by teams.
template <class Segments, class Call>
__device__ void scan_by_teams(const share_tiles<Call>& tiles, const typename Segments::place& of_lane) {
  auto of_team = place_in<Segments>(of_lane, tiles.warp / Call::shape::num_rows);
  if (of_team.size > Call::shape::warp_items) of_team.size = 0;
  scan_segment_by_team(tiles, of_team);
}

// Scans the segments whose places the first lanes of each warp have, a lane for each warp at most; but for those that
// teams have scanned. Warps scan what takes them no more rounds, side by side, than it takes the block, one segment
// after the other.
template <class Segments, class Call>
__device__ void scan_by_warps_or_block(const share_tiles<Call>& tiles, const typename Segments::place& of_lane,
                                       bool by_teams) {
  using shape = typename Call::shape;
  unsigned rounds = 1;
  if (__any_sync(parts::full_mask, of_lane.size > shape::warp_items)) {
    const unsigned long long own = of_lane.size > shape::warp_items ? (of_lane.size - 1) / shape::tile_items + 1 : 0;
    rounds = parts::warp_aggregate(static_cast<unsigned>(own), plus{});
  }
  const unsigned long long most_of_warp = std::size_t{rounds} * shape::warp_items;
  const auto own = place_in<Segments>(of_lane, tiles.warp);
  if (own.size <= most_of_warp && (!by_teams || own.size > shape::warp_items)) scan_segment_by_warp(tiles, own);
  for (unsigned left = __ballot_sync(parts::full_mask, of_lane.size > most_of_warp); left != 0; left &= left - 1)
    scan_segment<shape>(tiles, place_in<Segments>(of_lane, __ffs(left) - 1));
}

}  // namespace rungs::RUNGS_ABI::production
