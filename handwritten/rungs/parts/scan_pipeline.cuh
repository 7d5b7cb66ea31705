// The pipeline of 12_bulk_pipeline: four roles in a block, over a ring of tiles in shared memory. What passes between
// the roles is counted by phase barriers, on which every lane arrives that has read or written: one lane for all after
// a __syncwarp would do, but compute-sanitizer believes only those that arrive, and 32 arrivals take no longer.
//
// Every block orders the copies of its first tiles, one a stage, before anything else: those of a fixed stride. Copying
// takes no right to a tile. Who processes it is settled while the copies travel.
#pragma once

#include "rungs/parts/aligned_rows.cuh"
#include "rungs/parts/bulk_copy.cuh"
#include "rungs/parts/gather.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"

namespace rungs::RUNGS_ABI::parts {

// Who processes which tile.
//   strided  the block's own in a fixed stride. All blocks are resident at once
//   drawn    after the first ones in a fixed stride, the next that nobody has drawn. All blocks are resident at once
//   claimed  the same, but no block needs another to have started. A block claims its first tile. Those before it
//            belong to blocks of lower indices, which have started. It claims the others of its stride once the last
//            block has started. Another kernel that holds a multiprocessor can prevent that. Then the block leaves the
//            stride: it draws the tiles of the first rounds in their order, and claims those that nobody has. So all
//            tiles below one that is held are held, or about to be, by blocks that have started
enum class schedule { strided, drawn, claimed };

// What the blocks share, besides mailboxes and claims. It may hold anything when a call begins.
struct pipeline_state {
  ulonglong2 begin;             // what both counters held when the call began, and the tag of the call
  tag last_started;             // the tag of the call, once the last block has started
  unsigned drawn, drawn_first;  // count the tiles behind the first rounds, and theirs, from whatever they held
};
inline constexpr std::size_t pipeline_state_bytes = storage_alignment;

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

  static constexpr long long no_more = -1, skipped = -2;  // instead of a tile

  struct memory {
    alignas(128) unsigned char tiles[stages][slot_bytes];
    phase_barrier arrived[stages];   // what was copied is here, and the number of the tile
    phase_barrier reduced[stages];   // so are its warps' aggregates
    phase_barrier preceded[stages];  // and what precedes it
    phase_barrier emptied[stages];   // and it has been taken out again
    item warp_aggregates[stages][scan_warps];
    T prefixes[stages];
    long long tile[stages], last_tile[stages];  // of this block
    int copied[stages];                         // items
  };

  typename Rows::input_iterator d_in;
  typename Rows::output_iterator d_out;
  std::size_t num_items;
  int ahead;            // of these, the first that are not there
  int shift;            // bytes by which d_in misses an alignment to 16; -1: no pointer, nothing can be copied
  bool stores_vectors;  // whether the alignment of d_out allows it
  int lookers;          // warps that look back: two hide more, one asks less often
  mailboxes<item> mailboxes;
  pipeline_state* state;
  tag* claims;  // of the tiles of the first rounds: the tag of the call where one is claimed
  tag of_call;

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
  // that lacks some, all but those in the first unit. Off 16 bytes the last unit reaches beyond the tile.
  __device__ int copied_items(long long tile) const {
    if (shift == 0) return items_in(tile) * static_cast<int>(sizeof(input)) / 16 * 16 / static_cast<int>(sizeof(input));
    const std::size_t end = (tile + 1) * tile_items + (15 - shift) / sizeof(input) + 1;
    return shift > 0 && tile > 0 && end <= num_items ? tile_items : 0;
  }
  __device__ input* items_of(memory& shared, int stage) const {
    return reinterpret_cast<input*>(shared.tiles[stage] + (shift > 0 ? shift : 0));
  }

  __device__ void take(Rows& rows, memory& shared, int stage, int warp, bool all_there) const {
    rows.load_shared(items_of(shared, stage) + warp * Rows::warp_items, all_there);
  }

  // Orders the copy of a tile into a stage, or of nothing where there is no such tile. Thread 0.
  __device__ void order_copy(memory& shared, int stage, long long tile) const {
    const int copied = tile < num_tiles() ? copied_items(tile) : 0;
    shared.copied[stage] = copied;
    if constexpr (Rows::reads_vectors) {
      if (copied > 0) {
        const unsigned missing = lacks_some(tile, 0) ? 16 : 0;
        const unsigned bytes = copied * sizeof(input) + (shift > 0 ? 16 : 0) - missing;
        if (bytes > 0) {
          shared.arrived[stage].arrive_and_expect(bytes);
          bulk_load(shared.tiles[stage] + missing,
                    reinterpret_cast<const unsigned char*>(d_in + tile * tile_items) - shift + missing, bytes,
                    shared.arrived[stage]);
          return;
        }
      }
    }
    shared.arrived[stage].arrive();
  }

  // Says what a stage holds, once its copy is ordered. One thread.
  __device__ void name(memory& shared, int stage, long long tile, long long last_tile) const {
    shared.tile[stage] = tile >= num_tiles() ? no_more : tile;
    shared.last_tile[stage] = last_tile;
    shared.arrived[stage].arrive();
  }

  // The first tiles, one a stage. What a kernel does first is short and straight: its instructions come from DRAM.
  __device__ void start(memory& shared) const {
    for (int stage = 0; stage < stages; ++stage) {
      shared.arrived[stage].initialise(2);
      shared.reduced[stage].initialise(reduce_warps * warp_threads);
      shared.preceded[stage].initialise(1);
      // The warps that scan, the one that publishes and the one that looks back.
      shared.emptied[stage].initialise((scan_warps + 2) * warp_threads);
    }
    publish_barriers();
    long long tile = blockIdx.x;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage, tile += gridDim.x) order_copy(shared, stage, tile);
  }

  // Whether the calling lane has claimed a tile that nobody had.
  __device__ bool claim(long long tile) const { return atomicExch(claims + tile, of_call) != of_call; }
  static __device__ tag read_tag(const tag* from) {
    tag held;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(held) : "l"(from) : "memory");
    return held;
  }
  __device__ long long num_first_tiles() const {
    const long long in_first_rounds = static_cast<long long>(stages) * gridDim.x;
    return in_first_rounds < num_tiles() ? in_first_rounds : num_tiles();
  }

  // What has come of the stages' first tiles: the last tile of this block, whether the others are its own too, and
  // whether the stages know that there are no more.
  struct first_round {
    long long last_tile;
    bool follows_stride, is_end;
  };
  // Names them as those of the fixed stride.
  __device__ first_round name_strided(memory& shared) const {
    const int lane = threadIdx.x % warp_threads;
    const long long last_tile = blockIdx.x + (stages - 1ll) * gridDim.x;
    if (lane < stages) {
      const long long tile = blockIdx.x + static_cast<long long>(lane) * gridDim.x;
      name(shared, lane, tile, lane > 0 ? tile - gridDim.x : 0);
    }
    return {last_tile, true, last_tile >= num_tiles()};
  }

  // Waits until the last block has started, and so all have, but not for long.
  __device__ bool all_start() const {
    constexpr long long patience = 10'000;  // cycles, about 5 us: blocks of one launch start within one
    const long long begin = clock64();
    do {
      if (read_tag(&state->last_started) == of_call) return true;
    } while (clock64() - begin < patience);
    return false;
  }

  // Names those that the block could claim. Where it leaves the stride, all stages but the first are skipped, for the
  // tiles that it claims next are others.
  __device__ first_round name_claimed(memory& shared) const {
    const int lane = threadIdx.x % warp_threads;
    if (blockIdx.x == gridDim.x - 1 && lane == 0)
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(&state->last_started), "l"(of_call) : "memory");
    const bool has_first = __shfl_sync(full_mask, lane == 0 && claim(blockIdx.x), 0);
    if (lane == 0) name(shared, 0, has_first ? blockIdx.x : skipped, 0);
    const long long tile = blockIdx.x + static_cast<long long>(lane) * gridDim.x;
    const bool is_next = lane > 0 && lane < stages && tile < num_tiles();
    bool follows_stride = true;
    if (__any_sync(full_mask, is_next)) follows_stride = __shfl_sync(full_mask, lane == 0 && all_start(), 0);
    const bool holds = lane == 0 ? has_first : is_next && follows_stride && claim(tile);
    const unsigned held = __ballot_sync(full_mask, holds), held_before = held & ((1u << lane) - 1);
    const auto last_of = [&](unsigned held) {  // tile
      return held == 0 ? 0ll : blockIdx.x + (31ll - __clz(held)) * gridDim.x;
    };
    const bool is_end = follows_stride && tile >= num_tiles();
    if (lane > 0 && lane < stages) name(shared, lane, holds || is_end ? tile : skipped, last_of(held_before));
    return {last_of(held), follows_stride, __any_sync(full_mask, lane < stages && is_end) != 0};
  }

  // What the counters of tiles held when the call began, as block 0 posts it. One lane.
  struct counted_from {
    bool is_known = false;
    unsigned drawn = 0, drawn_first = 0;
  };
  __device__ void post_begin() const {
    const unsigned long long drawn = *static_cast<volatile unsigned*>(&state->drawn);
    const unsigned long long drawn_first = *static_cast<volatile unsigned*>(&state->drawn_first);
    asm volatile(
        "{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(&state->begin),
        "l"(drawn_first << 32 | drawn), "l"(of_call)
        : "memory");
  }
  __device__ void learn_begin(counted_from& begin) const {
    while (!begin.is_known) {
      ulonglong2 held;
      asm volatile("{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                   : "=l"(held.x), "=l"(held.y)
                   : "l"(&state->begin)
                   : "memory");
      begin.is_known = held.y == of_call;
      begin.drawn = static_cast<unsigned>(held.x);
      begin.drawn_first = static_cast<unsigned>(held.x >> 32);
    }
  }

  // The next tile of the first rounds that nobody holds; num_tiles() where there is none. Those up to the block's index
  // are of blocks that have started. One lane.
  __device__ long long draw_first(counted_from& begin) const {
    learn_begin(begin);
    while (true) {
      const long long tile = atomicAdd(&state->drawn_first, 1u) - begin.drawn_first;
      if (tile >= num_first_tiles()) return num_tiles();
      if (tile > blockIdx.x && claim(tile)) return tile;
    }
  }
  // The next tile behind them. One lane.
  __device__ long long draw(counted_from& begin) const {
    const long long first = static_cast<long long>(stages) * gridDim.x;
    if (first >= num_tiles()) return num_tiles();
    learn_begin(begin);
    return first + (atomicAdd(&state->drawn, 1u) - begin.drawn);
  }

  // Names the tiles whose copies were ordered by start(), and orders the others as stages become empty.
  template <schedule order>
  __device__ void load(memory& shared) const {
    const int lane = threadIdx.x % warp_threads;
    wait_until_cleared();
    if (order != schedule::strided && blockIdx.x == 0 && lane == 0) post_begin();
    const first_round known = order == schedule::claimed ? name_claimed(shared) : name_strided(shared);
    if (lane != 0) return;
    long long last_tile = known.last_tile;
    bool follows_stride = known.follows_stride;
    int ends = known.is_end;
    counted_from begin;
    for (position at;; at.advance()) {
      long long tile = last_tile + gridDim.x;
      if (order != schedule::strided) {
        tile = num_tiles();
        if (order == schedule::claimed && !follows_stride) tile = draw_first(begin);
        follows_stride = follows_stride || tile >= num_tiles();
        if (follows_stride && ends == 0) tile = draw(begin);
      }
      if (ends > 0) tile = num_tiles();
      if (tile >= num_tiles() && ++ends > lookers) return;  // each of them waits at a stage of its own
      shared.emptied[at.stage].wait(at.parity);
      order_copy(shared, at.stage, tile);
      name(shared, at.stage, tile, last_tile);
      last_tile = tile;
    }
  }

  // Reduces tiles as they arrive, and publishes their aggregates. Brings what was not copied.
  template <class ScanOpT>
  __device__ void reduce(memory& shared, int warp, ScanOpT scan_op) const {
    const int lane = threadIdx.x % warp_threads;
    for (position at;; at.advance()) {
      shared.arrived[at.stage].wait(at.parity);
      const long long tile = shared.tile[at.stage];
      if (tile == no_more) return;
      const int left = tile == skipped ? 0 : items_in(tile), copied = shared.copied[at.stage];
#pragma unroll
      for (int i = warp; i < scan_warps; i += reduce_warps) {
        if (tile == skipped) break;
        const int first = i * Rows::warp_items;
        if (copied < left) {
          const int last = left < first + Rows::warp_items ? left : first + Rows::warp_items;
          input* const items = items_of(shared, at.stage);
#pragma unroll 4
          for (int k = (copied > first ? copied : first) + lane; k < last; k += warp_threads)
            if (!lacks_some(tile, first) || k >= ahead) items[k] = d_in[tile * tile_items + k];
          order_bulk_after_stores();
          __syncwarp();
        }
        if (lacks_some(tile, first)) {
          const int k = ahead + lane;
          if (k < static_cast<int>(16 / sizeof(input)) && k < copied) items_of(shared, at.stage)[k] = d_in[k];
          order_bulk_after_stores();
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
      if (tile != skipped) {
        shared.reduced[at.stage].wait(at.parity);
        const T aggregate = before_warp<scan_warps>(shared.warp_aggregates[at.stage], scan_warps, scan_op);
        if (lane == 0) mailboxes.post(tile, Rows::held(aggregate), of_call);
      }
      shared.emptied[at.stage].arrive();
    }
  }

  // Adds up what precedes the block's tiles. The warps take turns: while one waits for what was published since the
  // block's last tile, the other does so for the next one.
  template <class ScanOpT>
  __device__ void look_back(memory& shared, int warp, const T& seed, ScanOpT scan_op) const {
    const int lane = threadIdx.x % warp_threads;
    if (warp >= lookers) return;
    if (warp == 0 && lane < stages && blockIdx.x + static_cast<long long>(lane) * gridDim.x < num_tiles())
      mailboxes.prefetch(blockIdx.x + static_cast<long long>(lane) * gridDim.x);
    position before, at;
    const auto advance = [&] {
      before = at;
      at.advance();
    };
    for (int turn = 0; turn < warp; ++turn) advance();
    for (bool first = warp == 0;; first = false) {
      shared.arrived[at.stage].wait(at.parity);
      const long long tile = shared.tile[at.stage];
      if (tile == no_more) return;
      T since = ScanOpT::template identity<T>();
      if (tile != skipped) since = gather<5>(mailboxes, shared.last_tile[at.stage], tile, of_call, scan_op);
      if (!first) shared.preceded[before.stage].wait(before.parity);
      shared.emptied[at.stage].arrive();
      if (lane == 0) {
        shared.prefixes[at.stage] = scan_op(first ? seed : shared.prefixes[before.stage], since);
        shared.preceded[at.stage].arrive();
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
      if (tile == no_more) return;
      if (tile == skipped) {
        shared.emptied[at.stage].arrive();
        continue;
      }
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
      load<order>(shared);
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

// How many blocks the multiprocessors of the stream's context hold at once: fewer than the device's where the stream
// belongs to a part of them, as in a green context.
template <class... Parameters>
cudaError_t resident_blocks(void (*kernel)(Parameters...), int block_threads, std::size_t dynamic_bytes,
                            cudaStream_t stream, int& num_blocks) {
  cudaLaunchAttribute alone{};
  alone.id = cudaLaunchAttributeClusterDimension;
  alone.val.clusterDim.x = alone.val.clusterDim.y = alone.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(block_threads);
  config.dynamicSmemBytes = dynamic_bytes;
  config.stream = stream;
  config.attrs = &alone;
  config.numAttrs = 1;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&num_blocks, kernel, &config);
  if (num_blocks < 1) num_blocks = 1;
  return error;
}

template <scan_kind kind, schedule order, class Pipeline, class ScanOpT>
cudaError_t launch_pipeline(void* d_temp_storage, std::size_t& temp_storage_bytes,
                            typename Pipeline::rows::input_iterator d_in,
                            typename Pipeline::rows::output_iterator d_out, ScanOpT scan_op, typename Pipeline::T seed,
                            std::size_t num_items, int ahead, cudaStream_t stream) {
  using mailboxes = mailboxes<typename Pipeline::item>;
  const auto kernel = bulk_pipeline_kernel<kind, order, Pipeline, ScanOpT>;
  constexpr std::size_t dynamic_bytes = sizeof(typename Pipeline::memory);
  const std::size_t num_tiles = ceil_div(num_items, Pipeline::tile_items);
  char* region;
  int num_multiprocessors;
  cudaError_t error = multiprocessors(num_multiprocessors);
  if (error != cudaSuccess) return error;
  // The same at any alignment.
  const std::size_t most_tiles = ceil_div(num_items - ahead + most_ahead, Pipeline::tile_items);
  const std::size_t num_claims = at_most(most_tiles, std::size_t(Pipeline::stages) * num_multiprocessors);
  const std::size_t claims_at = pipeline_state_bytes + mailboxes::bytes(most_tiles);
  const std::size_t bytes = claims_at + num_claims * sizeof(tag);
  if (answered(d_temp_storage, temp_storage_bytes, bytes, region, error) || num_items == 0) return error;
  error = allow_shared_memory(kernel, dynamic_bytes);
  int num_blocks = num_multiprocessors;
  if (error == cudaSuccess && order == schedule::claimed)
    error = resident_blocks(kernel, Pipeline::block_threads, dynamic_bytes, stream, num_blocks);
  num_blocks = num_blocks < num_multiprocessors ? num_blocks : num_multiprocessors;
  opened_storage storage;
  if (error == cudaSuccess) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  int shift = -1;
  if constexpr (Pipeline::rows::reads_vectors) shift = reinterpret_cast<std::uintptr_t>(d_in) % 16;
  const Pipeline pipeline{d_in,
                          d_out,
                          num_items,
                          ahead,
                          shift,
                          Pipeline::rows::writes_aligned(d_out),
                          Pipeline::lookers_for(num_tiles / num_blocks),
                          mailboxes(region + pipeline_state_bytes),
                          reinterpret_cast<pipeline_state*>(region),
                          reinterpret_cast<tag*>(region + claims_at),
                          storage.of_call};
  const std::size_t grid_blocks = at_most(num_tiles, num_blocks);
  if (order == schedule::claimed)
    return launch_overlapped(kernel, grid_blocks, Pipeline::block_threads, dynamic_bytes, storage.clears, stream,
                             pipeline, scan_op, seed);
  return launch_cooperatively(kernel, grid_blocks, Pipeline::block_threads, dynamic_bytes, stream, pipeline, scan_op,
                              seed);
}

}  // namespace rungs::RUNGS_ABI::parts
