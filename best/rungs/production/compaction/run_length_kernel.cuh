// Lengths of runs of equal items: one pass over tiles.
//
// A run is *closed* where the next one begins, or by the end of the input. Whoever finds that knows how many runs were
// closed before, and where this one began: both are added up by one look-back, as a count and the position of the last
// run's first item. So lengths are differences of positions; nothing is summed within a run.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/tiles.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// Runs closed, and where the last one began; both 0 before any.
struct closed_runs {
  unsigned long long count, last_begin;
};
struct add_closed_runs {
  template <class T>
  static __host__ __device__ constexpr T identity() {
    return {0, 0};
  }
  __host__ __device__ closed_runs operator()(const closed_runs& a, const closed_runs& b) const {
    return {a.count + b.count, a.last_begin < b.last_begin ? b.last_begin : a.last_begin};
  }
};

// What is written of a run: its first item or its position, and its length.
template <bool only_longer_, class InputIteratorT, class FirstOutputIteratorT, class LengthsOutputIteratorT,
          class NumRunsOutputIteratorT, class EqualityOpT>
struct run_lengths {
  static constexpr bool only_longer = only_longer_;  // only runs of two items at least, with their positions
  using item = held_of<parts::item_of<InputIteratorT>>;
  // As large as shared memory allows, for a tile costs two look-backs; by two vectors of neighbours (H200).
  using shape =
      std::conditional_t<sizeof(item) == 4, rows_of_warps<8, 4, only_longer ? 8 : 7>,
                         std::conditional_t<sizeof(item) == 8, rows_of_warps<4, 5, 7>, tile_shape<sizeof(item), 8, 8>>>;
  static constexpr int least_blocks = sizeof(item) <= 8 ? 4 : 1;  // resident on a multiprocessor
  // Whether the items that close runs, the first ones of the next runs, lie side by side in shared memory; else first
  // items are read again.
  static constexpr bool stages_firsts = !only_longer && sizeof(item) <= 8;

  InputIteratorT d_in;
  FirstOutputIteratorT d_first_out;
  LengthsOutputIteratorT d_lengths_out;
  NumRunsOutputIteratorT d_num_runs_out;
  std::size_t num_items;
  EqualityOpT equality_op;
  bool by_vectors;

  __device__ void write(std::size_t run, std::size_t begin, std::size_t end) const {
    const auto to = d_first_out + static_cast<std::ptrdiff_t>(run);
    if constexpr (only_longer)
      *to = static_cast<long long>(begin);
    else
      *to = d_in[static_cast<std::ptrdiff_t>(begin)];
    write_length(run, begin, end);
  }
  __device__ void write_length(std::size_t run, std::size_t begin, std::size_t end) const {
    *(d_lengths_out + static_cast<std::ptrdiff_t>(run)) = static_cast<long long>(end - begin);
  }
};

// The position of the last flagged item of those before item k of a lane's row; -1: none of the row.
template <class Shape>
__device__ int last_in_row(unsigned flags, int warp, int row, int k) {
  const unsigned earlier = (flags & row_counts<Shape>::of_row(row)) >> (row * Shape::neighbours) & ((1u << k) - 1);
  return earlier == 0 ? -1 : Shape::position(warp, row) + 31 - __clz(earlier);
}

template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    run_length_kernel(Call call, parts::mailboxes<closed_runs> mailboxes, parts::tag tag) {
  using shape = typename Call::shape;
  constexpr int neighbours = shape::neighbours;
  // Places in the tile where runs begin that are closed here, and where they end.
  __shared__ unsigned short begins[Call::stages_firsts ? 1 : shape::tile_items], ends[shape::tile_items];
  __shared__ alignas(
      16) unsigned char firsts[Call::stages_firsts ? sizeof(typename Call::item) * shape::tile_items + 16 : 16];
  __shared__ warp_counts<shape::num_warps> closed;
  __shared__ int last_begins[shape::num_warps];  // in the tile; -1: none
  __shared__ bool first_began_before;            // whether the first run that is closed here began before the tile
  __shared__ closed_runs before_tile;
  if (call.num_items == 0) {
    if (threadIdx.x == 0) *call.d_num_runs_out = 0;
    return;
  }
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const unsigned tile = blockIdx.x;
  const bool is_last_tile = tile == gridDim.x - 1;
  const std::size_t first = std::size_t{tile} * shape::tile_items;
  const int left = static_cast<int>(parts::at_most(call.num_items - first, shape::tile_items));

  // Where runs begin.
  using item = typename Call::item;
  const auto items = read_tile<shape, item>(call.d_in, first, call.num_items - 1, warp, call.by_vectors);
  const unsigned present = flags_present<shape>(warp, left);
  const std::size_t last = call.num_items - 1;
  const auto before_warp = read_before_warp<shape, item>(call.d_in, first, last, warp);
  item before_that = before_warp;
  if (Call::only_longer && first + warp > 0)
    before_that = read_before_warp<shape, item>(call.d_in, first - 1, last, warp);
  const unsigned heads = flags_of_heads<shape>(items, before_warp, tile == 0, warp, present, call.equality_op);

  // Which of them close a run that counts: none of one item where only longer ones do.
  unsigned closing = heads;
  if (tile == 0 && threadIdx.x == 0) closing &= ~1u;
  if constexpr (Call::only_longer) {
    auto equality_op = call.equality_op;
    // Whether the item before a lane's first one begins a run.
    bool begins_before = !equality_op(value_of(before_that), value_of(before_warp));
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      const int last_begins_run = (heads & shape::bit(row, neighbours - 1)) != 0;
      const int of_lane_before = __shfl_up_sync(parts::full_mask, last_begins_run, 1);
      if (lane > 0) begins_before = of_lane_before != 0;
      if (begins_before) closing &= ~shape::bit(row, 0);
#pragma unroll
      for (int k = 1; k < neighbours; ++k)
        if ((heads & shape::bit(row, k - 1)) != 0) closing &= ~shape::bit(row, k);
      begins_before = __shfl_sync(parts::full_mask, last_begins_run, parts::warp_threads - 1) != 0;
    }
  }

  // The last run that began before each row's items of the lane, as far as the warp knows.
  int last_begin_before[shape::num_rows], last_begin = -1;
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) {
    const int of_lane = last_in_row<shape>(heads, warp, row, neighbours);
    const unsigned beginning = __ballot_sync(parts::full_mask, of_lane >= 0);
    const unsigned before_lane = beginning & ((1u << lane) - 1);
    const int of_lanes = __shfl_sync(parts::full_mask, of_lane, before_lane == 0 ? lane : 31 - __clz(before_lane));
    last_begin_before[row] = before_lane == 0 ? last_begin : of_lanes;
    const int of_row = __shfl_sync(parts::full_mask, of_lane, beginning == 0 ? 0 : 31 - __clz(beginning));
    if (beginning != 0) last_begin = of_row;
  }
  const row_counts<shape> counts(closing);
  if (lane == 0) {
    closed.of_warp[warp] = counts.of_warp();
    last_begins[warp] = last_begin;
  }
  __syncthreads();
  const int closed_here = closed.before(shape::num_warps);
  int last_begin_of_tile = -1, last_begin_of_warps = -1;
#pragma unroll
  for (int i = 0; i < shape::num_warps; ++i) {
    if (last_begins[i] < 0) continue;
    last_begin_of_tile = last_begins[i];
    if (i < warp) last_begin_of_warps = last_begins[i];
  }

  // Tell the tiles behind.
  const closed_runs of_tile{
      static_cast<unsigned long long>(closed_here),
      last_begin_of_tile < 0 ? 0ull : static_cast<unsigned long long>(first) + last_begin_of_tile};
  if (warp == 0) {
    parts::wait_until_cleared();
    if (lane == 0 && !is_last_tile)
      mailboxes.post(tile, of_tile, tag, tile > 0 ? parts::posted::aggregate : parts::posted::prefix);
  }

  // The runs that are closed here, side by side.
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row) {
    int rank = closed.before(warp) + counts.before(row);
#pragma unroll
    for (int k = 0; k < neighbours; ++k) {
      if ((closing & shape::bit(row, k)) == 0) continue;
      int begin = last_in_row<shape>(heads, warp, row, k);
      if (begin < 0) begin = last_begin_before[row];
      if (begin < 0) begin = last_begin_of_warps;
      if (rank == 0) first_began_before = begin < 0;
      if constexpr (Call::stages_firsts)
        reinterpret_cast<item*>(firsts)[rank] = items(row, k);
      else
        begins[rank] = static_cast<unsigned short>(begin);
      ends[rank] = static_cast<unsigned short>(shape::position(warp, row) + k);
      ++rank;
    }
  }

  // Hear of the tiles before.
  if (warp == 0) {
    closed_runs before{0, 0};
    if (tile > 0) before = scans::prefix_before(mailboxes, tile, tag, add_closed_runs{});
    if (lane == 0) {
      before_tile = before;
      if (tile > 0 && !is_last_tile)
        mailboxes.post(tile, add_closed_runs{}(before, of_tile), tag, parts::posted::prefix);
    }
  }
  __syncthreads();
  const closed_runs before = before_tile;
  if constexpr (Call::stages_firsts) {
    store_staged<shape::block_threads>(reinterpret_cast<const item*>(firsts),
                                       call.d_first_out + static_cast<std::ptrdiff_t>(before.count + 1), closed_here);
    if (tile == 0 && threadIdx.x == 0) *call.d_first_out = value_of(items(0, 0));
  }
  for (int i = threadIdx.x; i < closed_here; i += shape::block_threads) {
    if constexpr (Call::stages_firsts) {
      // Each run begins where the one before ends.
      const std::size_t begin = i == 0 ? before.last_begin : first + ends[i > 0 ? i - 1 : 0];
      call.write_length(before.count + i, begin, first + ends[i]);
    } else {
      const bool began_before = i == 0 && first_began_before;
      call.write(before.count + i, began_before ? before.last_begin : first + begins[i], first + ends[i]);
    }
  }
  // The last run of all is closed by the end.
  if (is_last_tile && threadIdx.x == 0) {
    const std::size_t begin = last_begin_of_tile < 0 ? before.last_begin : first + last_begin_of_tile;
    const std::size_t run = before.count + closed_here;
    const bool counts_too = !Call::only_longer || call.num_items - begin > 1;
    if (Call::stages_firsts)
      call.write_length(run, begin, call.num_items);
    else if (counts_too)
      call.write(run, begin, call.num_items);
    *call.d_num_runs_out = static_cast<long long>(run + counts_too);
  }
}

// Storage: a mailbox of 32 bytes for each tile.
template <class Call>
cudaError_t encode_runs(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call, cudaStream_t stream) {
  using mailboxes = parts::mailboxes<closed_runs>;
  using shape = typename Call::shape;
  const std::size_t num_tiles = parts::ceil_div(call.num_items, shape::tile_items);
  const std::size_t bytes = mailboxes::bytes(num_tiles);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  parts::opened_storage storage;
  if (num_tiles > 0) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(run_length_kernel<Call>, num_tiles > 0 ? num_tiles : 1, shape::block_threads, 0,
                                  storage.clears, stream, call, mailboxes(region), storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
