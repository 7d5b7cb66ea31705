// Lengths of runs of many items, in rounds (rounds.cuh): a tile's marks lie side by side in shared memory, until the
// next tiles have been examined.
#pragma once

#include "rungs/production/compaction/rounds.cuh"
#include "rungs/production/compaction/run_length_kernel.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Call, class Plan = typename Call::rounds>
struct run_length_job {
  using item = typename Call::item;
  using shape = typename Plan::shape;
  static constexpr int num_workers = shape::num_warps, num_lookers = 1;
  static constexpr int resident_blocks = Plan::resident_blocks, lag = Plan::lag, ahead = Plan::ahead;
  static constexpr int tile_items = shape::tile_items;
  static constexpr std::size_t least_items = (std::size_t{64} << 20) / sizeof(item);

  using items = items_of_runs<shape, item>;
  struct marks {
    unsigned flags;
    row_counts<shape, true> counts;
  };
  using found = marks_of_warps<num_workers>;
  struct staged : staged_marks<Call, shape> {
    int count;
    marked_items before;
  };
  struct looker_state {
    marked_items before;  // in the tiles before `tile`
    unsigned tile;
  };

  Call call;
  parts::mailboxes<marked_items> mailboxes;

  static __device__ std::size_t first_of(unsigned tile) { return std::size_t{tile} * tile_items; }
  __device__ int left_of(unsigned tile) const {
    return static_cast<int>(parts::at_most(call.num_items - first_of(tile), tile_items));
  }

  __device__ void bring(unsigned tile) const {
    if (first_of(tile) < call.num_items) bring_to_l2<shape::block_threads>(call.d_in, first_of(tile), left_of(tile));
  }
  __device__ items read(unsigned tile, int warp) const { return read_runs<shape>(call, first_of(tile), warp); }

  __device__ marks examine(found& of_tile, const items& here, unsigned tile, int warp) const {
    const unsigned flags =
        flags_of_marks<shape>(call, here, first_of(tile), warp, flags_present<shape>(warp, left_of(tile)));
    const row_counts<shape, true> counts(flags);
    const int last = last_marked<shape>(flags, warp);
    if (threadIdx.x % parts::warp_threads == 0) {
      of_tile.counts.of_warp[warp] = counts.of_warp();
      of_tile.last[warp] = last;
    }
    return {flags, counts};
  }

  __device__ void post(const found& of_tile, unsigned tile, int, parts::tag tag) const {
    const marked_items here = of_tile.of_tile(first_of(tile));
    if (threadIdx.x % parts::warp_threads == 0) mailboxes.post(tile, here, tag);
  }

  __device__ void stage(staged& to, const found& of_tile, const items& here, const marks& marks, unsigned,
                        int warp) const {
    if (warp == 0) {
      const int count = of_tile.counts.before_by_lanes(num_workers);
      if (threadIdx.x == 0) to.count = count;
    }
    stage_marked<Call>(to.places, reinterpret_cast<item*>(to.firsts), here.of_lane, marks.flags, marks.counts, warp,
                       of_tile.counts.before_by_lanes(warp));
  }

  __device__ void look(staged& of_tile, const found& found_there, looker_state& state, unsigned tile, int,
                       parts::tag tag) const {
    const add_marked_items add;
    const marked_items before = add(state.before, parts::gather<3>(mailboxes, state.tile, tile, tag, add));
    state = {add(before, found_there.of_tile(first_of(tile))), tile + 1};
    if (threadIdx.x % parts::warp_threads != 0) return;
    of_tile.before = before;
    if (first_of(tile + 1) >= call.num_items) write_last_run(call, state.before);
  }

  __device__ void write(const staged& from, unsigned tile, int) const {
    write_marked<shape::block_threads>(call, from.places, reinterpret_cast<const item*>(from.firsts), from.count,
                                       from.before, first_of(tile));
  }
};

template <class Call>
cudaError_t launch_run_lengths(const Call& call, char* region, std::size_t num_tiles,
                               const parts::opened_storage& storage, cudaStream_t stream) {
  return parts::launch_overlapped(run_length_kernel<Call>, num_tiles > 0 ? num_tiles : 1, Call::shape::block_threads, 0,
                                  storage.clears, stream, call, parts::mailboxes<marked_items>(region),
                                  storage.of_call);
}

// Storage: what draws tiles, and a mailbox of 32 bytes for each tile. It never is less for more items.
template <class Call>
cudaError_t encode_runs(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call, cudaStream_t stream) {
  using mailboxes = parts::mailboxes<marked_items>;
  using few = decltype(call.of_few());
  const bool is_few = call.num_items <= Call::most_few;
  const std::size_t few_tiles = parts::ceil_div(is_few ? call.num_items : Call::most_few, few::shape::tile_items);
  const std::size_t large_tiles = parts::ceil_div(call.num_items, Call::shape::tile_items);
  const std::size_t bytes = drawn_tiles::bytes + mailboxes::bytes(few_tiles > large_tiles ? few_tiles : large_tiles);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  parts::opened_storage storage;
  if (call.num_items > 0) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  char* const posts = region + drawn_tiles::bytes;
  if constexpr (Call::most_few > 0)
    if (is_few) return launch_run_lengths(call.of_few(), posts, few_tiles, storage, stream);
  if constexpr (Call::suits_rounds) {
    using job = run_length_job<Call>;
    static_assert(job::tile_items >= Call::shape::tile_items, "the storage is that of smaller tiles");
    bool suits = false;
    int num_blocks = 0;
    if (call.num_items >= job::least_items) error = suits_rounds<job>(suits, num_blocks);
    if (error != cudaSuccess) return error;
    if (suits)
      return launch_rounds(job{call, mailboxes(posts)}, drawn_tiles(region),
                           parts::ceil_div(call.num_items, job::tile_items), num_blocks, storage, stream);
  }
  return launch_run_lengths(call, posts, large_tiles, storage, stream);
}

}  // namespace rungs::RUNGS_ABI::production
