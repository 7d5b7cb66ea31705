// Lengths of runs of equal items: one pass over tiles.
//
// Some items are *marked*. Of all runs, those where a run begins: a mark ends the run of the mark before. Of runs of
// two items at least, those that begin or end such a run, one after the other: an item is marked where it equals the
// one before and that one did not equal its own, or the other way round. So lengths are differences of the places of
// neighbouring marks; nothing is summed within a run. What precedes a tile is the number of marks, and the place of
// the last one. One look-back adds up both.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/tiles.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// How many items are marked, and the place of the last one; both 0 where there is none.
struct marked_items {
  unsigned long long count, last;
};
struct add_marked_items {
  template <class T>
  static __host__ __device__ constexpr T identity() {
    return {0, 0};
  }
  __host__ __device__ marked_items operator()(const marked_items& a, const marked_items& b) const {
    return {a.count + b.count, a.last < b.last ? b.last : a.last};
  }
};

}  // namespace rungs::RUNGS_ABI::production

namespace rungs::RUNGS_ABI::parts {
template <>
inline constexpr bool is_commutative<production::add_marked_items> = true;
}  // namespace rungs::RUNGS_ABI::parts

namespace rungs::RUNGS_ABI::production {

// What is written of a run: its first item or its position, and its length. `is_few`: of few items tiles are smaller,
// so that they keep more multiprocessors busy.
template <bool only_longer_, class InputIteratorT, class FirstOutputIteratorT, class LengthsOutputIteratorT,
          class NumRunsOutputIteratorT, class EqualityOpT, bool is_few = false>
struct run_lengths {
  static constexpr bool only_longer = only_longer_;  // only runs of two items at least, with their positions
  static constexpr std::size_t least_items = only_longer ? 2 : 1;  // fewer have no run, and are not read
  using item = held_of<parts::item_of<InputIteratorT>>;
  // As large as shared memory allows; by two vectors of neighbours (H200).
  using large_shape =
      std::conditional_t<sizeof(item) == 4, rows_of_warps<8, 4, only_longer ? 8 : 7>,
                         std::conditional_t<sizeof(item) == 8, rows_of_warps<4, 5, 7>, tile_shape<sizeof(item), 8, 8>>>;
  using shape = std::conditional_t<is_few, rows_of_warps<sizeof(item) == 8 ? 4 : 8, 2, 8>, large_shape>;
  static constexpr int least_blocks = sizeof(item) <= 8 ? 4 : 1;  // resident on a multiprocessor
  // Up to so many items tiles are smaller: 64 Ki items take 0.78 to 0.98 times as long, 1 Mi of 8 bytes 1.1 (H200).
  static constexpr std::size_t most_few = sizeof(item) == 4   ? std::size_t{1} << 17
                                          : sizeof(item) == 8 ? std::size_t{1} << 16
                                                              : 0;
  // Whether the items that begin runs lie side by side in shared memory; else they are read again.
  static constexpr bool stages_firsts = !only_longer && sizeof(item) <= 8;

  InputIteratorT d_in;
  FirstOutputIteratorT d_first_out;
  LengthsOutputIteratorT d_lengths_out;
  NumRunsOutputIteratorT d_num_runs_out;
  std::size_t num_items;
  EqualityOpT equality_op;
  bool by_vectors;

  auto of_few() const {
    return run_lengths<only_longer_, InputIteratorT, FirstOutputIteratorT, LengthsOutputIteratorT,
                       NumRunsOutputIteratorT, EqualityOpT, true>{d_in,      d_first_out, d_lengths_out, d_num_runs_out,
                                                                  num_items, equality_op, by_vectors};
  }

  __device__ void write_position(std::size_t run, std::size_t begin) const {
    *(d_first_out + static_cast<std::ptrdiff_t>(run)) = static_cast<long long>(begin);
  }
  __device__ void write_length(std::size_t run, std::size_t begin, std::size_t end) const {
    *(d_lengths_out + static_cast<std::ptrdiff_t>(run)) = static_cast<long long>(end - begin);
  }
};

// What a lane reads of a tile.
template <class Shape, class Item>
struct items_of_runs {
  lane_rows<Shape, Item> of_lane;
  Item before_warp, before_that;  // the warp's first item; of runs of two items at least, two before
};
template <class Shape, class Call>
__device__ auto read_runs(const Call& call, std::size_t first, int warp) {
  using item = typename Call::item;
  const std::size_t last = call.num_items - 1;
  items_of_runs<Shape, item> items;
  items.of_lane = read_tile<Shape, item>(call.d_in, first, last, warp, call.by_vectors);
  items.before_warp = items.before_that = read_before_warp<Shape, item>(call.d_in, first, last, warp);
  if (Call::only_longer && first + warp > 0)
    items.before_that = read_before_warp<Shape, item>(call.d_in, first - 1, last, warp);
  return items;
}

// The flags of the lane's items that are marked.
template <class Shape, class Call, class Item>
__device__ unsigned flags_of_marks(const Call& call, const items_of_runs<Shape, Item>& items, std::size_t first,
                                   int warp, unsigned present) {
  const unsigned heads =
      flags_of_heads<Shape>(items.of_lane, items.before_warp, first == 0, warp, present, call.equality_op);
  if constexpr (!Call::only_longer) {
    return heads;
  } else {
    // Those whose item before begins a run: the lane before knows of its last item of the row, the last lane of that
    // of the row before.
    constexpr int neighbours = Shape::neighbours;
    unsigned ends_of_rows = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) ends_of_rows |= Shape::bit(row, neighbours - 1);
    const unsigned of_lane_before = parts::shuffle_up(heads, 1) & ends_of_rows;
    const unsigned of_last_lane = parts::shuffle_from(heads, parts::warp_threads - 1) & ends_of_rows;
    auto equality_op = call.equality_op;
    const bool begins_before =
        first + warp == 0 || !equality_op(value_of(items.before_that), value_of(items.before_warp));
    unsigned after_heads = (heads & ~ends_of_rows) << 1;
    if (threadIdx.x % parts::warp_threads > 0)
      after_heads |= of_lane_before >> (neighbours - 1);
    else
      after_heads |= of_last_lane << 1 | static_cast<unsigned>(begins_before);
    return (heads ^ after_heads) & present;
  }
}

// The place in the tile of the warp's last marked item, -1: there is none; in every lane.
template <class Shape>
__device__ int last_marked(unsigned marks, int warp) {
  int of_lane = -1;
  if (marks != 0) {
    const int last = 31 - __clz(marks);
    of_lane = Shape::position(warp, last / Shape::neighbours) + last % Shape::neighbours;
  }
  return parts::warp_aggregate(of_lane, maximum{});
}

// Of the warps of a tile.
template <int num_warps>
struct marks_of_warps {
  warp_counts<num_warps> counts;
  int last[num_warps];

  // By the lanes of a warp, all of which call it.
  __device__ marked_items of_tile(std::size_t first) const {
    const int lane = static_cast<int>(threadIdx.x) % parts::warp_threads;
    const int count = counts.before_by_lanes(num_warps);
    const int last_place = parts::warp_aggregate(lane < num_warps ? last[lane] : -1, maximum{});
    return {static_cast<unsigned long long>(count), last_place < 0 ? 0ull : first + last_place};
  }
};

// The places of the marked items, and where they are staged the items, side by side; `before` of them are of the warps
// before.
template <class Call, class Shape, class Item, class Counts>
__device__ void stage_marked(unsigned short* places, Item* firsts, const lane_rows<Shape, Item>& items, unsigned marks,
                             const Counts& counts, int warp, int before) {
  if (marks == 0) return;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    if ((marks & Counts::of_row(row)) == 0) continue;
    const int rank = before + counts.before(row);
    slots_in_shared<unsigned short> place_slots(places + rank);
    slots_in_shared<Item> first_slots(firsts + (Call::stages_firsts ? rank : 0));
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k) {
      const unsigned flag = marks & Shape::bit(row, k);
      place_slots.put_if(flag, static_cast<unsigned short>(Shape::position(warp, row) + k));
      if constexpr (Call::stages_firsts) first_slots.put_if(flag, items(row, k));
    }
  }
}

// Writes what a tile's staged marks tell: of all runs the first items and the lengths of the runs before, else the
// runs that end here.
template <int block_threads, class Call, class Item>
__device__ void write_marked(const Call& call, const unsigned short* places, const Item* firsts, int count,
                             const marked_items& before, std::size_t first) {
  if constexpr (!Call::only_longer) {
    const auto d_first = call.d_first_out + static_cast<std::ptrdiff_t>(before.count);
    if constexpr (Call::stages_firsts) store_staged<block_threads>(firsts, d_first, count);
    for (int i = threadIdx.x; i < count; i += block_threads) {
      const std::size_t place = first + places[i];
      if constexpr (!Call::stages_firsts)
        *(d_first + static_cast<std::ptrdiff_t>(i)) = call.d_in[static_cast<std::ptrdiff_t>(place)];
      const std::size_t begin = i == 0 ? before.last : first + places[i > 0 ? i - 1 : 0];
      if (place > 0) call.write_length(before.count + i - 1, begin, place);
    }
  } else {
    const int first_end = before.count % 2 == 0 ? 1 : 0;
    for (int i = first_end + 2 * static_cast<int>(threadIdx.x); i < count; i += 2 * block_threads) {
      const std::size_t begin = (i == 0 ? before.last : first + places[i > 0 ? i - 1 : 0]) - 1;
      const std::size_t run = (before.count + i) / 2;
      call.write_position(run, begin);
      call.write_length(run, begin, first + places[i]);
    }
  }
}
// One thread: the last run of all is ended by the end of the items.
template <class Call>
__device__ void write_last_run(const Call& call, const marked_items& all) {
  if constexpr (!Call::only_longer) {
    call.write_length(all.count - 1, all.last, call.num_items);
    *call.d_num_runs_out = static_cast<long long>(all.count);
  } else {
    const std::size_t run = all.count / 2;
    if (all.count % 2 != 0) {
      call.write_position(run, all.last - 1);
      call.write_length(run, all.last - 1, call.num_items);
    }
    *call.d_num_runs_out = static_cast<long long>(run + all.count % 2);
  }
}

// The sources of the first items are read again from d_in, so they are not staged where they are wide.
template <class Call, class Shape>
struct staged_marks {
  using item = typename Call::item;
  alignas(16) unsigned char firsts[Call::stages_firsts ? sizeof(item) * Shape::tile_items + 16 : 16];
  unsigned short places[Shape::tile_items];
};

template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    run_length_kernel(Call call, parts::mailboxes<marked_items> mailboxes, parts::tag tag) {
  using shape = typename Call::shape;
  using item = typename Call::item;
  __shared__ staged_marks<Call, shape> staged;
  __shared__ marks_of_warps<shape::num_warps> of_warps;
  __shared__ marked_items before_tile;
  if (call.num_items < Call::least_items) {
    if (threadIdx.x == 0) *call.d_num_runs_out = 0;
    return;
  }
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const unsigned tile = blockIdx.x;
  const bool is_last_tile = tile == gridDim.x - 1;
  const std::size_t first = std::size_t{tile} * shape::tile_items;
  const int left = static_cast<int>(parts::at_most(call.num_items - first, shape::tile_items));
  item* const firsts = reinterpret_cast<item*>(staged.firsts);

  const auto items = read_runs<shape>(call, first, warp);
  const unsigned marks = flags_of_marks<shape>(call, items, first, warp, flags_present<shape>(warp, left));
  const row_counts<shape, true> counts(marks);
  const int last = last_marked<shape>(marks, warp);
  if (lane == 0) {
    of_warps.counts.of_warp[warp] = counts.of_warp();
    of_warps.last[warp] = last;
  }
  __syncthreads();

  // Tell the tiles behind, and meanwhile put the marks side by side.
  marked_items of_tile;
  if (warp == 0) {
    of_tile = of_warps.of_tile(first);
    parts::wait_until_cleared();
    if (lane == 0 && !is_last_tile)
      mailboxes.post(tile, of_tile, tag, tile > 0 ? parts::posted::aggregate : parts::posted::prefix);
  }
  stage_marked<Call>(staged.places, firsts, items.of_lane, marks, counts, warp, of_warps.counts.before_by_lanes(warp));

  // Hear of the tiles before.
  if (warp == 0) {
    marked_items before{0, 0};
    if (tile > 0) before = scans::prefix_before(mailboxes, tile, tag, add_marked_items{});
    if (lane == 0) {
      before_tile = before;
      const marked_items through = add_marked_items{}(before, of_tile);
      if (is_last_tile)
        write_last_run(call, through);
      else if (tile > 0)
        mailboxes.post(tile, through, tag, parts::posted::prefix);
    }
  }
  __syncthreads();
  write_marked<shape::block_threads>(call, staged.places, firsts, of_warps.counts.before_by_lanes(shape::num_warps),
                                     before_tile, first);
}

template <class Call>
cudaError_t launch_run_lengths(const Call& call, char* region, std::size_t num_tiles,
                               const parts::opened_storage& storage, cudaStream_t stream) {
  return parts::launch_overlapped(run_length_kernel<Call>, num_tiles > 0 ? num_tiles : 1, Call::shape::block_threads, 0,
                                  storage.clears, stream, call, parts::mailboxes<marked_items>(region),
                                  storage.of_call);
}

// Storage: a mailbox of 32 bytes for each tile. It never is less for more items.
template <class Call>
cudaError_t encode_runs(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call, cudaStream_t stream) {
  using few = decltype(call.of_few());
  const bool is_few = call.num_items <= Call::most_few;
  const std::size_t few_tiles = parts::ceil_div(is_few ? call.num_items : Call::most_few, few::shape::tile_items);
  const std::size_t large_tiles = parts::ceil_div(call.num_items, Call::shape::tile_items);
  const std::size_t bytes = parts::mailboxes<marked_items>::bytes(few_tiles > large_tiles ? few_tiles : large_tiles);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  parts::opened_storage storage;
  if (call.num_items > 0) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  if constexpr (Call::most_few > 0)
    if (is_few) return launch_run_lengths(call.of_few(), region, few_tiles, storage, stream);
  return launch_run_lengths(call, region, large_tiles, storage, stream);
}

}  // namespace rungs::RUNGS_ABI::production
