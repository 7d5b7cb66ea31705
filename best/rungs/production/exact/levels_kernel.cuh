// An exactly rounded sum of few items: a tile a warp, cut into levels (levels.cuh).
//
// One block takes the least inputs. On sm_90 a cluster of eight small blocks takes more; its blocks store their levels
// into the shared memory of the first. Still more items are spread over the multiprocessors, and blocks post their
// levels to mailboxes (mailboxes.cuh). There the block of the highest index adds up what others post; it waits only for
// blocks of lower indices, which start first. Of captured calls, whose tags would repeat, a second launch does that.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/exact/levels.cuh"

namespace rungs::RUNGS_ABI::production {

// Tiles of whole vectors come first, then those of the items before and behind them.
struct levels_plan {
  unsigned num_items, before, whole_vectors, vector_tiles, num_tiles;
};
enum class levels_meet : unsigned char { block, cluster, grid, later };

template <class Terms>
struct levels_posts {
  using levels = exact_levels<Terms>;
  // Two levels of floats make one value of 64 bits.
  static constexpr int num_pieces = levels::is_float ? levels::num_places / 2 : levels::num_places;
  using mailboxes = parts::mailboxes<long long>;
  mailboxes posted;
  parts::tag tag;

  static constexpr std::size_t bytes(std::size_t num_blocks) { return mailboxes::bytes(num_blocks * num_pieces); }

  __device__ void prefetch(unsigned block) const {
    constexpr unsigned line_mailboxes = 8;
    if (threadIdx.x * line_mailboxes < num_pieces)
      posted.prefetch(std::size_t{block} * num_pieces + threadIdx.x * line_mailboxes);
  }
  // By one warp, whose lanes have the levels.
  __device__ void post(unsigned block, long long of_lane) const {
    const int lane = threadIdx.x % parts::warp_threads;
    long long piece = levels::settled(of_lane);
    if constexpr (levels::is_float) {
      const long long low = __shfl_sync(parts::full_mask, piece, 2 * lane % parts::warp_threads),
                      high = __shfl_sync(parts::full_mask, piece, (2 * lane + 1) % parts::warp_threads);
      piece = high << 32 | static_cast<unsigned>(low);
    }
    if (lane < num_pieces) posted.post(std::size_t{block} * num_pieces + lane, piece, tag);
  }
};

template <class Terms>
struct levels_memory {
  static constexpr int most_warps = 32;
  long long of_warp[most_warps][exact_levels<Terms>::num_places];
};

// The sum of num_lists lists of levels, in the lanes of the calling warp: all lanes call it, and the first 16 have it.
template <int num_places>
__device__ long long sum_of_lists(const long long (*lists)[num_places], int num_lists) {
  static_assert(2 * num_places == parts::warp_threads);
  const int lane = threadIdx.x % parts::warp_threads, half = lane / num_places;
  long long sum = 0;
#pragma unroll 4
  for (int i = half; i < num_lists; i += 2) sum += lists[i][lane % num_places];
  return sum + __shfl_xor_sync(parts::full_mask, sum, num_places);
}

// The levels of all warps of the block, in the first.
template <class Terms>
__device__ long long levels_of_block(long long of_lane, levels_memory<Terms>& memory) {
  constexpr int num_places = exact_levels<Terms>::num_places;
  const int num_warps = blockDim.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads,
            warp = threadIdx.x / parts::warp_threads;
  if (num_warps == 1) return of_lane;
  if (lane < num_places) memory.of_warp[warp][lane] = of_lane;
  __syncthreads();
  return warp == 0 ? sum_of_lists(memory.of_warp, num_warps) : 0;
}

// The lane's terms of a tile; those that it lacks are zero.
template <class Terms, class Values>
__device__ void load_tile(const Terms& terms, const levels_plan& plan, unsigned tile, Values& values) {
  constexpr int thread_terms = exact_levels<Terms>::thread_terms;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  if (Terms::in_vectors && tile < plan.vector_tiles) {
    if constexpr (Terms::in_vectors) {
      constexpr int vector_items = Terms::vector_items, num_vectors = thread_terms / vector_items;
      typename Terms::vector loaded[num_vectors];
      const unsigned first = tile * num_vectors * parts::warp_threads + lane;
#pragma unroll
      for (int k = 0; k < num_vectors; ++k) {
        const unsigned vector = first + k * parts::warp_threads;
        loaded[k] = {};
        if (vector < plan.whole_vectors) terms.load(plan.before + vector * vector_items, loaded[k]);
      }
#pragma unroll
      for (int i = 0; i < thread_terms; ++i) values[i] = loaded[i / vector_items][i % vector_items];
    }
  } else {
    const unsigned in_vectors = plan.whole_vectors * Terms::vector_items, singles = plan.num_items - in_vectors,
                   first = (tile - plan.vector_tiles) * thread_terms * parts::warp_threads + lane;
#pragma unroll
    for (int k = 0; k < thread_terms; ++k) {
      const unsigned i = first + k * parts::warp_threads;
      values[k] = 0;
      if (i < singles) values[k] = terms[i < plan.before ? i : i + in_vectors];
    }
  }
}

// The levels of the warp's tiles, of which most warps have one.
template <class Terms>
__device__ long long levels_of_tiles(const Terms& terms, const levels_plan& plan) {
  using levels = exact_levels<Terms>;
  const unsigned warp = threadIdx.x / parts::warp_threads;
  const unsigned num_warps = gridDim.x * (blockDim.x / parts::warp_threads);
  levels sum;
#pragma unroll 1
  for (unsigned tile = gridDim.x * warp + blockIdx.x; tile < plan.num_tiles; tile += num_warps) {
    typename levels::term values[levels::thread_terms];
    load_tile(terms, plan, tile, values);
    sum.add(values);
  }
  return sum.total();
}

// Adds up what the first num_posts blocks have posted, and `own`, which the first warp has; writes it.
template <class Terms, class OutputIteratorT>
__device__ void gather_levels(const levels_posts<Terms>& posts, unsigned num_posts, long long own,
                              levels_memory<Terms>& memory, OutputIteratorT d_out) {
  using levels = exact_levels<Terms>;
  constexpr int num_pieces = levels_posts<Terms>::num_pieces, in_flight = 4;
  const unsigned lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  const unsigned num_mailboxes = num_posts * num_pieces;
  long long sum = 0, other = 0;  // of floats, the even level and the odd one
  for (unsigned first = threadIdx.x; first < num_mailboxes; first += in_flight * blockDim.x) {
    typename levels_posts<Terms>::mailboxes::letter letters[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k)
      if (first + k * blockDim.x < num_mailboxes) letters[k] = posts.posted.read(first + k * blockDim.x);
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (first + k * blockDim.x >= num_mailboxes) continue;
      while (!letters[k].bears(posts.tag)) letters[k] = posts.posted.read(first + k * blockDim.x);
      const long long value = letters[k].value();
      if constexpr (levels::is_float)
        sum += static_cast<int>(value), other += value >> 32;
      else
        sum += value;
    }
  }
  __syncwarp();
  // Lanes whose pieces are the same meet.
#pragma unroll
  for (int apart = num_pieces; apart < parts::warp_threads; apart *= 2) {
    sum += __shfl_xor_sync(parts::full_mask, sum, apart);
    if constexpr (levels::is_float) other += __shfl_xor_sync(parts::full_mask, other, apart);
  }
  if (lane < num_pieces) {
    if constexpr (levels::is_float)
      memory.of_warp[warp][2 * lane] = sum, memory.of_warp[warp][2 * lane + 1] = other;
    else
      memory.of_warp[warp][lane] = sum;
  }
  __syncthreads();
  if (warp > 0) return;
  write_levels<Terms>(sum_of_lists(memory.of_warp, blockDim.x / parts::warp_threads) + levels::settled(own), d_out);
}

inline constexpr int most_levels_threads = 1024;

template <class Terms, class OutputIteratorT>
__global__ void __launch_bounds__(most_levels_threads, 1)
    levels_kernel(Terms terms, levels_plan plan, OutputIteratorT d_out, levels_posts<Terms> posts, levels_meet meet) {
  __shared__ levels_memory<Terms> of_block, of_grid;
  const unsigned warp = threadIdx.x / parts::warp_threads;
#if __CUDA_ARCH__ >= 900
  using levels = exact_levels<Terms>;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  namespace peers = cluster::parts;
  __shared__ long long inbox[peers::portable_cluster_blocks][levels::num_places];
  __shared__ peers::phase_barrier barrier;
  if (meet == levels_meet::cluster) {
    if (peers::block_rank() == 0 && warp == 0)
      peers::expect(barrier, (gridDim.x - 1) * levels::num_places * static_cast<unsigned>(sizeof(long long)));
    peers::arrive_started();
  }
  if (meet == levels_meet::later) parts::let_next_launch_start();
#endif
  if (meet >= levels_meet::grid) posts.prefetch(blockIdx.x);
  long long sum = levels_of_block(levels_of_tiles(terms, plan), of_block);
#if __CUDA_ARCH__ >= 900
  if (meet == levels_meet::cluster) {
    peers::wait();
    if (warp > 0) return;
    const unsigned rank = peers::block_rank();
    if (rank > 0) {
      if (lane < levels::num_places) peers::store_remote(&inbox[rank][lane], barrier, 0, sum);
      return;
    }
    if (lane < levels::num_places) inbox[0][lane] = sum;
    barrier.wait_for_cluster(0);
    __syncwarp();
    sum = sum_of_lists(inbox, static_cast<int>(gridDim.x));
  }
#endif
  if (meet <= levels_meet::cluster) {
    if (warp == 0) write_levels<Terms>(sum, d_out);
  } else if (meet == levels_meet::grid && blockIdx.x + 1 == gridDim.x) {
    gather_levels(posts, blockIdx.x, sum, of_grid, d_out);
  } else if (warp == 0) {
    posts.post(blockIdx.x, sum);
  }
}

inline constexpr int levels_finish_threads = 512;

template <class Terms, class OutputIteratorT>
__global__ void __launch_bounds__(levels_finish_threads)
    levels_finish_kernel(levels_posts<Terms> posts, unsigned num_blocks, OutputIteratorT d_out) {
  __shared__ levels_memory<Terms> memory;
  parts::wait_for_launch_before();
  gather_levels(posts, num_blocks, 0, memory, d_out);
}

// Up to so many items a multiprocessor: a tile for each warp that it can have.
inline std::size_t most_level_items(const parts::device_limits& limits) {
  constexpr std::size_t thread_items = 8;
  return std::size_t(limits.multiprocessors) * most_levels_threads * thread_items;
}

template <class Terms>
levels_plan plan_levels(const Terms& terms, std::size_t num_items) {
  constexpr std::size_t tile_items = exact_levels<Terms>::thread_terms * parts::warp_threads;
  std::size_t before = 0, vectors = 0;
  if constexpr (Terms::in_vectors) {
    before = parts::at_most(terms.items_before_vectors(), num_items);
    vectors = (num_items - before) / Terms::vector_items;
  }
  const std::size_t in_vectors = vectors * Terms::vector_items, vector_tiles = parts::ceil_div(in_vectors, tile_items),
                    num_tiles = vector_tiles + parts::ceil_div(num_items - in_vectors, tile_items);
  return {static_cast<unsigned>(num_items), static_cast<unsigned>(before), static_cast<unsigned>(vectors),
          static_cast<unsigned>(vector_tiles), static_cast<unsigned>(num_tiles)};
}

struct levels_launch {
  levels_meet meet = levels_meet::block;
  std::size_t num_blocks = 1, num_warps = 1;  // warps of a block
};

inline levels_launch choose_levels(const levels_plan& plan, std::size_t multiprocessors, bool has_clusters) {
  // A warp has one tile, if there are enough warps. One multiprocessor holds all blocks of a cluster, so that it
  // starts wherever a single block would. In a grid few blocks post, and 16 warps read the mailboxes of 128 blocks at
  // once; some may have no tile.
  constexpr std::size_t most_alone = 16, cluster_blocks = cluster::parts::portable_cluster_blocks, cluster_warps = 4,
                        most_in_cluster = cluster_blocks * cluster_warps, block_tiles = 8, least_warps = 16,
                        most_warps = most_levels_threads / parts::warp_threads;
  const std::size_t tiles = plan.num_tiles;
  if (tiles <= 1) return {};
  if (tiles <= most_alone) return {levels_meet::block, 1, tiles};
  if (has_clusters && tiles <= most_in_cluster)
    return {levels_meet::cluster, cluster_blocks, parts::ceil_div(tiles, cluster_blocks)};
  const std::size_t num_blocks = parts::at_most(parts::ceil_div(tiles, block_tiles), multiprocessors),
                    num_warps = parts::at_most(parts::ceil_div(tiles, num_blocks), most_warps);
  return {levels_meet::grid, num_blocks, num_warps > least_warps ? num_warps : least_warps};
}

template <class Terms, class OutputIteratorT>
cudaError_t add_levels(void* d_temp_storage, std::size_t& temp_storage_bytes, const Terms& terms, OutputIteratorT d_out,
                       std::size_t num_items, const parts::device_limits& limits, cudaStream_t stream) {
  using posts_type = levels_posts<Terms>;
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, posts_type::bytes(limits.multiprocessors), region, error))
    return error;
  int cc = 0;
  error = device::capability(cc);
  if (error != cudaSuccess) return error;
  const levels_plan plan = plan_levels(terms, num_items);
  levels_launch launch = choose_levels(plan, limits.multiprocessors, cc >= 90);
  posts_type posts{typename posts_type::mailboxes(region), 0};
  if (launch.meet == levels_meet::grid) {
    bool captured = false;
    error = parts::is_captured(stream, captured);
    if (error != cudaSuccess) return error;
    if (captured)
      launch.meet = levels_meet::later;
    else
      posts.tag = parts::draw_tag();
  }
  const auto kernel = levels_kernel<Terms, OutputIteratorT>;
  const int block_threads = static_cast<int>(launch.num_warps) * parts::warp_threads;
  if (launch.meet == levels_meet::cluster) {
    cluster::parts::cluster_shape shape{static_cast<int>(launch.num_blocks), block_threads};
    shape.balanced = true;
    return cluster::parts::launch_clusters(kernel, 1, shape, stream, terms, plan, d_out, posts, launch.meet);
  }
  error = parts::launch(kernel, launch.num_blocks, block_threads, stream, terms, plan, d_out, posts, launch.meet);
  if (error != cudaSuccess || launch.meet != levels_meet::later) return error;
  return parts::launch_overlapped(levels_finish_kernel<Terms, OutputIteratorT>, 1, levels_finish_threads, 0,
                                  limits.overlaps(), stream, posts, static_cast<unsigned>(launch.num_blocks), d_out);
}

}  // namespace rungs::RUNGS_ABI::production
