// Items that are chosen go to the front, in their order: one pass, in which a look-back adds up how many were chosen
// before a tile (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016).
//
// A block takes the tile of its index, ranks the chosen items by one scan of packed counts, and puts them side by side
// in shared memory while its first warp looks back. From there they are stored in the order of the output.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/tiles.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// Criteria: the flags of a lane's items that are chosen, of those that are present.

// A flag for each item, as it is or as an operator has it.
template <class FlagIteratorT, class SelectOpT>
struct chosen_by_flag {
  static constexpr bool looks_at_neighbours = false;
  FlagIteratorT d_flags;
  SelectOpT select_op;
  bool by_vectors;

  template <class Shape, class Held, class InputIteratorT>
  __device__ unsigned choose(const lane_rows<Shape, Held>&, InputIteratorT, std::size_t first, std::size_t last,
                             int warp, unsigned present) const {
    using flag = held_of<parts::item_of<FlagIteratorT>>;
    SelectOpT own = select_op;  // which may not promise to stay as it is
    const auto flags = read_tile<Shape, flag>(d_flags, first, last, warp, by_vectors);
    unsigned chosen = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < Shape::neighbours; ++k)
        if ((present & Shape::bit(row, k)) != 0 && static_cast<bool>(own(value_of(flags(row, k)))))
          chosen |= Shape::bit(row, k);
    return chosen;
  }
};
struct as_bool {
  template <class Flag>
  __device__ bool operator()(const Flag& flag) const {
    return static_cast<bool>(flag);
  }
};

template <class SelectOpT>
struct chosen_by_item {
  static constexpr bool looks_at_neighbours = false;
  SelectOpT select_op;

  template <class Shape, class Held, class InputIteratorT>
  __device__ unsigned choose(const lane_rows<Shape, Held>& items, InputIteratorT, std::size_t, std::size_t, int,
                             unsigned present) const {
    SelectOpT own = select_op;
    unsigned chosen = 0;
#pragma unroll
    for (int row = 0; row < Shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < Shape::neighbours; ++k)
        if ((present & Shape::bit(row, k)) != 0 && static_cast<bool>(own(value_of(items(row, k)))))
          chosen |= Shape::bit(row, k);
    return chosen;
  }
};

// The first item of each run of equal ones.
template <class EqualityOpT>
struct chosen_as_first {
  static constexpr bool looks_at_neighbours = true;
  EqualityOpT equality_op;

  template <class Shape, class Held, class InputIteratorT>
  __device__ unsigned choose(const lane_rows<Shape, Held>& items, InputIteratorT d_in, std::size_t first, std::size_t,
                             int warp, unsigned present) const {
    Held before_tile = items(0, 0);
    if (threadIdx.x == 0 && first > 0) before_tile = static_cast<Held>(d_in[static_cast<std::ptrdiff_t>(first) - 1]);
    return flags_of_heads<Shape>(items, d_in, first, before_tile, warp, present, equality_op);
  }
};

// What goes with the chosen items.
struct nothing_else {
  static constexpr bool is_any = false;
};
template <class InputIteratorT, class OutputIteratorT>
struct values_too {
  static constexpr bool is_any = true;
  InputIteratorT d_in;
  OutputIteratorT d_out;
};

// Where the others go.
enum class rejected : unsigned char { nowhere, to_the_end };

template <rejected others_, class InputIteratorT, class Criterion, class Values, class OutputIteratorT,
          class NumSelectedIteratorT>
struct selection {
  using input_iterator = InputIteratorT;
  using item = held_of<parts::item_of<InputIteratorT>>;
  static constexpr rejected others = others_;
  using shape = tile_shape<sizeof(item), 8, 8>;
  static constexpr std::size_t tile_bytes = sizeof(item) * shape::tile_items;
  static constexpr bool is_staged = tile_bytes <= 32 * 1024;
  // Resident on a multiprocessor: while some wait for what precedes them, others read.
  static constexpr int least_blocks = sizeof(item) <= 8 ? 4 : 1;

  struct memory {
    alignas(16) unsigned char staged[is_staged ? tile_bytes + 16 : 16];
    unsigned short sources[Values::is_any ? shape::tile_items : 1];
    warp_counts<shape::num_warps> counts;
    unsigned long long before;
  };

  InputIteratorT d_in;
  Criterion criterion;
  Values values;
  OutputIteratorT d_out;
  NumSelectedIteratorT d_num_selected_out;
  std::size_t num_items;
  bool by_vectors, in_place;

  // The place in the output of the item that is number `rank` of the chosen ones, or of the rejected ones.
  __device__ OutputIteratorT place(std::size_t rank) const { return d_out + static_cast<std::ptrdiff_t>(rank); }
  __device__ OutputIteratorT place_from_end(std::size_t rank) const { return place(num_items - 1 - rank); }
};

template <class Selection>
__global__ void __launch_bounds__(Selection::shape::block_threads, Selection::least_blocks)
    select_kernel(Selection call, parts::mailboxes<unsigned long long> mailboxes, parts::tag tag) {
  using shape = typename Selection::shape;
  using item = typename Selection::item;
  using parts::posted;
  __shared__ typename Selection::memory shared;
  if (call.num_items == 0) {
    if (threadIdx.x == 0) *call.d_num_selected_out = 0;
    return;
  }
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const unsigned tile = blockIdx.x;
  const std::size_t first = std::size_t{tile} * shape::tile_items;
  const int left = static_cast<int>(parts::at_most(call.num_items - first, shape::tile_items));

  const auto items = read_tile<shape, item>(call.d_in, first, call.num_items - 1, warp, call.by_vectors);
  const unsigned present = flags_present<shape>(warp, left);
  const unsigned chosen =
      call.criterion.template choose<shape>(items, call.d_in, first, call.num_items - 1, warp, present);
  const row_counts<shape> counts(chosen);
  if (lane == 0) shared.counts.of_warp[warp] = counts.of_warp();
  // In place, whoever is told of the tile's count may overwrite the tile: so all of it has been read before.
  if (call.in_place) __threadfence();
  __syncthreads();
  const int of_tile = shared.counts.before(shape::num_warps);
  if (warp == 0) {
    parts::wait_until_cleared();
    if (lane == 0 && tile != gridDim.x - 1) {
      if (call.in_place) __threadfence();
      mailboxes.post(tile, static_cast<unsigned long long>(of_tile), tag,
                     tile > 0 ? posted::aggregate : posted::prefix);
    }
  }

  // Ranks within the tile; the rejected ones follow the chosen ones.
  const int warps_before = shared.counts.before(warp);
  const auto with_ranks = [&](auto take) {  // take(item, place in the tile, rank among its kind, whether it is chosen)
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      int rank = warps_before + counts.before(row);
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) {
        const int at = shape::position(warp, row) + k;
        const bool is_chosen = (chosen & shape::bit(row, k)) != 0;
        if (is_chosen)
          take(items(row, k), at, rank++, true);
        else if (Selection::others == rejected::to_the_end && (present & shape::bit(row, k)) != 0)
          take(items(row, k), at, at - rank, false);
      }
    }
  };
  item* const staged = reinterpret_cast<item*>(shared.staged);
  if constexpr (Selection::is_staged || decltype(call.values)::is_any) {
    with_ranks([&](const item& value, int at, int rank, bool is_chosen) {
      const int slot = is_chosen ? rank : of_tile + rank;
      if constexpr (Selection::is_staged) staged[slot] = value;
      if constexpr (decltype(call.values)::is_any) shared.sources[slot] = static_cast<unsigned short>(at);
    });
  }
  if (warp == 0) {
    unsigned long long before = 0;
    if (tile > 0) before = scans::prefix_before(mailboxes, tile, tag, plus{});
    if (call.in_place) __threadfence();
    if (lane == 0) {
      const unsigned long long through = before + static_cast<unsigned long long>(of_tile);
      if (tile == gridDim.x - 1)
        *call.d_num_selected_out = through;
      else if (tile > 0)
        mailboxes.post(tile, through, tag, posted::prefix);
      shared.before = before;
    }
  }
  __syncthreads();

  const std::size_t before = shared.before, rejected_before = first - before;
  if constexpr (Selection::is_staged) {
    store_staged<shape::block_threads>(staged, call.place(before), of_tile);
    if constexpr (Selection::others == rejected::to_the_end)
      for (int i = threadIdx.x; i < left - of_tile; i += shape::block_threads)
        *call.place_from_end(rejected_before + i) = value_of(staged[of_tile + i]);
  } else {
    with_ranks([&](const item& value, int, int rank, bool is_chosen) {
      if (is_chosen)
        *call.place(before + rank) = value_of(value);
      else
        *call.place_from_end(rejected_before + rank) = value_of(value);
    });
  }
  if constexpr (decltype(call.values)::is_any) {
    const auto d_values = call.values.d_in + static_cast<std::ptrdiff_t>(first);
    const auto d_out = call.values.d_out + static_cast<std::ptrdiff_t>(before);
    for (int i = threadIdx.x; i < of_tile; i += shape::block_threads)
      *(d_out + static_cast<std::ptrdiff_t>(i)) = d_values[static_cast<std::ptrdiff_t>(shared.sources[i])];
  }
}

// Storage: a mailbox of 16 bytes for each tile.
template <class Selection>
cudaError_t select(void* d_temp_storage, std::size_t& temp_storage_bytes, const Selection& call, cudaStream_t stream) {
  using mailboxes = parts::mailboxes<unsigned long long>;
  using shape = typename Selection::shape;
  const std::size_t num_tiles = parts::ceil_div(call.num_items, shape::tile_items);
  const std::size_t bytes = mailboxes::bytes(num_tiles);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  parts::opened_storage storage;
  if (num_tiles > 0) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(select_kernel<Selection>, num_tiles > 0 ? num_tiles : 1, shape::block_threads, 0,
                                  storage.clears, stream, call, mailboxes(region), storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
