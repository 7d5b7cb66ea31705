// Selections of many items, in rounds (rounds.cuh): what is chosen of a tile lies side by side in shared memory, until
// the next tile has been examined.
#pragma once

#include "rungs/production/compaction/byte_tiles.cuh"
#include "rungs/production/compaction/rounds.cuh"
#include "rungs/production/compaction/select_kernel.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Selection, int num_workers_ = 24>
struct select_job {
  using item = typename Selection::item;
  static constexpr int num_workers = num_workers_, num_lookers = 1, resident_blocks = 1, lag = 2, ahead = 2, spare = 0;
  using shape = rows_of_warps<Selection::shape::neighbours, 4, num_workers>;
  static constexpr int tile_items = shape::tile_items;
  // 64 MiB of bytes take less time than with a tile a block, 16 MiB more (H200).
  static constexpr std::size_t least_items = (std::size_t{64} << 20) / sizeof(item);

  struct items {
    lane_rows<shape, item> of_lane;
    decltype(std::declval<Selection>().criterion.template fetch<shape, item>(std::declval<Selection>().d_in, 0, 0,
                                                                             0)) fetched;
  };
  struct marks {
    unsigned chosen, present;
    row_counts<shape, true> counts;
  };
  using found = warp_counts<num_workers>;
  struct staged {
    alignas(16) unsigned char items[sizeof(item) * tile_items + 16];
    int num_chosen;
    unsigned long long before;
  };
  struct looker_state {
    unsigned long long before;  // chosen in the tiles before `tile`
    unsigned tile;
  };

  Selection call;
  parts::mailboxes<unsigned long long> counts;

  static __device__ std::size_t first_of(unsigned tile) { return std::size_t{tile} * tile_items; }
  __device__ int left_of(unsigned tile) const {
    return static_cast<int>(parts::at_most(call.num_items - first_of(tile), tile_items));
  }

  __device__ void bring(unsigned tile) const {
    const std::size_t first = first_of(tile);
    if (first >= call.num_items) return;
    bring_to_l2<shape::block_threads>(call.d_in, first, left_of(tile));
    call.criterion.template bring<shape::block_threads>(first, left_of(tile));
  }
  __device__ items read(unsigned tile, int warp) const {
    const std::size_t first = first_of(tile), last = call.num_items - 1;
    return {read_tile<shape, item>(call.d_in, first, last, warp, call.by_vectors),
            call.criterion.template fetch<shape, item>(call.d_in, first, last, warp)};
  }

  __device__ marks examine(found& of_tile, const items& here, unsigned tile, int warp) const {
    const unsigned present = flags_present<shape>(warp, left_of(tile));
    const unsigned chosen =
        call.criterion.template choose<shape, item>(here.of_lane, here.fetched, tile == 0, warp, present);
    const row_counts<shape, true> counts(chosen);
    if (threadIdx.x % parts::warp_threads == 0) of_tile.of_warp[warp] = counts.of_warp();
    // In place, whoever is told of the tile's count may overwrite the tile: so all of it has been read before.
    if (call.in_place) __threadfence();
    return {chosen, present, counts};
  }

  __device__ void post(const found& of_tile, unsigned tile, int, parts::tag tag) const {
    if (call.in_place) __threadfence();
    const int num_chosen = of_tile.before_by_lanes(num_workers);
    if (threadIdx.x % parts::warp_threads == 0) counts.post(tile, static_cast<unsigned long long>(num_chosen), tag);
  }

  // The chosen items, and behind them the others where they are written, too.
  __device__ void stage(staged& to, const found& of_tile, const items& here, const marks& flags, unsigned,
                        int warp) const {
    item* const slots = reinterpret_cast<item*>(to.items);
    int num_chosen = 0;
    if (warp == 0 || Selection::others == rejected::to_the_end) num_chosen = of_tile.before_by_lanes(num_workers);
    if (threadIdx.x == 0) to.num_chosen = num_chosen;
    const int warps_before = of_tile.before_by_lanes(warp);
    constexpr bool keeps_others = Selection::others == rejected::to_the_end;
    if (keeps_others || flags.chosen != 0)
      stage_chosen<keeps_others>(slots, here.of_lane, flags.chosen, flags.present, flags.counts, warp, warps_before,
                                 num_chosen);
  }

  __device__ void look(staged& of_tile, const found& found_there, looker_state& state, unsigned tile, int,
                       parts::tag tag) const {
    const unsigned long long before = state.before + parts::gather<5>(counts, state.tile, tile, tag, plus{});
    if (call.in_place) __threadfence();
    state = {before + static_cast<unsigned long long>(found_there.before_by_lanes(num_workers)), tile + 1};
    if (threadIdx.x % parts::warp_threads != 0) return;
    of_tile.before = before;
    if (first_of(tile + 1) >= call.num_items) *call.d_num_selected_out = state.before;
  }

  __device__ void write(const staged& from, unsigned tile, int) const {
    const auto slots = reinterpret_cast<const item*>(from.items);
    const std::size_t before = from.before;
    const int num_chosen = from.num_chosen;
    store_staged<shape::block_threads>(slots, call.place(before), num_chosen);
    if constexpr (Selection::others == rejected::to_the_end) {
      const std::size_t rejected_before = first_of(tile) - before;
      for (int i = threadIdx.x; i < left_of(tile) - num_chosen; i += shape::block_threads)
        *call.place_from_end(rejected_before + i) = value_of(slots[num_chosen + i]);
    }
  }
};

// Parts bytes: chosen ones are put together by words from the first slot on, the others backwards from the last one.
// A warp less leaves each lane 80 registers.
template <class Selection>
struct part_bytes_job : select_job<Selection, 23> {
  using base = select_job<Selection, 23>;
  using base::call, base::tile_items;
  using typename base::found, typename base::item, typename base::items, typename base::marks, typename base::shape,
      typename base::staged;
  static constexpr int spare = 1;  // words are joined with zeros

  __device__ void clear(staged& slots) const { clear_bytes<shape::block_threads>(slots.items, tile_items); }

  __device__ void stage(staged& to, const found& of_tile, const items& here, const marks& flags, unsigned,
                        int warp) const {
    if (warp == 0) {
      const int num_chosen = of_tile.before_by_lanes(base::num_workers);
      if (threadIdx.x == 0) to.num_chosen = num_chosen;
    }
    part_bytes(to.items, here.of_lane, flags.chosen, flags.present, flags.counts, warp, of_tile.before_by_lanes(warp));
  }

  __device__ void write(const staged& from, unsigned tile, int) const {
    const std::size_t before = from.before, rejected_before = base::first_of(tile) - before;
    const int num_chosen = from.num_chosen, num_others = this->left_of(tile) - num_chosen;
    store_bytes<shape::block_threads, item>(from.items, 0, call.place(before), num_chosen);
    store_bytes<shape::block_threads, item>(from.items, tile_items - num_others,
                                            call.place(call.num_items - rejected_before - num_others), num_others);
  }
};

template <class Selection>
using job_in_rounds =
    std::conditional_t<sizeof(typename Selection::item) == 1 && Selection::others == rejected::to_the_end,
                       part_bytes_job<Selection>, select_job<Selection>>;

// Storage: a mailbox of 16 bytes for each tile, and what draws tiles.
template <class Selection>
cudaError_t select(void* d_temp_storage, std::size_t& temp_storage_bytes, const Selection& call, cudaStream_t stream) {
  using mailboxes = parts::mailboxes<unsigned long long>;
  using shape = typename Selection::shape;
  const std::size_t num_tiles = parts::ceil_div(call.num_items, shape::tile_items);
  const std::size_t bytes = drawn_tiles::bytes + mailboxes::bytes(num_tiles);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  parts::opened_storage storage;
  if (num_tiles > 0) error = storage.open(region, bytes, stream);
  const mailboxes counts(region + drawn_tiles::bytes);
  if constexpr (Selection::suits_rounds) {
    using job = job_in_rounds<Selection>;
    static_assert(job::tile_items >= shape::tile_items, "the storage is that of smaller tiles");
    bool suits = false;
    int num_blocks = 0;
    if (error == cudaSuccess && call.num_items >= job::least_items) error = suits_rounds<job>(suits, num_blocks);
    if (error == cudaSuccess && suits)
      return launch_rounds(job{call, counts}, drawn_tiles(region), parts::ceil_div(call.num_items, job::tile_items),
                           num_blocks, storage, stream);
  }
  if (error != cudaSuccess) return error;
  // Of so many tiles nearly all are read at once (H200): few blocks would look back over many windows.
  const bool gathers = num_tiles >= 64 && num_tiles <= 256;
  const auto launch = [&](auto kernel, const auto& each) {
    return parts::launch_overlapped(kernel, num_tiles > 0 ? num_tiles : 1, shape::block_threads, 0, storage.clears,
                                    stream, each, counts, storage.of_call);
  };
  if (gathers) return launch(select_kernel<Selection, true>, call);
  if constexpr (Selection::suits_unaligned)
    if (!call.by_vectors || !call.values.by_vectors)
      return launch(select_kernel<decltype(call.as_unaligned()), false>, call.as_unaligned());
  return launch(select_kernel<Selection, false>, call);
}

}  // namespace rungs::RUNGS_ABI::production
