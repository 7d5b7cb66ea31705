// Runs of many keys reduced, in rounds (rounds.cuh): the runs that end in a tile lie side by side in shared memory,
// until the next tile has been examined. One looker asks what precedes the tile within its first run, the other one how
// many runs began before.
#pragma once

#include "rungs/production/compaction/by_key_kernel.cuh"
#include "rungs/production/compaction/rounds.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Call>
struct reduce_by_key_job {
  using key = typename Call::key;
  using value = typename Call::value;
  using T = typename Call::accumulator;
  // Two blocks while one folds what the other waits for; of wide pairs shared memory holds one block's.
  static constexpr bool is_wide = sizeof(key) + sizeof(T) > 12;
  static constexpr int num_workers = is_wide ? 14 : 8, num_lookers = 2, resident_blocks = is_wide ? 1 : 2, lag = 2;
  using shape = rows_of_warps<Call::shape::neighbours, 4, num_workers>;
  static constexpr int tile_items = shape::tile_items;
  // Of fewer, a tile a block takes less time (H100).
  static constexpr std::size_t least_items = (std::size_t{128} << 20) / (sizeof(key) + sizeof(value));

  struct items {
    lane_rows<shape, key> keys;
    lane_rows<shape, value> values;
    key before_warp;
  };
  struct marks {
    unsigned heads;
    row_counts<shape> counts;
    warp_runs<shape, T> runs;
  };
  struct found {
    T of_warp[num_workers];
    unsigned begins[num_workers];  // whether a run begins in the warp's items
    warp_counts<num_workers> counts;

    __device__ unsigned warps_beginning() const {
      unsigned warps = 0;
#pragma unroll
      for (int i = 0; i < num_workers; ++i) warps |= begins[i] << i;
      return warps;
    }
  };
  struct staged {
    alignas(16) unsigned char keys[sizeof(key) * tile_items + 16];
    alignas(16) unsigned char aggregates[sizeof(T) * tile_items];
    T before, leading, last;  // what precedes the tile, what the tile adds to that run, the aggregate of its last item
    bool has_leading, last_continues;
    int num_runs;
    unsigned long long runs_before;
  };
  struct looker_state {
    unsigned long long before;  // runs that began in the tiles before `tile`
    unsigned tile;
  };

  Call call;
  run_mailboxes<T> runs;
  parts::mailboxes<unsigned long long> counts;

  static __device__ std::size_t first_of(unsigned tile) { return std::size_t{tile} * tile_items; }
  __device__ bool is_last(unsigned tile) const { return first_of(tile + 1) >= call.num_items; }
  __device__ int left_of(unsigned tile) const {
    return static_cast<int>(parts::at_most(call.num_items - first_of(tile), tile_items));
  }

  __device__ items read(unsigned tile, int warp) const {
    const std::size_t first = first_of(tile), last = call.num_items - 1;
    return {read_tile<shape, key>(call.d_keys_in, first, last, warp, call.keys_by_vectors),
            read_tile<shape, value>(call.d_values_in, first, last, warp, call.values_by_vectors),
            read_before_warp<shape, key>(call.d_keys_in, first, last, warp)};
  }

  __device__ marks examine(found& of_tile, const items& here, unsigned tile, int warp) const {
    const unsigned present = flags_present<shape>(warp, left_of(tile));
    marks flags;
    flags.heads = flags_of_heads<shape>(here.keys, here.before_warp, tile == 0, warp, present, call.equality_op);
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) flags.runs.values[row][k] = accumulated<T>(here.values(row, k));
    flags.runs.scan(flags.heads | ~present, call.op);
    flags.counts = row_counts<shape>(flags.heads);
    if (threadIdx.x % parts::warp_threads == 0) {
      of_tile.of_warp[warp] = flags.runs.of_warp;
      of_tile.begins[warp] = flags.runs.begins;
      of_tile.counts.of_warp[warp] = flags.counts.of_warp();
    }
    return flags;
  }

  __device__ T aggregate_of(const found& of_tile) const {
    return before_warp_in_tile(of_tile, of_tile.warps_beginning(), num_workers, call.op);
  }
  __device__ void post(const found& of_tile, unsigned tile, int looker, parts::tag tag) const {
    if (is_last(tile)) return;
    if (looker == 0) {
      const T aggregate = aggregate_of(of_tile);
      if (threadIdx.x % parts::warp_threads == 0) runs.post(tile, aggregate, of_tile.warps_beginning() != 0, tag);
    } else if (threadIdx.x % parts::warp_threads == 0) {
      counts.post(tile, static_cast<unsigned long long>(of_tile.counts.before(num_workers)), tag);
    }
  }

  __device__ void stage(staged& to, const found& of_tile, const items& here, const marks& flags, unsigned tile,
                        int warp) const {
    const unsigned warps_beginning = of_tile.warps_beginning();
    T before_warp = flags.runs.of_warp;
    if (warp > 0) before_warp = before_warp_in_tile(of_tile, warps_beginning, warp, call.op);
    key* const keys = reinterpret_cast<key*>(to.keys);
    T* const aggregates = reinterpret_cast<T*>(to.aggregates);
    with_ended_runs<shape>(flags.runs, here.keys, flags.heads, flags.counts, of_tile.counts.before(warp), warp,
                           before_warp, to, call.op, [&](int rank, const key& first_key, const T& ended) {
                             keys[rank] = first_key;
                             aggregates[rank] = ended;
                           });
    if (is_last(tile)) {
      const bool begins_before_warp = (warps_beginning & ((1u << warp) - 1)) != 0;
      keep_last<shape>(flags.runs, left_of(tile) - 1, warp, before_warp, begins_before_warp, to, call.op);
    }
    if (threadIdx.x == 0) to.num_runs = of_tile.counts.before(num_workers);
  }

  __device__ void look(staged& of_tile, const found& found_there, looker_state& state, unsigned tile, int looker,
                       parts::tag tag) const {
    const bool is_first_lane = threadIdx.x % parts::warp_threads == 0;
    const int num_runs = found_there.counts.before(num_workers);
    if (looker == 0) {
      const bool ends_group = tile % run_mailboxes<T>::group_tiles == run_mailboxes<T>::group_tiles - 1;
      if (tile == 0 || (num_runs == 0 && !is_last(tile) && !ends_group)) return;
      const T before = runs.before(tile, aggregate_of(found_there), found_there.warps_beginning() != 0, tag, call.op);
      if (is_first_lane) of_tile.before = before;
    } else {
      const unsigned long long before = state.before + parts::gather<5>(counts, state.tile, tile, tag, plus{});
      state = {before + static_cast<unsigned long long>(num_runs), tile + 1};
      if (!is_first_lane) return;
      of_tile.runs_before = before;
      if (is_last(tile)) *call.output.d_num_runs_out = state.before;
    }
  }

  __device__ void write(const staged& from, unsigned tile, int) const {
    write_ended_runs<shape::block_threads>(call, from, reinterpret_cast<const key*>(from.keys),
                                           reinterpret_cast<const T*>(from.aggregates), from.num_runs, tile == 0,
                                           is_last(tile));
  }
};

// Storage: for each tile mailboxes for an accumulator, and for a count or a key; for each 32 tiles one more for an
// accumulator.
template <class Call>
cudaError_t run_by_key(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call, cudaStream_t stream) {
  using T = typename Call::accumulator;
  using shape = typename Call::shape;
  using counts = parts::mailboxes<unsigned long long>;
  using keys = parts::mailboxes<typename Call::key>;
  const std::size_t num_tiles = parts::ceil_div(call.num_items, shape::tile_items);
  const std::size_t others_at = drawn_tiles::bytes + run_mailboxes<T>::bytes(num_tiles);
  const std::size_t bytes = others_at + (Call::is_scan ? keys::bytes(num_tiles) : counts::bytes(num_tiles));
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  if (Call::is_scan && num_tiles == 0) return cudaSuccess;
  parts::opened_storage storage;
  if (num_tiles > 0) error = storage.open(region, bytes, stream);
  const auto runs = run_mailboxes<T>::at(region + drawn_tiles::bytes, num_tiles);
  if constexpr (Call::suits_rounds) {
    using job = reduce_by_key_job<Call>;

    static_assert(job::tile_items >= shape::tile_items, "the storage is that of smaller tiles");
    bool suits = false;
    int num_blocks = 0;
    if (error == cudaSuccess && call.num_items >= job::least_items) error = suits_rounds<job>(suits, num_blocks);
    if (error == cudaSuccess && suits)
      return launch_rounds(job{call, runs, counts(region + others_at)}, drawn_tiles(region),
                           parts::ceil_div(call.num_items, job::tile_items), num_blocks, storage, stream);
  }
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(by_key_kernel<Call>, num_tiles > 0 ? num_tiles : 1, shape::block_threads, 0,
                                  storage.clears, stream, call, runs, counts(region + others_at),
                                  keys(region + others_at), storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
