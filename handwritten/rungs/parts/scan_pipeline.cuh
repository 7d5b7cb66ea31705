// The pipeline of 12_bulk_pipeline: four roles in a block, over a ring of tiles in shared memory. What passes between
// the roles is counted by phase barriers, on which every lane arrives that has read or written: one lane for all after
// a __syncwarp would do, but compute-sanitizer believes only those that arrive, and 32 arrivals take no longer.
#pragma once

#include "rungs/parts/aligned_rows.cuh"
#include "rungs/parts/bulk_copy.cuh"
#include "rungs/parts/gather.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/state.cuh"

namespace rungs::v0::parts {

// Who gets which tile after a block's first: the next in a fixed stride, or the next that nobody has drawn.
enum class schedule { strided, drawn };

template <int scan_warps, int reduce_warps, class Rows>
struct pipeline {
  using rows = Rows;
  using T = typename Rows::accumulator;
  using item = typename Rows::item;
  using input = typename Rows::input;
  static constexpr int look_back_warps = 2;
  static constexpr int block_threads = (scan_warps + reduce_warps + look_back_warps + 1) * warp_threads;
  static constexpr int tile_items = scan_warps * Rows::warp_items;
  static constexpr int tile_bytes = tile_items * static_cast<int>(sizeof(input));
  static constexpr int slot_bytes = (tile_bytes + 16 + 127) / 128 * 128;  // 16 more for what is not aligned to 16
  // As many as shared memory holds; of small tiles more than sixteen do not help.
  static constexpr int most_stages = 200 * 1024 / slot_bytes, stages = most_stages < 16 ? most_stages : 16;
  static_assert(stages >= look_back_warps + 1, "the ring is too short for tiles of this size");
  using position = ring_position<stages>;

  struct memory {
    alignas(128) unsigned char tiles[stages][slot_bytes];
    phase_barrier arrived[stages];   // the tile is here, and its number
    phase_barrier reduced[stages];   // so are its warps' aggregates
    phase_barrier preceded[stages];  // and what precedes it
    phase_barrier emptied[stages];   // and it has been taken out again
    item warp_aggregates[stages][scan_warps];
    T prefixes[stages];
    long long tile[stages], last_tile[stages];  // of this block; -1: no more
    int copied[stages];                         // items
    phase_barrier epoch_known;
    unsigned epoch;
  };

  typename Rows::input_iterator d_in;
  typename Rows::output_iterator d_out;
  std::size_t num_items;
  int ahead;            // of these, the first that are not there
  int shift;            // bytes by which d_in misses an alignment to 16; -1: no pointer, nothing can be copied
  bool stores_vectors;  // whether the alignment of d_out allows it
  int lookers;          // warps that look back: two hide more, one asks less often
  mailboxes<item> mailboxes;
  state* state;

  // On an H200 a second warp gains up to 7 % where a block has few tiles or tiles come fast, as those of narrow items
  // do; else it loses 2 %.
  static constexpr int lookers_for(std::size_t tiles_per_block) {
    return sizeof(input) < 4 || tiles_per_block < 48 ? look_back_warps : 1;
  }

  __device__ long long num_tiles() const { return ceil_div(num_items, tile_items); }
  __device__ int items_in(long long tile) const {
    return static_cast<int>(at_most(num_items - tile * tile_items, tile_items));
  }
  // Whether the first of these items are not there.
  __device__ bool lacks_some(long long tile, int first) const {
    return Rows::may_lack_first && ahead > 0 && tile == 0 && first == 0;
  }
  // How many of a tile's first items come by bulk copies: whole units of 16 bytes that lie within the input. Of a tile
  // that lacks some, all but those in the first unit.
  __device__ int copied_items(long long tile) const {
    if (shift == 0) return items_in(tile) * static_cast<int>(sizeof(input)) / 16 * 16 / static_cast<int>(sizeof(input));
    return shift > 0 && tile > 0 && tile < num_tiles() - 1 ? tile_items : 0;
  }
  __device__ input* items_of(memory& shared, int stage) const {
    return reinterpret_cast<input*>(shared.tiles[stage] + (shift > 0 ? shift : 0));
  }

  __device__ void take(Rows& rows, memory& shared, int stage, int warp, bool all_there) const {
    rows.load_shared(items_of(shared, stage) + warp * Rows::warp_items, all_there);
  }

  // Says which tile a stage is to hold, and orders its copy.
  __device__ void order_copy(memory& shared, int stage, long long tile, long long last_tile) const {
    const bool present = tile < num_tiles();
    const int copied = present ? copied_items(tile) : 0;
    shared.tile[stage] = present ? tile : -1;
    shared.last_tile[stage] = last_tile;
    shared.copied[stage] = copied;
    if constexpr (Rows::reads_vectors) {
      if (copied > 0) {
        const unsigned skipped = lacks_some(tile, 0) ? 16 : 0;
        const unsigned bytes = copied * sizeof(input) + (shift > 0 ? 16 : 0) - skipped;
        if (shift > 0) order_bulk_after_stores();  // of the first tile, which was not copied
        if (bytes > 0) {
          shared.arrived[stage].arrive_and_expect(bytes);
          bulk_load(shared.tiles[stage] + skipped,
                    reinterpret_cast<const unsigned char*>(d_in + tile * tile_items) - shift + skipped, bytes,
                    shared.arrived[stage]);
          return;
        }
      }
    }
    shared.arrived[stage].arrive();
  }

  // The first tiles, one a stage. What a kernel does first is short and straight: its instructions come from DRAM.
  __device__ void start(memory& shared) const {
    for (int stage = 0; stage < stages; ++stage) {
      shared.arrived[stage].initialise(1);
      shared.reduced[stage].initialise(reduce_warps * warp_threads);
      shared.preceded[stage].initialise(1);
      // The warps that scan, the one that publishes and the one that looks back.
      shared.emptied[stage].initialise((scan_warps + 2) * warp_threads);
    }
    shared.epoch_known.initialise(1);
    publish_barriers();
    long long tile = blockIdx.x, last_tile = 0;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
      order_copy(shared, stage, tile, last_tile);
      last_tile = tile;
      tile += gridDim.x;
    }
  }

  // The others, as stages become empty.
  template <schedule order>
  __device__ void load(memory& shared) const {
    const long long num_tiles = this->num_tiles();
    long long last_tile = blockIdx.x + (stages - 1ll) * gridDim.x;
    int ends = last_tile >= num_tiles;  // has the first round shown the end?
    for (position at;; at.advance()) {
      long long tile = last_tile + gridDim.x;
      if (order == schedule::drawn && ends == 0) {
        const long long drawn = atomicAdd(&state->tiles_drawn, 1u);
        if (drawn == num_tiles - (stages - 1ll) * gridDim.x - 1) state->tiles_drawn = 0;  // nobody draws after the last
        tile = static_cast<long long>(stages) * gridDim.x + drawn;
      }
      if (ends > 0) tile = num_tiles;
      if (tile >= num_tiles && ++ends > lookers) return;  // each of them waits at a stage of its own
      shared.emptied[at.stage].wait(at.parity);
      order_copy(shared, at.stage, tile, last_tile);
      last_tile = tile;
    }
  }

  // Reduces tiles as they arrive, and publishes their aggregates. Brings what was not copied.
  template <class ScanOpT>
  __device__ void reduce(memory& shared, int warp, ScanOpT scan_op) const {
    const int lane = threadIdx.x % warp_threads;
    unsigned epoch = 0;
    for (position at;; at.advance()) {
      shared.arrived[at.stage].wait(at.parity);
      const long long tile = shared.tile[at.stage];
      if (tile < 0) return;
      const int left = items_in(tile), copied = shared.copied[at.stage];
#pragma unroll
      for (int i = warp; i < scan_warps; i += reduce_warps) {
        const int first = i * Rows::warp_items;
        if (copied < left) {
          const int last = left < first + Rows::warp_items ? left : first + Rows::warp_items;
          input* const items = items_of(shared, at.stage);
#pragma unroll 4
          for (int k = (copied > first ? copied : first) + lane; k < last; k += warp_threads)
            if (!lacks_some(tile, first) || k >= ahead) items[k] = d_in[tile * tile_items + k];
          __syncwarp();
        }
        if (lacks_some(tile, first)) {
          const int k = ahead + lane;
          if (k < static_cast<int>(16 / sizeof(input)) && k < copied) items_of(shared, at.stage)[k] = d_in[k];
          __syncwarp();
        }
        Rows rows;
        take(rows, shared, at.stage, i, copied == left);  // if not, other warps bring what lies around
        if (left < tile_items) rows.mask(left - first, Rows::padding(d_in, num_items, scan_op));
        if (lacks_some(tile, first)) rows.mask_ahead(ahead, scan_op);
        const item aggregate = rows.aggregate(scan_op);
        if (lane == 0) shared.warp_aggregates[at.stage][i] = aggregate;
      }
      shared.reduced[at.stage].arrive();
      if (warp != 0) continue;
      if (epoch == 0) {
        shared.epoch_known.wait(0);
        epoch = shared.epoch;
      }
      shared.reduced[at.stage].wait(at.parity);
      const T aggregate = before_warp<scan_warps>(shared.warp_aggregates[at.stage], scan_warps, scan_op);
      if (lane == 0) mailboxes.post(tile, Rows::held(aggregate), epoch);
      shared.emptied[at.stage].arrive();
    }
  }

  // Adds up what precedes the block's tiles. The warps take turns: while one waits for what was published since the
  // block's last tile, the other does so for the next one.
  template <class ScanOpT>
  __device__ void look_back(memory& shared, int warp, const T& seed, ScanOpT scan_op) const {
    const int lane = threadIdx.x % warp_threads;
    const unsigned epoch = current_epoch(state);
    if (warp >= lookers) return;
    if (warp == 0 && lane < stages) mailboxes.prefetch(blockIdx.x + lane * gridDim.x);
    if (warp == 0 && lane == 0) {
      shared.epoch = epoch;
      shared.epoch_known.arrive();
    }
    position before, at;
    const auto advance = [&] {
      before = at;
      at.advance();
    };
    for (int skipped = 0; skipped < warp; ++skipped) advance();
    for (bool first = warp == 0;; first = false) {
      shared.arrived[at.stage].wait(at.parity);
      const long long tile = shared.tile[at.stage];
      if (tile < 0) return;
      const T since = gather<5>(mailboxes, shared.last_tile[at.stage], tile, epoch, scan_op);
      if (!first) shared.preceded[before.stage].wait(before.parity);
      shared.emptied[at.stage].arrive();
      if (lane == 0) {
        shared.prefixes[at.stage] = scan_op(first ? seed : shared.prefixes[before.stage], since);
        shared.preceded[at.stage].arrive();
        // Whoever has published has read the epoch, and before the last tile everybody has.
        if (tile == num_tiles() - 1) end_epoch(state, epoch);
      }
      for (int turn = 0; turn < lookers; ++turn) advance();
    }
  }

  // Scans and stores tiles, each as soon as its warps' aggregates and what precedes it are known.
  template <scan_kind kind, class ScanOpT>
  __device__ void scan(memory& shared, int warp, ScanOpT scan_op) const {
    for (position at;; at.advance()) {
      shared.arrived[at.stage].wait(at.parity);
      const long long tile = shared.tile[at.stage];
      if (tile < 0) return;
      shared.reduced[at.stage].wait(at.parity);
      Rows rows;
      take(rows, shared, at.stage, warp, true);
      const int left = items_in(tile);
      const bool behind = lacks_some(tile, warp);
      if (left < tile_items)
        rows.mask(left - warp * Rows::warp_items, Rows::padding(items_of(shared, at.stage), left, scan_op));
      if (behind) rows.mask_ahead(ahead, scan_op);
      const auto lanes = rows.scan_lanes(scan_op);
      const T warps_before = before_warp<scan_warps>(shared.warp_aggregates[at.stage], warp, scan_op);
      shared.preceded[at.stage].wait(at.parity);
      const T prefix = shared.prefixes[at.stage];
      shared.emptied[at.stage].arrive();
      rows.template finish<kind>(lanes, scan_op(prefix, warps_before), scan_op);
      const std::size_t first = tile * tile_items + warp * Rows::warp_items;
      if (behind)
        rows.store_behind(d_out, ahead, num_items);
      else if (stores_vectors && left == tile_items)
        rows.store(d_out, first);
      else
        rows.store_present(d_out, first, num_items, stores_vectors);
    }
  }

  template <scan_kind kind, schedule order, class ScanOpT>
  __device__ void run(memory& shared, const T& seed, ScanOpT scan_op) const {
    if (threadIdx.x == 0) start(shared);
    __syncthreads();
    const int warp = warp_of_block();
    constexpr int first_reducer = 1 + look_back_warps, first_scanner = first_reducer + reduce_warps;
    if (warp == 0) {
      if (threadIdx.x == 0) load<order>(shared);
    } else if (warp < first_reducer) {
      look_back(shared, warp - 1, seed, scan_op);
    } else if (warp < first_scanner) {
      reduce(shared, warp - first_reducer, scan_op);
    } else {
      scan<kind>(shared, warp - first_scanner, scan_op);
    }
  }
};

template <scan_kind kind, schedule order, class Pipeline, class ScanOpT>
__global__ void __launch_bounds__(Pipeline::block_threads, 1)
    bulk_pipeline_kernel(Pipeline pipeline, ScanOpT scan_op, typename Pipeline::T seed) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char dynamic_memory[];
  pipeline.template run<kind, order>(*reinterpret_cast<typename Pipeline::memory*>(dynamic_memory), seed, scan_op);
#endif
}

template <scan_kind kind, schedule order, class Pipeline, class ScanOpT>
cudaError_t launch_pipeline(void* d_temp_storage, std::size_t& temp_storage_bytes,
                            typename Pipeline::rows::input_iterator d_in,
                            typename Pipeline::rows::output_iterator d_out, ScanOpT scan_op, typename Pipeline::T seed,
                            std::size_t num_items, int ahead, cudaStream_t stream) {
  using mailboxes = mailboxes<typename Pipeline::item>;
  const auto kernel = bulk_pipeline_kernel<kind, order, Pipeline, ScanOpT>;
  const std::size_t num_tiles = ceil_div(num_items, Pipeline::tile_items);
  char* region;
  int num_multiprocessors;
  cudaError_t error;
  // The same at any alignment.
  const std::size_t most_tiles = ceil_div(num_items - ahead + most_ahead, Pipeline::tile_items);
  if (answered(d_temp_storage, temp_storage_bytes, mailboxes::bytes(most_tiles), region, error) || num_items == 0)
    return error;
  error = multiprocessors(num_multiprocessors);
  if (error == cudaSuccess) error = allow_shared_memory(kernel, sizeof(typename Pipeline::memory));
  if (error != cudaSuccess) return error;
  int shift = -1;
  if constexpr (Pipeline::rows::reads_vectors) shift = reinterpret_cast<std::uintptr_t>(d_in) % 16;
  const Pipeline pipeline{d_in,
                          d_out,
                          num_items,
                          ahead,
                          shift,
                          Pipeline::rows::writes_aligned(d_out),
                          Pipeline::lookers_for(num_tiles / num_multiprocessors),
                          mailboxes(region),
                          reinterpret_cast<state*>(region)};
  return launch_cooperatively(kernel, at_most(num_tiles, num_multiprocessors), Pipeline::block_threads,
                              sizeof(typename Pipeline::memory), stream, pipeline, scan_op, seed);
}

}  // namespace rungs::v0::parts
