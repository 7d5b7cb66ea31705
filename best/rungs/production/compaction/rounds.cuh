// Many tiles: persistent blocks write a tile some rounds after they have read it.
//
// Where a block has one tile, it waits for what the tiles before have posted, and reads nothing meanwhile. Here a block
// draws one tile after the other. In a round it posts what it knows of a tile, orders the one that comes `ahead` rounds
// later, and writes the tile of `lag` rounds before. By then the other blocks have posted what precedes that tile, and
// the next one is on its way. Warps besides those that work draw the tiles and look at what was posted. Nobody waits
// for a prefix: what precedes a tile is added to what preceded the block's last one.
//
// Tiles are drawn in their order, and a block waits only for tiles that were drawn before its own. So none needs
// another to have started but block 0, which starts first. The call ends beside other kernels, and on a part of the
// device.
//
// A Job says what is done:
//   num_workers, num_lookers         warps
//   lag                              rounds from reading to writing, 1 at least
//   spare                            1 if a tile's place in shared memory is cleared a round before, or 0
//   ahead                            tiles of which a lane's items are under way or held, 1 at least
//   tile_items
//   items = read(tile, warp)         what a lane holds of a tile; the loads need not have arrived
//   marks = examine(found, items, tile, warp)            `found` is what the workers tell all others of the tile
//   post(found, tile, looker, tag)                       to other blocks
//   stage(staged, found, items, marks, tile, warp)       in shared memory
//   look(staged, found, state, tile, looker, tag)        what precedes the tile; `state` is a looker's own
//   write(staged, tile, warp)
//   clear(staged)                    by the workers, if there is a spare place
//   bring(tile)                      to the L2, while the block waits for its first draw; a hint
#pragma once

#include "rungs/parts/gather.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"

namespace rungs::RUNGS_ABI::production {

// Draws tiles. The counter counts from whatever it held when the call began, which block 0 posts.
class drawn_tiles {
 public:
  static constexpr std::size_t bytes = parts::storage_alignment;

  explicit __host__ drawn_tiles(char* region)
      : begin_(region), counter_(reinterpret_cast<unsigned long long*>(region + bytes / 2)) {}

  // One thread of every block.
  __device__ void begin(parts::tag tag) {
    if (blockIdx.x == 0) {
      counted_from_ = *static_cast<volatile unsigned long long*>(counter_);
      begin_.post(0, counted_from_, tag);
    } else {
      while (!begin_.peek(0, counted_from_, tag)) {
      }
    }
  }
  // Orders a draw, by lane 0 if `is_any`; only who asks which tile it brought waits for it. (The assembler adds up what
  // lanes add if that is the same, and waits at once. So it is not told that lane 0 adds a one.)
  __device__ unsigned long long order(bool is_any = true) const {
    unsigned long long drawn = counted_from_;
    asm volatile(
        "{ .reg .pred is_any; .reg .u64 one; .reg .u32 lane; setp.ne.u32 is_any, %2, 0; mov.u32 lane, %%laneid;"
        " cvt.u64.u32 one, lane; add.u64 one, one, 1; @is_any atom.relaxed.gpu.global.add.u64 %0, [%1], one; }"
        : "+l"(drawn)
        : "l"(counter_), "r"(static_cast<unsigned>(is_any))
        : "memory");
    return drawn;
  }
  __device__ unsigned long long tile_of(unsigned long long drawn) const { return drawn - counted_from_; }

 private:
  parts::mailboxes<unsigned long long> begin_;
  unsigned long long* counter_;
  unsigned long long counted_from_ = 0;
};

template <class Job>
struct rounds_memory {
  static constexpr int length = Job::lag + 1 + Job::spare;  // of the rings
  typename Job::staged staged[length];
  typename Job::found found[length];
  unsigned long long next[2], first[Job::ahead];  // drawn
  unsigned tile[length];
};

// Which round it is, its place in the rings, and that of the tile that is written.
template <class Job>
struct round_place {
  unsigned round = 0;
  int here = 0, behind = 1 + Job::spare, left_behind = Job::lag;  // rounds without a tile

  __device__ bool has_behind(const rounds_memory<Job>& shared, unsigned num_tiles) const {
    return round >= Job::lag && shared.tile[behind] < num_tiles;
  }
  static __device__ int next(int place) { return place == rounds_memory<Job>::length - 1 ? 0 : place + 1; }
  // Whether the round was the last one.
  __device__ bool ends(bool had_tile) {
    if (!had_tile && --left_behind == 0) return true;
    ++round;
    here = Job::spare == 0 ? behind : next(here);
    behind = next(behind);
    return false;
  }
};

// Workers and lookers meet at one barrier a round. Apart, neither holds registers for what only the others do.
template <class Job>
__device__ void work_in_rounds(const Job& job, rounds_memory<Job>& shared, unsigned num_tiles, int warp) {
  unsigned tiles[Job::ahead];
  typename Job::items items[Job::ahead];
#pragma unroll
  for (int k = 0; k < Job::ahead; ++k) {
    tiles[k] = static_cast<unsigned>(shared.first[k]);
    if (tiles[k] < num_tiles) items[k] = job.read(tiles[k], warp);
  }
  for (round_place<Job> at;;) {
#pragma unroll
    for (int turn = 0; turn < Job::ahead; ++turn) {  // each has registers of its own
      const unsigned tile = tiles[turn];
      const bool exists = tile < num_tiles;
      typename Job::marks marks;
      if (exists) marks = job.examine(shared.found[at.here], items[turn], tile, warp);
      __syncthreads();
      if (exists) {
        if constexpr (Job::spare > 0) job.clear(shared.staged[at.next(at.here)]);
        job.stage(shared.staged[at.here], shared.found[at.here], items[turn], marks, tile, warp);
        tiles[turn] = static_cast<unsigned>(shared.next[at.round % 2]);
        if (tiles[turn] < num_tiles) items[turn] = job.read(tiles[turn], warp);
      }
      if (at.has_behind(shared, num_tiles)) job.write(shared.staged[at.behind], shared.tile[at.behind], warp);
      if (at.ends(exists)) return;
    }
  }
}
template <class Job>
__device__ void look_in_rounds(const Job& job, rounds_memory<Job>& shared, const drawn_tiles& tiles, unsigned num_tiles,
                               int looker, bool draws, parts::tag tag) {
  unsigned held[Job::ahead];
#pragma unroll
  for (int k = 0; k < Job::ahead; ++k) held[k] = static_cast<unsigned>(shared.first[k]);
  typename Job::looker_state state{};
  for (round_place<Job> at;;) {
    const unsigned tile = held[0];
    const bool draws_now = draws && held[Job::ahead - 1] < num_tiles;
    const unsigned long long drawn = tiles.order(draws_now);
    if (at.has_behind(shared, num_tiles))
      job.look(shared.staged[at.behind], shared.found[at.behind], state, shared.tile[at.behind], looker, tag);
    if (draws) shared.next[at.round % 2] = draws_now ? tiles.tile_of(drawn) : num_tiles;
    __syncthreads();
    if (draws) shared.tile[at.here] = tile;
    if (tile < num_tiles) job.post(shared.found[at.here], tile, looker, tag);
#pragma unroll
    for (int k = 1; k < Job::ahead; ++k) held[k - 1] = held[k];
    held[Job::ahead - 1] = static_cast<unsigned>(shared.next[at.round % 2]);
    if (at.ends(tile < num_tiles)) return;
  }
}

template <class Job>
__global__ void __launch_bounds__((Job::num_workers + Job::num_lookers) * parts::warp_threads, Job::resident_blocks)
    rounds_kernel(Job job, drawn_tiles tiles, unsigned num_tiles, parts::tag tag) {
  extern __shared__ __align__(128) unsigned char dynamic_memory[];
  auto& shared = *reinterpret_cast<rounds_memory<Job>*>(dynamic_memory);
  const int warp = parts::warp_of_block(), looker = warp - Job::num_workers;
  const bool draws = threadIdx.x == Job::num_workers * parts::warp_threads;
#pragma unroll
  for (int k = 0; k < Job::ahead; ++k) job.bring(blockIdx.x + k * gridDim.x);
  if constexpr (Job::spare > 0)
    if (looker < 0) job.clear(shared.staged[0]);
  parts::wait_until_cleared();
  if (draws) {
    tiles.begin(tag);
    unsigned long long drawn[Job::ahead];
#pragma unroll
    for (int k = 0; k < Job::ahead; ++k) drawn[k] = tiles.order();
#pragma unroll
    for (int k = 0; k < Job::ahead; ++k) shared.first[k] = tiles.tile_of(drawn[k]);
  }
  __syncthreads();
  if (shared.first[0] >= num_tiles) return;
  if (looker < 0)
    work_in_rounds(job, shared, num_tiles, warp);
  else
    look_in_rounds(job, shared, tiles, num_tiles, looker, draws, tag);
}

// Whether the device gives a block of the job its shared memory, and how many blocks are resident.
template <class Job>
cudaError_t suits_rounds(bool& suits, int& num_blocks) {
  parts::device_limits limits;
  const cudaError_t error = limits.ask();
  suits = error == cudaSuccess && sizeof(rounds_memory<Job>) <= limits.shared_bytes;
  num_blocks = limits.multiprocessors * Job::resident_blocks;
  return error;
}

template <class Job>
cudaError_t launch_rounds(const Job& job, drawn_tiles tiles, std::size_t num_tiles, int num_blocks,
                          const parts::opened_storage& storage, cudaStream_t stream) {
  return parts::launch_overlapped(rounds_kernel<Job>, parts::at_most(num_tiles, num_blocks),
                                  (Job::num_workers + Job::num_lookers) * parts::warp_threads,
                                  sizeof(rounds_memory<Job>), storage.clears, stream, job, tiles,
                                  static_cast<unsigned>(num_tiles), storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
