// Values aggregated or scanned within runs of equal keys: one pass over tiles.
//
// A block takes the tile of its index. A run that lies in a tile is folded there: neighbours in a lane, lanes by
// shuffles, rows and warps one after the other. What comes from the tiles before is asked for by one warp
// (run_look_back.cuh), and how many runs began there by another one, at the same time. All orders are fixed, so floats
// have the same bits each time.
//
// Aggregates are written by whoever finds the next run's first item, side by side through shared memory.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/run_look_back.cuh"
#include "rungs/production/compaction/tiles.cuh"

namespace rungs::RUNGS_ABI::production {

// Most operations that one value passes through, in a run of num_values: in its tile, in a group of tiles of 256 items
// at least, and one for each group.
constexpr std::size_t by_key_height(std::size_t num_values) { return parts::ceil_div(num_values, 32 * 256) + 48; }

// What becomes of the runs.
enum class of_runs : unsigned char { aggregates, inclusive_scans, exclusive_scans };

template <class UniqueOutputIteratorT, class AggregatesOutputIteratorT, class NumRunsOutputIteratorT>
struct runs_reduced {
  static constexpr auto result = of_runs::aggregates;
  UniqueOutputIteratorT d_unique_out;
  AggregatesOutputIteratorT d_aggregates_out;
  NumRunsOutputIteratorT d_num_runs_out;
};
template <of_runs result_, class ValuesOutputIteratorT, class T>
struct runs_scanned {
  static constexpr auto result = result_;
  ValuesOutputIteratorT d_values_out;
  T init;                // of exclusive scans
  bool overwrites_keys;  // whether d_values_out may be where the keys are
  bool by_vectors;
};

// `is_few`: of few items tiles are small, so that they keep more multiprocessors busy. If it is `unaligned`, what is
// not aligned comes and goes by vectors, too (unaligned_rows.cuh).
template <class KeysInputIteratorT, class ValuesInputIteratorT, class T, class Op, class EqualityOpT, class Output,
          bool is_few = false, bool unaligned_ = false>
struct by_key {
  static constexpr bool unaligned = unaligned_;
  using key = held_of<parts::item_of<KeysInputIteratorT>>;
  using value = held_of<parts::item_of<ValuesInputIteratorT>>;
  using accumulator = T;
  static constexpr of_runs result = Output::result;
  static constexpr bool is_scan = result != of_runs::aggregates;
  static constexpr std::size_t widest_bytes = sizeof(key) > sizeof(T)
                                                  ? (sizeof(key) > sizeof(value) ? sizeof(key) : sizeof(value))
                                                  : (sizeof(T) > sizeof(value) ? sizeof(T) : sizeof(value));
  // Reductions read two vectors of neighbours: the fewer rows, the fewer shuffles. Scans write by one. Tiles are as
  // large as registers and shared memory allow, and of 8-byte keys in rounds smaller (H100, H200).
  static constexpr int neighbours = is_scan ? (sizeof(T) == 8 ? 2 : 4) : (widest_bytes > 4) ? 4 : 8;
  static constexpr int num_rows = is_scan ? (widest_bytes > 4 ? 4 : 6) : sizeof(key) == 8 ? 2 : 3;
  static constexpr std::size_t pair_bytes = sizeof(key) + sizeof(T), most_staged_bytes = 44 * 1024;
  static constexpr bool fits_8_warps = is_scan || pair_bytes * neighbours * num_rows * 256 <= most_staged_bytes;
  using large_shape = std::conditional_t<(widest_bytes > 8), tile_shape<widest_bytes, 4>,
                                         rows_of_warps<neighbours, num_rows, fits_8_warps ? 8 : 7>>;
  using shape = std::conditional_t<is_few, rows_of_warps<neighbours, 8 / neighbours, 4>, large_shape>;
  // Up to so many items tiles are small: large ones of 64 Ki items would keep 11 multiprocessors busy.
  static constexpr std::size_t most_few = widest_bytes > 8              ? 0
                                          : is_scan || sizeof(key) == 8 ? std::size_t{2} << 20
                                                                        : std::size_t{1} << 19;
  // Resident on a multiprocessor. With three, 64 Mi items took 1.05 to 1.18 times as long on an H100.
  static constexpr int least_blocks = is_few ? 8 : widest_bytes <= 8 ? 4 : 1;
  static constexpr bool is_staged = !is_scan && pair_bytes * shape::tile_items <= most_staged_bytes;

  // Whether many are faster in rounds (by_key_rounds.cuh), and from how many on (H100, H200).
  static constexpr bool suits_rounds =
      widest_bytes <= 8 && (is_scan ? sizeof(key) >= 4 : sizeof(key) == 8 || (sizeof(key) == 1 && widest_bytes >= 4));
  static constexpr std::size_t least_in_rounds =
      (std::size_t{!is_scan && sizeof(key) == 8 ? 48 : 128} << 20) / (sizeof(key) + sizeof(value));

  // Whether many that are not aligned are faster so.
  static constexpr bool suits_unaligned =
      is_scan && widest_bytes <= 4 && !is_few && reads_vectors<KeysInputIteratorT, key, neighbours> &&
      reads_vectors<ValuesInputIteratorT, value, neighbours> && is_shiftable<key, neighbours>;

  struct memory {
    alignas(16) unsigned char keys[is_staged ? sizeof(key) * shape::tile_items + 16 : 16];
    alignas(16) unsigned char aggregates[is_staged ? sizeof(T) * shape::tile_items : 16];
    T of_warp[shape::num_warps];
    T before, leading, last;  // what precedes the tile, what the tile adds to that run, the aggregate of its last item
    warp_counts<shape::num_warps> counts;
    unsigned begins[shape::num_warps];  // whether a run begins in the warp's items
    bool has_leading, last_continues;
    unsigned long long runs_before;
  };

  KeysInputIteratorT d_keys_in;
  ValuesInputIteratorT d_values_in;
  std::size_t num_items;
  Op op;
  EqualityOpT equality_op;
  Output output;
  bool keys_by_vectors, values_by_vectors;

  auto of_few() const { return as<true, false>(); }
  auto as_unaligned() const { return as<false, true>(); }
  bool is_aligned() const { return keys_by_vectors && values_by_vectors && output.by_vectors; }

  template <bool few, bool unaligned_ones>
  auto as() const {
    return by_key<KeysInputIteratorT, ValuesInputIteratorT, T, Op, EqualityOpT, Output, few, unaligned_ones>{
        d_keys_in, d_values_in, num_items, op, equality_op, output, keys_by_vectors, values_by_vectors};
  }
};

// A value as it is accumulated.
template <class T, class Held>
__device__ T accumulated(const Held& value) {
  if constexpr (std::is_same_v<T, Held>)
    return value;
  else
    return static_cast<T>(value_of(value));
}

// Writes one item, held or as it is.
template <class OutputIteratorT, class Held>
__device__ void write(OutputIteratorT to, const Held& item) {
  if constexpr (std::is_same_v<OutputIteratorT, Held*>)
    *to = item;
  else
    *to = value_of(item);
}

// What the items of a warp know of their runs, as far as these lie in the warp. First the neighbours of each lane are
// folded, then join_lanes() tells what precedes them; complete() adds that to each item.
template <class Shape, class T>
struct warp_runs {
  T values[Shape::num_rows][Shape::neighbours];  // inclusive scans
  T before_row[Shape::num_rows];                 // of the item before the lane's first one, but for the warp's first
  unsigned beginning_rows, open_rows;  // flags of rows: a run begins in the row; the run at the lane's first item began
                                       // before the warp, if that item begins none
  unsigned continues;                  // flags of items: a run that began before the warp
  T of_warp;                           // aggregate of the last item
  bool begins;                         // whether a run begins in the warp

  template <class Op>
  __device__ void join(int row, int k, Op op) {
    if (k > 0) values[row][k] = op(values[row][k - (k > 0)], values[row][k]);
  }

  // `starts` flags the items that continue no run. The shuffles of all rows are on their way at once; then the rows
  // follow one behind the other.
  template <class Op>
  __device__ void join_lanes(unsigned starts, Op op) {
    const int lane = threadIdx.x % parts::warp_threads;
    unsigned starting[Shape::num_rows];  // lanes in which a run begins
    int since[Shape::num_rows];          // lanes since the last one of those up to this one, or since the first one
    T through[Shape::num_rows];
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) {
      starting[row] = __ballot_sync(parts::full_mask, (starts & row_counts<Shape>::of_row(row)) != 0);
      since[row] = __clz((starting[row] | 1) << (parts::warp_threads - 1 - lane));
      through[row] = values[row][Shape::neighbours - 1];
    }
#pragma unroll
    for (int offset = 1; offset < parts::warp_threads; offset *= 2) {
      T left[Shape::num_rows];
#pragma unroll
      for (int row = 0; row < Shape::num_rows; ++row) left[row] = parts::shuffle_up(through[row], offset);
#pragma unroll
      for (int row = 0; row < Shape::num_rows; ++row)
        if (since[row] >= offset) through[row] = op(left[row], through[row]);
    }
    T of_row[Shape::num_rows];
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) {
      before_row[row] = parts::shuffle_up(through[row], 1);
      of_row[row] = parts::shuffle_from(through[row], parts::warp_threads - 1);
    }
    beginning_rows = open_rows = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) {
      const bool continues_row = (starting[row] & ((1u << lane) - 1)) == 0;
      if (row > 0 && continues_row) before_row[row] = lane == 0 ? of_warp : op(of_warp, before_row[row]);
      if (continues_row && beginning_rows == 0) open_rows |= 1u << row;
      of_warp = row > 0 && starting[row] == 0 ? op(of_warp, of_row[row]) : of_row[row];
      if (starting[row] != 0) beginning_rows |= 1u << row;
    }
    begins = beginning_rows != 0;
  }

  template <class Op>
  __device__ void complete(unsigned starts, Op op) {
    continues = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row) {
      bool is_open = true;
#pragma unroll
      for (int k = 0; k < Shape::neighbours; ++k) {
        is_open = is_open && (starts & Shape::bit(row, k)) == 0;
        if (!is_open) continue;
        if (row > 0 || threadIdx.x % parts::warp_threads > 0) values[row][k] = op(before_row[row], values[row][k]);
        if ((open_rows >> row & 1) != 0) continues |= Shape::bit(row, k);
      }
    }
  }

  template <class Op>
  __device__ void scan(unsigned starts, Op op) {
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
      for (int k = 1; k < Shape::neighbours; ++k)
        if ((starts & Shape::bit(row, k)) == 0) join(row, k, op);
    join_lanes(starts, op);
    complete(starts, op);
  }
};

// The fold of what the warps before `warp` know of the run that their last item belongs to; warp > 0.
template <class Memory, class Op>
__device__ auto before_warp_in_tile(const Memory& shared, unsigned warps_beginning, int warp, Op op) {
  const unsigned earlier = warps_beginning & ((1u << warp) - 1);
  int i = earlier == 0 ? 0 : 31 - __clz(earlier);
  auto value = shared.of_warp[i];
#pragma unroll 1
  for (++i; i < warp; ++i) value = op(value, shared.of_warp[i]);
  return value;
}

// Each run that begins in a tile ends another one, whose aggregate is that of the item before. Of the tile's first such
// run there may be more before the tile: what the tile adds to it is kept in `shared`.
// take(rank in the tile, key, aggregate before)
template <class Shape, class T, class Key, class Memory, class Op, class Take>
__device__ void with_ended_runs(const warp_runs<Shape, T>& of_warp, const lane_rows<Shape, Key>& keys, unsigned heads,
                                const row_counts<Shape>& counts, int runs_of_warps, int warp, const T& before_warp,
                                Memory& shared, Op op, Take take) {
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    int rank = runs_of_warps + counts.before(row);
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k) {
      if ((heads & Shape::bit(row, k)) == 0) continue;
      const bool is_first_of_warp = row == 0 && k == 0 && threadIdx.x % parts::warp_threads == 0;
      T ended = k == 0 ? of_warp.before_row[row] : of_warp.values[row][k - (k > 0)];
      bool has_ended = true;
      if (is_first_of_warp) {
        ended = before_warp;
        has_ended = warp > 0;
      } else if (rank == runs_of_warps && warp > 0) {
        ended = op(before_warp, ended);
      }
      if (rank == 0) {
        shared.leading = ended;
        shared.has_leading = has_ended;
      }
      take(rank++, keys(row, k), ended);
    }
  }
}

// The same, side by side in shared memory. Of a lane's row only the first run that ends there may have begun before it:
// its lane adds what precedes the row when all are staged.
template <class Shape, class T, class Key, class Memory, class Op>
__device__ void stage_ended_runs(const warp_runs<Shape, T>& of_warp, const lane_rows<Shape, Key>& keys, unsigned heads,
                                 const row_counts<Shape>& counts, int runs_of_warps, int warp, const T& before_warp,
                                 Key* staged_keys, T* staged, Memory& shared, Op op) {
  const bool is_first_lane = threadIdx.x % parts::warp_threads == 0;
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row) {
    if ((of_warp.beginning_rows >> row & 1) == 0) continue;
    const int first = runs_of_warps + counts.before(row);
    int rank = first;
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k) {
      if ((heads & Shape::bit(row, k)) == 0) continue;
      staged_keys[rank] = keys.anew(row, k);
      staged[rank++] = k == 0 ? of_warp.before_row[row] : of_warp.values[row][k - (k > 0)];
    }
    if (rank == first) continue;
    const bool is_in_row = (heads & Shape::bit(row, 0)) == 0, is_first_row = row == 0 && is_first_lane;
    T ended = staged[first];
    if (is_in_row && !is_first_row) ended = op(of_warp.before_row[row], ended);
    if (first == runs_of_warps) {
      if (warp > 0) ended = is_in_row || !is_first_row ? static_cast<T>(op(before_warp, ended)) : before_warp;
      if (first == 0) {
        shared.leading = ended;
        shared.has_leading = warp > 0 || is_in_row || !is_first_row;
      }
    }
    staged[first] = ended;
  }
}

// Keeps the aggregate of the last item of all, and whether its run began before the tile.
template <class Shape, class T, class Memory, class Op>
__device__ void keep_last(const warp_runs<Shape, T>& of_warp, int last_place, int warp, const T& before_warp,
                          bool begins_before_warp, Memory& shared, Op op) {
#pragma unroll
  for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
    for (int k = 0; k < Shape::neighbours; ++k)
      if (Shape::position(warp, row) + k == last_place) {
        const bool is_open = (of_warp.continues & Shape::bit(row, k)) != 0;
        shared.last = is_open && warp > 0 ? op(before_warp, of_warp.values[row][k]) : of_warp.values[row][k];
        shared.last_continues = is_open && !begins_before_warp;
      }
}

// One store to global memory, where the compiler might make several of a plain assignment.
template <class Vector>
__device__ void store_together(Vector* to, const Vector& vector) {
  if constexpr (std::is_same_v<Vector, two_vectors>) {
    store_together(&to->first, vector.first);
    store_together(&to->second, vector.second);
  } else if constexpr (std::is_same_v<Vector, uint4>) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(vector.x),
                 "r"(vector.y), "r"(vector.z), "r"(vector.w)
                 : "memory");
  } else if constexpr (std::is_same_v<Vector, uint2>) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(vector.x), "r"(vector.y)
                 : "memory");
  } else {
    *to = vector;
  }
}

// Writes the lane's neighbours of a row; `as_one`: by one store whatever the compiler makes of others nearby.
template <class Shape, bool as_one = false, class T, class OutputIteratorT>
__device__ void write_neighbours(const T (&values)[Shape::neighbours], OutputIteratorT d_out, std::size_t first,
                                 int position, int left, bool by_vectors) {
  const auto to = d_out + static_cast<std::ptrdiff_t>(first + position);
  if constexpr (is_vectorisable<OutputIteratorT>) {
    using output = parts::item_of<OutputIteratorT>;
    if constexpr (sizeof(output) * Shape::neighbours <= sizeof(two_vectors) &&
                  std::is_trivially_default_constructible_v<output>) {
      if (by_vectors && position + Shape::neighbours <= left) {
        output items[Shape::neighbours];
#pragma unroll
        for (int k = 0; k < Shape::neighbours; ++k) write(&items[k], values[k]);
        access<sizeof(items)> together;
        memcpy(&together, static_cast<const void*>(items), sizeof(items));
        const auto vector = reinterpret_cast<access<sizeof(items)>*>(to);
        if constexpr (as_one)
          store_together(vector, together);
        else
          *vector = together;
        return;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < Shape::neighbours; ++k)
    if (position + k < left) write(to + static_cast<std::ptrdiff_t>(k), values[k]);
}

// Writes a warp's rows of a tile, in their order, with all lanes. If it is `unaligned`, and all of the warp's items are
// there, lanes shift what is not aligned to vectors.
template <class Shape, class OutputIteratorT, bool unaligned>
class rows_writer {
  template <class Iterator, bool = unaligned&& is_vectorisable<Iterator>>
  struct shifting {
    static constexpr bool is_possible = false;
  };
  template <class Output>
  struct shifting<Output*, true> {
    static constexpr bool is_possible =
        is_shiftable<Output, Shape::neighbours> && std::is_trivially_default_constructible_v<Output>;
  };
  static constexpr bool may_shift = shifting<OutputIteratorT>::is_possible;
  using output = std::conditional_t<may_shift, parts::item_of<OutputIteratorT>, unsigned>;

 public:
  __device__ rows_writer(OutputIteratorT d_out, std::size_t first, int warp, int left, bool by_vectors)
      : d_out_(d_out), first_(first), warp_(warp), left_(left), by_vectors_(by_vectors) {
    if constexpr (may_shift) {
      shifted_ = shifted_writer<Shape, output>(d_out + first + warp * Shape::warp_items);
      shifts_ = !by_vectors && left >= (warp + 1) * Shape::warp_items && shifted_.can_shift();
    }
  }
  template <class T>
  __device__ void write_row(int row, const T (&values)[Shape::neighbours]) {
    if constexpr (may_shift) {
      if (shifts_) {
        output items[Shape::neighbours];
#pragma unroll
        for (int k = 0; k < Shape::neighbours; ++k) write(&items[k], values[k]);
        shifted_.write(row, items);
        return;
      }
    }
    write_neighbours<Shape>(values, d_out_, first_, Shape::position(warp_, row), left_, by_vectors_);
  }

 private:
  OutputIteratorT d_out_;
  std::size_t first_;
  int warp_, left_;
  bool by_vectors_, shifts_ = false;
  std::conditional_t<may_shift, shifted_writer<Shape, output>, char> shifted_;
};

// Writes the keys of the runs that begin in a tile, and the aggregates of those that end there: the staged ones, and
// those that only what precedes the tile completes.
template <int block_threads, bool is_staged = true, class Call, class Memory, class Key, class T>
__device__ void write_ended_runs(const Call& call, const Memory& shared, const Key* keys, const T* aggregates,
                                 int num_runs, bool is_first_tile, bool is_last_tile) {
  const auto before = static_cast<std::ptrdiff_t>(shared.runs_before);
  const auto d_ended = call.output.d_aggregates_out + (before - 1);
  if constexpr (is_staged) {
    store_staged<block_threads>(keys, call.output.d_unique_out + before, num_runs);
    for (int i = threadIdx.x; i < num_runs; i += block_threads)
      if (i > 0) write(d_ended + static_cast<std::ptrdiff_t>(i), aggregates[i]);
  }
  if (threadIdx.x == 0 && !is_first_tile && num_runs > 0)
    write(d_ended, shared.has_leading ? static_cast<T>(call.op(shared.before, shared.leading)) : shared.before);
  if (threadIdx.x == 0 && is_last_tile)
    write(d_ended + static_cast<std::ptrdiff_t>(num_runs),
          shared.last_continues ? static_cast<T>(call.op(shared.before, shared.last)) : shared.last);
}

template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    by_key_kernel(Call call, run_mailboxes<typename Call::accumulator> runs, count_mailboxes counts_of_tiles,
                  parts::mailboxes<typename Call::key> last_keys, parts::tag tag) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  using key = typename Call::key;
  constexpr bool is_scan = Call::is_scan;
  __shared__ typename Call::memory shared;
  if constexpr (!is_scan) {
    if (call.num_items == 0) {
      if (threadIdx.x == 0) *call.output.d_num_runs_out = 0;
      return;
    }
  }
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const unsigned tile = blockIdx.x;
  const bool is_last_tile = tile == gridDim.x - 1;
  const std::size_t first = std::size_t{tile} * shape::tile_items, last = call.num_items - 1;
  const int left = static_cast<int>(parts::at_most(call.num_items - first, shape::tile_items));

  // Keys and values, and where runs begin.
  constexpr bool unaligned = Call::unaligned;
  const auto keys = read_tile<shape, key, unaligned>(call.d_keys_in, first, last, warp, call.keys_by_vectors);
  warp_runs<shape, T> of_warp;
  {
    const auto values =
        read_tile<shape, typename Call::value, unaligned>(call.d_values_in, first, last, warp, call.values_by_vectors);
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) of_warp.values[row][k] = accumulated<T>(values(row, k));
  }
  const unsigned present = flags_present<shape>(warp, left);
  key before_keys = read_before_warp<shape, key>(call.d_keys_in, first, last, warp);
  parts::wait_until_cleared();
  if constexpr (is_scan) {
    // Where the outputs replace the keys, the tile before may have replaced its last key: so it tells it.
    if (call.output.overwrites_keys) {
      if (threadIdx.x == shape::block_threads - 1 && !is_last_tile)
        last_keys.post(tile, keys(shape::num_rows - 1, shape::neighbours - 1), tag);
      if (threadIdx.x == 0 && tile > 0)
        while (!last_keys.peek(tile - 1, before_keys, tag)) {
        }
    }
  }

  // What each warp knows by itself. Items behind the last one are that one again, and fold to what nobody reads.
  const unsigned heads = flags_of_heads<shape>(keys, before_keys, tile == 0, warp, present, call.equality_op,
                                               [&](int row, int k) { of_warp.join(row, k, call.op); });
  of_warp.join_lanes(heads, call.op);
  if constexpr (!Call::is_staged) of_warp.complete(heads, call.op);
  const row_counts<shape> counts(heads);
  if (lane == 0) {
    shared.of_warp[warp] = of_warp.of_warp;
    shared.begins[warp] = of_warp.begins;
    shared.counts.of_warp[warp] = counts.of_warp();
  }
  __syncthreads();
  const bool stands_for_warp = lane < shape::num_warps;
  const unsigned warps_beginning = __ballot_sync(parts::full_mask, stands_for_warp && shared.begins[lane] != 0);
  const int runs_of_one = stands_for_warp ? shared.counts.of_warp[lane] : 0;
  const int runs_of_tile = parts::warp_aggregate(runs_of_one, plus{});

  // Tell the tiles behind.
  T of_tile = of_warp.of_warp;
  if (warp == 0) {
    of_tile = before_warp_in_tile(shared, warps_beginning, shape::num_warps, call.op);
    if (lane == 0 && !is_last_tile) runs.post(tile, of_tile, warps_beginning != 0, tag);
  }
  if (!is_scan && warp == 1 && lane == 0 && !is_last_tile)
    counts_of_tiles.tiles.post(tile, static_cast<unsigned long long>(runs_of_tile), tag);

  const int runs_of_warps = parts::warp_aggregate(lane < warp ? runs_of_one : 0, plus{});
  const bool begins_before_warp = (warps_beginning & ((1u << warp) - 1)) != 0;  // in this tile
  T before_warp = of_warp.of_warp;
  if (warp > 0) before_warp = before_warp_in_tile(shared, warps_beginning, warp, call.op);

  const auto with_heads = [&](auto take) {
    with_ended_runs<shape>(of_warp, keys, heads, counts, runs_of_warps, warp, before_warp, shared, call.op, take);
  };
  key* const staged_keys = reinterpret_cast<key*>(shared.keys);
  T* const staged = reinterpret_cast<T*>(shared.aggregates);
  if constexpr (Call::is_staged)
    stage_ended_runs<shape>(of_warp, keys, heads, counts, runs_of_warps, warp, before_warp, staged_keys, staged, shared,
                            call.op);
  else if constexpr (!is_scan)
    with_heads([](int, const key&, const T&) {});
  if constexpr (!is_scan) {
    if (is_last_tile && Call::is_staged) of_warp.complete(heads, call.op);
    if (is_last_tile) keep_last<shape>(of_warp, left - 1, warp, before_warp, begins_before_warp, shared, call.op);
  }

  // Hear of the tiles before.
  if (warp == 0) {
    const bool ends_group = tile % run_mailboxes<T>::group_tiles == run_mailboxes<T>::group_tiles - 1;
    const bool is_asked =
        is_scan ? (__shfl_sync(parts::full_mask, heads, 0) & 1) == 0 : runs_of_tile > 0 || is_last_tile;
    if (tile > 0 && (is_asked || ends_group)) {
      const T before = runs.before(tile, of_tile, warps_beginning != 0, tag, call.op);
      if (lane == 0) shared.before = before;
    }
  }
  if (!is_scan && warp == 1) {
    const auto num_runs = static_cast<unsigned long long>(runs_of_tile);
    const unsigned long long before = counts_of_tiles.before(tile, num_runs, tag);
    if (lane == 0) {
      if constexpr (!is_scan)
        if (is_last_tile) *call.output.d_num_runs_out = before + num_runs;
      shared.runs_before = before;
    }
  }
  __syncthreads();

  if constexpr (!is_scan) {
    if constexpr (!Call::is_staged) {
      const auto d_unique = call.output.d_unique_out + static_cast<std::ptrdiff_t>(shared.runs_before);
      const auto d_ended = call.output.d_aggregates_out + (static_cast<std::ptrdiff_t>(shared.runs_before) - 1);
      with_heads([&](int rank, const key& first_key, const T& ended) {
        write(d_unique + static_cast<std::ptrdiff_t>(rank), first_key);
        if (rank > 0) write(d_ended + static_cast<std::ptrdiff_t>(rank), ended);
      });
      __syncthreads();
    }
    write_ended_runs<shape::block_threads, Call::is_staged>(call, shared, staged_keys, staged, runs_of_tile, tile == 0,
                                                            is_last_tile);
  } else {
    // The run that began before the warp; tile 0 begins one with its first item.
    T before = before_warp;
    if (tile > 0 && !begins_before_warp) before = warp > 0 ? call.op(shared.before, before_warp) : shared.before;
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k)
        if ((of_warp.continues & shape::bit(row, k)) != 0)
          of_warp.values[row][k] = call.op(before, of_warp.values[row][k]);
    T row_before = before;  // of the row's first item
    rows_writer<shape, decltype(call.output.d_values_out), unaligned> writer(call.output.d_values_out, first, warp,
                                                                             left, call.output.by_vectors);
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      T values[shape::neighbours];
      if constexpr (Call::result == of_runs::exclusive_scans) {
        const T through = of_warp.values[row][shape::neighbours - 1];
        T ahead = parts::shuffle_up(through, 1);
        if (lane == 0) ahead = row_before;
        row_before = parts::shuffle_from(through, parts::warp_threads - 1);
#pragma unroll
        for (int k = 0; k < shape::neighbours; ++k) {
          const bool continues_run = ((heads | ~present) & shape::bit(row, k)) == 0;
          values[k] = call.output.init;
          if (continues_run) values[k] = call.op(call.output.init, k == 0 ? ahead : of_warp.values[row][k - (k > 0)]);
        }
      } else {
#pragma unroll
        for (int k = 0; k < shape::neighbours; ++k) values[k] = of_warp.values[row][k];
      }
      writer.write_row(row, values);
    }
  }
}

}  // namespace rungs::RUNGS_ABI::production
