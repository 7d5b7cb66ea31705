// Calls on runs of many keys in rounds (rounds.cuh). Of reductions the runs that end in a tile lie side by side in
// shared memory, of scans all items, until the next tiles have been examined. One looker asks what precedes the tile
// within its first run, that of reductions another one how many runs began before.
#pragma once

#include "rungs/production/compaction/by_key_kernel.cuh"
#include "rungs/production/compaction/rounds.cuh"

namespace rungs::RUNGS_ABI::production {

// What reductions and scans do in the same way: they read, fold what lies in a tile, and tell other blocks its last
// run. The tile is that of a block that has only one. So sums of floats have the same bits whichever kernel takes them,
// also on GPUs whose blocks have too little shared memory for rounds.
template <class Call>
struct by_key_job {
  static constexpr int ahead = 1;
  using key = typename Call::key;
  using value = typename Call::value;
  using T = typename Call::accumulator;
  using shape = typename Call::shape;
  static constexpr int num_workers = shape::num_warps, tile_items = shape::tile_items;

  struct items {
    lane_rows<shape, key> keys;
    lane_rows<shape, value> values;
    key before_warp;
  };
  struct marks {
    unsigned heads, present;
    row_counts<shape> counts;
    warp_runs<shape, T> runs;
  };
  struct alignas(16) found {  // which is read by vectors
    T of_warp[num_workers];
    unsigned begins[num_workers];  // whether a run begins in the warp's items
    warp_counts<num_workers> counts;
    bool continues;  // whether the tile's first item continues a run

    __device__ unsigned warps_beginning() const {
      unsigned warps = 0;
#pragma unroll
      for (int i = 0; i < num_workers; ++i) warps |= begins[i] << i;
      return warps;
    }
    // Whether a run begins in the warps before.
    __device__ bool begins_before(int warp) const { return (warps_beginning() & ((1u << warp) - 1)) != 0; }
  };

  Call call;
  run_mailboxes<T> runs;
  parts::mailboxes<unsigned long long> counts;

  static __device__ std::size_t first_of(unsigned tile) { return std::size_t{tile} * tile_items; }
  __device__ bool is_last(unsigned tile) const { return first_of(tile + 1) >= call.num_items; }
  __device__ int left_of(unsigned tile) const {
    return static_cast<int>(parts::at_most(call.num_items - first_of(tile), tile_items));
  }

  __device__ void bring(unsigned) const {}
  __device__ items read(unsigned tile, int warp) const {
    const std::size_t first = first_of(tile), last = call.num_items - 1;
    constexpr bool unaligned = Call::unaligned;
    return {read_tile<shape, key, unaligned>(call.d_keys_in, first, last, warp, call.keys_by_vectors),
            read_tile<shape, value, unaligned>(call.d_values_in, first, last, warp, call.values_by_vectors),
            read_before_warp<shape, key>(call.d_keys_in, first, last, warp)};
  }

  __device__ marks examine(found& of_tile, const items& here, unsigned tile, int warp) const {
    marks flags;
    flags.present = flags_present<shape>(warp, left_of(tile));
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) flags.runs.values[row][k] = accumulated<T>(here.values(row, k));
    flags.heads = flags_of_heads<shape>(here.keys, here.before_warp, tile == 0, warp, flags.present, call.equality_op,
                                        [&](int row, int k) { flags.runs.join(row, k, call.op); });
    flags.runs.join_lanes(flags.heads, call.op);
    if constexpr (Call::is_scan) flags.runs.complete(flags.heads, call.op);
    if constexpr (!Call::is_scan) flags.counts = row_counts<shape>(flags.heads);
    if (threadIdx.x % parts::warp_threads == 0) {
      of_tile.of_warp[warp] = flags.runs.of_warp;
      of_tile.begins[warp] = flags.runs.begins;
      if constexpr (!Call::is_scan) of_tile.counts.of_warp[warp] = flags.counts.of_warp();
      if (warp == 0) of_tile.continues = (flags.heads & 1) == 0;
    }
    return flags;
  }

  __device__ T aggregate_of(const found& of_tile) const {
    return before_warp_in_tile(of_tile, of_tile.warps_beginning(), num_workers, call.op);
  }
  __device__ T before_warp(const found& of_tile, const marks& flags, int warp) const {
    return warp > 0 ? before_warp_in_tile(of_tile, of_tile.warps_beginning(), warp, call.op) : flags.runs.of_warp;
  }
  __device__ void post_run(const found& of_tile, unsigned tile, parts::tag tag) const {
    const T aggregate = aggregate_of(of_tile);
    if (threadIdx.x % parts::warp_threads == 0) runs.post(tile, aggregate, of_tile.warps_beginning() != 0, tag);
  }
  // What precedes a tile within the run of its first item. The last tile of every group has to ask.
  __device__ void look_at_run(T& before, const found& of_tile, unsigned tile, bool is_asked, parts::tag tag) const {
    const bool ends_group = tile % run_mailboxes<T>::group_tiles == run_mailboxes<T>::group_tiles - 1;
    if (tile == 0 || (!is_asked && !ends_group)) return;
    const T value = runs.before(tile, aggregate_of(of_tile), of_tile.warps_beginning() != 0, tag, call.op);
    if (threadIdx.x % parts::warp_threads == 0) before = value;
  }
};

template <class Call>
struct reduce_by_key_job : by_key_job<Call> {
  using base = by_key_job<Call>;
  using base::call, base::counts, base::num_workers, base::tile_items;
  using typename base::T, typename base::found, typename base::items, typename base::key, typename base::marks,
      typename base::shape;
  static constexpr int num_lookers = 2, resident_blocks = 2, lag = 2, spare = 0;

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

  __device__ void post(const found& of_tile, unsigned tile, int looker, parts::tag tag) const {
    if (this->is_last(tile)) return;
    if (looker == 0)
      this->post_run(of_tile, tile, tag);
    else if (threadIdx.x % parts::warp_threads == 0)
      counts.post(tile, static_cast<unsigned long long>(of_tile.counts.before(num_workers)), tag);
  }

  __device__ void stage(staged& to, const found& of_tile, const items& here, const marks& flags, unsigned tile,
                        int warp) const {
    const T before_warp = this->before_warp(of_tile, flags, warp);
    if (threadIdx.x == 0) to.num_runs = of_tile.counts.before(num_workers);
    stage_ended_runs<shape>(flags.runs, here.keys, flags.heads, flags.counts, of_tile.counts.before(warp), warp,
                            before_warp, reinterpret_cast<key*>(to.keys), reinterpret_cast<T*>(to.aggregates), to,
                            call.op);
    if (!this->is_last(tile)) return;
    warp_runs<shape, T> runs = flags.runs;
    runs.complete(flags.heads, call.op);
    keep_last<shape>(runs, this->left_of(tile) - 1, warp, before_warp, of_tile.begins_before(warp), to, call.op);
  }

  __device__ void look(staged& of_tile, const found& found_there, looker_state& state, unsigned tile, int looker,
                       parts::tag tag) const {
    const int num_runs = found_there.counts.before(num_workers);
    if (looker == 0) {
      this->look_at_run(of_tile.before, found_there, tile, num_runs > 0 || this->is_last(tile), tag);
    } else {
      const unsigned long long before = state.before + parts::gather<5>(counts, state.tile, tile, tag, plus{});
      state = {before + static_cast<unsigned long long>(num_runs), tile + 1};
      if (threadIdx.x % parts::warp_threads != 0) return;
      of_tile.runs_before = before;
      if (this->is_last(tile)) *call.output.d_num_runs_out = state.before;
    }
  }

  __device__ void write(const staged& from, unsigned tile, int) const {
    write_ended_runs<shape::block_threads>(call, from, reinterpret_cast<const key*>(from.keys),
                                           reinterpret_cast<const T*>(from.aggregates), from.num_runs, tile == 0,
                                           this->is_last(tile));
  }
};

// Scans by key: a lane keeps its scanned items in shared memory, and adds what precedes the tile when it writes them.
template <class Call>
struct scan_by_key_job : by_key_job<Call> {
  using base = by_key_job<Call>;
  using base::call, base::tile_items;
  using typename base::T, typename base::found, typename base::items, typename base::marks, typename base::shape;
  static constexpr int num_lookers = 1, resident_blocks = sizeof(T) == 8 ? 3 : 2, lag = 2, spare = 0;
  static constexpr bool is_exclusive = Call::result == of_runs::exclusive_scans;

  struct staged {
    alignas(16) unsigned char values[sizeof(T) * tile_items];
    unsigned open[shape::block_threads];  // flags: items of the run that began before the tile
    T before;                             // what precedes the tile in that run
    T before_warp[base::num_workers];     // what the tile's warps before add to it
  };
  struct looker_state {};

  __device__ void post(const found& of_tile, unsigned tile, int, parts::tag tag) const {
    if (!this->is_last(tile)) this->post_run(of_tile, tile, tag);
  }

  // Items of the run that began before the tile as the warp knows them, the others as they will be written; of
  // exclusive scans the item before, and init.
  __device__ void stage(staged& to, const found& of_tile, const items&, const marks& flags, unsigned, int warp) const {
    constexpr int neighbours = shape::neighbours;
    const int lane = threadIdx.x % parts::warp_threads;
    const T before_warp = this->before_warp(of_tile, flags, warp);
    const bool is_in_tile = of_tile.begins_before(warp);  // what began before the warp
    const unsigned open = is_in_tile ? 0 : flags.runs.continues;
    to.open[threadIdx.x] = open;
    if (lane == 0) to.before_warp[warp] = before_warp;
    T row_before = before_warp;  // of the row's first item
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      T scanned[neighbours];
#pragma unroll
      for (int k = 0; k < neighbours; ++k) {
        scanned[k] = flags.runs.values[row][k];
        if (is_in_tile && (flags.runs.continues & shape::bit(row, k)) != 0)
          scanned[k] = call.op(before_warp, scanned[k]);
      }
      T* const slots = reinterpret_cast<T*>(to.values) + shape::position(warp, row);
      if constexpr (is_exclusive) {
        T ahead = parts::shuffle_up(scanned[neighbours - 1], 1);
        if (lane == 0) ahead = row_before;
        row_before = parts::shuffle_from(scanned[neighbours - 1], parts::warp_threads - 1);
#pragma unroll
        for (int k = 0; k < neighbours; ++k) {
          const bool continues_run = ((flags.heads | ~flags.present) & shape::bit(row, k)) == 0;
          const T before = k == 0 ? ahead : scanned[k - (k > 0)];
          slots[k] = !continues_run                     ? call.output.init
                     : (open & shape::bit(row, k)) != 0 ? before
                                                        : call.op(call.output.init, before);
        }
      } else {
#pragma unroll
        for (int k = 0; k < neighbours; ++k) slots[k] = scanned[k];
      }
    }
  }

  __device__ void look(staged& of_tile, const found& found_there, looker_state&, unsigned tile, int,
                       parts::tag tag) const {
    this->look_at_run(of_tile.before, found_there, tile, found_there.continues, tag);
  }

  // The same operations in the same order as in by_key_kernel: what precedes the tile and the warps before come first.
  __device__ void write(const staged& from, unsigned tile, int warp) const {
    const unsigned open = from.open[threadIdx.x];
    T before = from.before;
    if (warp > 0 && open != 0) before = call.op(before, from.before_warp[warp]);
    rows_writer<shape, decltype(call.output.d_values_out), Call::unaligned> writer(
        call.output.d_values_out, this->first_of(tile), warp, this->left_of(tile), call.output.by_vectors);
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      const T* const slots = reinterpret_cast<const T*>(from.values) + shape::position(warp, row);
      T values[shape::neighbours];
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) {
        values[k] = slots[k];
        if ((open & shape::bit(row, k)) == 0) continue;
        const bool is_first = is_exclusive && row == 0 && k == 0 && threadIdx.x % parts::warp_threads == 0;
        values[k] = is_first ? before : static_cast<T>(call.op(before, values[k]));
        if constexpr (is_exclusive) values[k] = call.op(call.output.init, values[k]);
      }
      writer.write_row(row, values);
    }
  }
};

template <class Call>
cudaError_t launch_by_key(const Call& call, char* region, std::size_t others_at, std::size_t num_tiles,
                          const parts::opened_storage& storage, cudaStream_t stream) {
  return parts::launch_overlapped(by_key_kernel<Call>, num_tiles > 0 ? num_tiles : 1, Call::shape::block_threads, 0,
                                  storage.clears, stream, call,
                                  run_mailboxes<typename Call::accumulator>::at(region + drawn_tiles::bytes, num_tiles),
                                  count_mailboxes::at(region + others_at, num_tiles),
                                  parts::mailboxes<typename Call::key>(region + others_at), storage.of_call);
}

// Storage: for each tile mailboxes for an accumulator, and for a count or a key; one more for an accumulator for each
// 32 tiles, and for a count for each 128. It never is less for more items.
template <class Call>
cudaError_t run_by_key(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call, cudaStream_t stream) {
  using T = typename Call::accumulator;
  using few = decltype(call.of_few());
  using keys = parts::mailboxes<typename Call::key>;
  const bool is_few = call.num_items <= Call::most_few;
  const std::size_t few_tiles = parts::ceil_div(is_few ? call.num_items : Call::most_few, few::shape::tile_items);
  const std::size_t large_tiles = parts::ceil_div(call.num_items, Call::shape::tile_items);
  const std::size_t num_tiles = is_few ? few_tiles : large_tiles;
  const std::size_t most_tiles = few_tiles > large_tiles ? few_tiles : large_tiles;
  const std::size_t others_at = drawn_tiles::bytes + run_mailboxes<T>::bytes(most_tiles);
  const std::size_t bytes = others_at + (Call::is_scan ? keys::bytes(most_tiles) : count_mailboxes::bytes(most_tiles));
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  if (Call::is_scan && num_tiles == 0) return cudaSuccess;
  parts::opened_storage storage;
  if (num_tiles > 0) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  if constexpr (Call::most_few > 0)
    if (is_few) return launch_by_key(call.of_few(), region, others_at, num_tiles, storage, stream);
  const auto launch = [&](const auto& large) {
    using large_call = std::decay_t<decltype(large)>;
    if constexpr (Call::suits_rounds) {
      using job = std::conditional_t<Call::is_scan, scan_by_key_job<large_call>, reduce_by_key_job<large_call>>;
      bool suits = false;
      int num_blocks = 0;
      if (call.num_items >= Call::least_in_rounds)
        if (const cudaError_t asked = suits_rounds<job>(suits, num_blocks)) return asked;
      if constexpr (Call::is_scan) suits = suits && !call.output.overwrites_keys;
      if (suits)
        return launch_rounds(job{{large, run_mailboxes<T>::at(region + drawn_tiles::bytes, num_tiles),
                                  parts::mailboxes<unsigned long long>(region + others_at)}},
                             drawn_tiles(region), num_tiles, num_blocks, storage, stream);
    }
    return launch_by_key(large, region, others_at, num_tiles, storage, stream);
  };
  if constexpr (Call::suits_unaligned)
    if (!call.is_aligned()) return launch(call.as_unaligned());
  return launch(call);
}

}  // namespace rungs::RUNGS_ABI::production
