// Many tiles: persistent blocks write a tile some rounds after they have read it.
//
// Where a block has one tile, it waits for what the tiles before have posted, and reads nothing meanwhile. Here a block
// draws one tile after the other. In a round it posts what it knows of a tile, orders the next one, and writes the tile
// of `lag` rounds before. By then the other blocks have posted what precedes that tile, and the next one is on its way.
// Warps besides those that work draw the tiles and look at what was posted. Nobody waits for a prefix: what precedes a
// tile is added to what preceded the block's last one.
//
// Tiles are drawn in their order, and a block waits only for tiles that were drawn before its own. So none needs
// another to have started but block 0, which starts first. The call ends beside other kernels, and on a part of the
// device.
//
// A Job says what is done:
//   num_workers, num_lookers         warps
//   lag                              rounds from reading to writing, 1 at least
//   tile_items
//   items = read(tile, warp)         what a lane holds of a tile; the loads need not have arrived
//   marks = examine(found, items, tile, warp)            `found` is what the workers tell all others of the tile
//   post(found, tile, looker, tag)                       to other blocks
//   stage(staged, found, items, marks, tile, warp)       in shared memory
//   look(staged, found, state, tile, looker, tag)        what precedes the tile; `state` is a looker's own
//   write(staged, tile, warp)
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
  __device__ unsigned next() const { return static_cast<unsigned>(atomicAdd(counter_, 1ull) - counted_from_); }

 private:
  parts::mailboxes<unsigned long long> begin_;
  unsigned long long* counter_;
  unsigned long long counted_from_ = 0;
};

template <class Job>
struct rounds_memory {
  static constexpr int length = Job::lag + 1;  // of the rings
  typename Job::staged staged[length];
  typename Job::found found[length];
  unsigned tile[length], next[2];
};

template <class Job>
__global__ void __launch_bounds__((Job::num_workers + Job::num_lookers) * parts::warp_threads, Job::resident_blocks)
    rounds_kernel(Job job, drawn_tiles tiles, unsigned num_tiles, parts::tag tag) {
  extern __shared__ __align__(128) unsigned char dynamic_memory[];
  auto& shared = *reinterpret_cast<rounds_memory<Job>*>(dynamic_memory);
  const int warp = parts::warp_of_block(), looker = warp - Job::num_workers;
  const bool works = looker < 0;
  const bool draws = threadIdx.x == Job::num_workers * parts::warp_threads;
  parts::wait_until_cleared();
  if (draws) {
    tiles.begin(tag);
    shared.next[1] = tiles.next();
  }
  __syncthreads();
  unsigned tile = shared.next[1];
  if (tile >= num_tiles) return;
  constexpr int length = rounds_memory<Job>::length;
  int here = 0, behind = 1;  // this round's places in the rings, and those of the tile that is written
  typename Job::items items;
  typename Job::looker_state state{};
  if (works) items = job.read(tile, warp);
  int left_behind = Job::lag;  // rounds without a tile
  for (unsigned round = 0;; ++round) {
    const bool exists = tile < num_tiles, is_behind = round >= Job::lag;
    typename Job::marks marks;
    if (works) {
      if (exists) marks = job.examine(shared.found[here], items, tile, warp);
    } else {
      unsigned next = num_tiles;
      if (draws && exists) next = tiles.next();
      if (is_behind && shared.tile[behind] < num_tiles)
        job.look(shared.staged[behind], shared.found[behind], state, shared.tile[behind], looker, tag);
      if (draws) shared.next[round % 2] = next;
    }
    __syncthreads();
    const unsigned next = shared.next[round % 2];
    if (!works) {
      if (draws) shared.tile[here] = tile;
      if (exists) job.post(shared.found[here], tile, looker, tag);
    } else {
      if (exists) {
        job.stage(shared.staged[here], shared.found[here], items, marks, tile, warp);
        if (next < num_tiles) items = job.read(next, warp);
      }
      if (is_behind && shared.tile[behind] < num_tiles) job.write(shared.staged[behind], shared.tile[behind], warp);
    }
    if (!exists && --left_behind == 0) return;
    tile = next;
    here = behind;
    behind = behind + 1 == length ? 0 : behind + 1;
  }
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
