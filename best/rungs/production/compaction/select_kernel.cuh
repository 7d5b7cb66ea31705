// Items that are chosen go to the front, in their order: one pass, in which a look-back adds up how many were chosen
// before a tile (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016).
//
// A block takes the tile of its index, ranks the chosen items by one scan of packed counts, and puts them side by side
// in shared memory while its first warp looks back. From there they are stored in the order of the output.
#pragma once

#include "rungs/parts/gather.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/criteria.cuh"
#include "rungs/production/compaction/tiles.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// What goes with the chosen items.
struct nothing_else {
  static constexpr bool is_any = false;
};
template <class InputIteratorT, class OutputIteratorT>
struct values_too {
  static constexpr bool is_any = true;
  InputIteratorT d_in;
  OutputIteratorT d_out;
  bool by_vectors;
};
template <class Values, class Item>
struct value_held {
  using named = Item;
};
template <class InputIteratorT, class OutputIteratorT, class Item>
struct value_held<values_too<InputIteratorT, OutputIteratorT>, Item> {
  using named = held_of<parts::item_of<InputIteratorT>>;
};

// Where the others go.
enum class rejected : unsigned char { nowhere, to_the_end };

// If it is `unaligned`, items that are not come by vectors, too (unaligned_rows.cuh).
template <rejected others_, class InputIteratorT, class Criterion, class Values, class OutputIteratorT,
          class NumSelectedIteratorT, bool unaligned_ = false>
struct selection {
  using input_iterator = InputIteratorT;
  using item = held_of<parts::item_of<InputIteratorT>>;
  using value = typename value_held<Values, item>::named;
  static constexpr rejected others = others_;
  static constexpr bool unaligned = unaligned_;
  static constexpr bool has_values = Values::is_any;
  using shape =
      std::conditional_t<has_values && sizeof(item) == 4, rows_of_warps<8, 3, 8>, tile_shape<sizeof(item), 8, 8>>;
  static constexpr std::size_t tile_bytes = sizeof(item) * shape::tile_items;
  static constexpr std::size_t value_bytes = has_values ? sizeof(value) * shape::tile_items : 0;
  static constexpr bool is_staged = tile_bytes <= 32 * 1024;
  // Values are staged where items were, once these are written; else they are read one by one from their sources.
  static constexpr bool stages_values = has_values && is_staged && value_bytes <= 32 * 1024;
  // Resident on a multiprocessor: while some wait for what precedes them, others read.
  static constexpr int least_blocks = sizeof(item) <= 8 ? 4 : 1;
  // Of few tiles a multiprocessor gets two at most; then registers may hold more.
  static constexpr int least_blocks_of_few = least_blocks < 2 ? least_blocks : 2;
  // Whether many are faster in rounds (select_rounds.cuh): of items that are not too wide to be staged twice. With
  // values they are not. Where all are written, bytes are unless they have flags, and two bytes are not.
  static constexpr bool suits_rounds =
      !has_values && sizeof(item) <= 16 &&
      (others == rejected::nowhere || sizeof(item) >= 4 || (sizeof(item) == 1 && !Criterion::reads_flags));

  // Whether those that are not aligned are faster so.
  static constexpr bool suits_unaligned =
      has_values && reads_vectors<InputIteratorT, item, shape::neighbours> && is_read_by_parts<item, shape::neighbours>;

  struct memory {
    alignas(16) unsigned char staged[!is_staged
                                         ? 16
                                         : (stages_values && value_bytes > tile_bytes ? value_bytes : tile_bytes) + 16];
    unsigned short sources[has_values && !stages_values ? shape::tile_items : 1];
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

  auto as_unaligned() const {
    return selection<others, InputIteratorT, Criterion, Values, OutputIteratorT, NumSelectedIteratorT, true>{
        d_in, criterion, values, d_out, d_num_selected_out, num_items, by_vectors, in_place};
  }

  // The place in the output of the item that is number `rank` of the chosen ones, or of the rejected ones.
  __device__ OutputIteratorT place(std::size_t rank) const { return d_out + static_cast<std::ptrdiff_t>(rank); }
  __device__ OutputIteratorT place_from_end(std::size_t rank) const { return place(num_items - 1 - rank); }
};

// If it `gathers`, a block adds up all counts before its tile at once, and posts nothing else.
template <class Selection, bool gathers>
__global__ void __launch_bounds__(Selection::shape::block_threads,
                                  gathers ? Selection::least_blocks_of_few : Selection::least_blocks)
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

  const std::size_t last = call.num_items - 1;
  constexpr bool unaligned = Selection::unaligned;
  const auto items = read_tile<shape, item, unaligned>(call.d_in, first, last, warp, call.by_vectors);
  const auto fetched = call.criterion.template fetch<shape, item>(call.d_in, first, last, warp);
  const unsigned present = flags_present<shape>(warp, left);
  const unsigned chosen = call.criterion.template choose<shape, item>(items, fetched, tile == 0, warp, present);
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
                     tile > 0 || gathers ? posted::aggregate : posted::prefix);
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
  constexpr bool by_sources = Selection::has_values && !Selection::stages_values;
  if constexpr (Selection::is_staged && !by_sources) {
    constexpr bool keeps_others = Selection::others == rejected::to_the_end;
    if (keeps_others || chosen != 0)
      stage_chosen<keeps_others>(staged, items, chosen, present, counts, warp, warps_before, of_tile);
  } else if constexpr (Selection::is_staged || by_sources) {
    with_ranks([&](const item& value, int at, int rank, bool is_chosen) {
      const int slot = is_chosen ? rank : of_tile + rank;
      if constexpr (Selection::is_staged) staged[slot] = value;
      if constexpr (by_sources) shared.sources[slot] = static_cast<unsigned short>(at);
    });
  }
  std::conditional_t<Selection::stages_values, lane_rows<shape, typename Selection::value>, nothing_fetched> values;
  if constexpr (Selection::stages_values)
    values = read_flagged<shape, typename Selection::value, unaligned>(call.values.d_in, first, last, chosen, warp,
                                                                       call.values.by_vectors);
  if (warp == 0) {
    unsigned long long before = 0;
    if constexpr (gathers)
      before = parts::gather<8>(mailboxes, 0, tile, tag, plus{});
    else if (tile > 0)
      before = scans::prefix_before(mailboxes, tile, tag, plus{});
    if (call.in_place) __threadfence();
    if (lane == 0) {
      const unsigned long long through = before + static_cast<unsigned long long>(of_tile);
      if (tile == gridDim.x - 1)
        *call.d_num_selected_out = through;
      else if (tile > 0 && !gathers)
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
  if constexpr (Selection::stages_values) {
    using value = typename Selection::value;
    value* const staged_values = reinterpret_cast<value*>(shared.staged);
    __syncthreads();
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      int rank = warps_before + counts.before(row);
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k)
        if ((chosen & shape::bit(row, k)) != 0) staged_values[rank++] = values(row, k);
    }
    __syncthreads();
    store_staged<shape::block_threads>(staged_values, call.values.d_out + static_cast<std::ptrdiff_t>(before), of_tile);
  } else if constexpr (Selection::has_values) {
    const auto d_values = call.values.d_in + static_cast<std::ptrdiff_t>(first);
    const auto d_out = call.values.d_out + static_cast<std::ptrdiff_t>(before);
    // Several values are on their way at once, which the compiler may not do: what is written could be what is read.
    using value = typename Selection::value;
    constexpr int in_flight = sizeof(value) <= 8 ? 8 : sizeof(value) <= 16 ? 4 : 1, step = shape::block_threads;
#pragma unroll 1
    for (int i = threadIdx.x; i < of_tile; i += in_flight * step) {
      value taken[in_flight];
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        if (i + k * step < of_tile)
          taken[k] = static_cast<value>(d_values[static_cast<std::ptrdiff_t>(shared.sources[i + k * step])]);
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        if (i + k * step < of_tile) *(d_out + static_cast<std::ptrdiff_t>(i + k * step)) = value_of(taken[k]);
    }
  }
}

}  // namespace rungs::RUNGS_ABI::production
