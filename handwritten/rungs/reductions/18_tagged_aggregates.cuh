// Rung 18. Few items come in smaller blocks, and many in more blocks than one can gather.
// Against 17_tagged_finish: few items come in blocks of one tile each, half as wide, and few aggregates are gathered by
// one warp, which replaces a block's second reduction. Where there are more blocks than a block has threads, and in a
// graph, the same kernel leaves its aggregates to 16_overlapped_finish's second launch: in graphs that is faster, too.
// Items that are read one by one come in more blocks, fewer to a thread.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/gather.cuh"
#include "rungs/parts/overlap.cuh"
#include "rungs/parts/tagged_launch.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/reductions/16_overlapped_finish.cuh"

namespace rungs::RUNGS_ABI::reductions {

// Whether the result is the same bits in any grouping. The threads of the last block then fold what is posted onto what
// they have read, before the block's only reduction: less code, and less to wait for behind the last post.
template <class ReductionOpT, class T>
inline constexpr bool any_grouping = false;

// How many mailboxes a lane reads at once where one warp gathers.
template <class T>
inline constexpr int gathered_by_lane = sizeof(T) <= 8 ? 5 : 1;

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads, Tile::block_threads == 512 ? 2 : 1)
    tagged_aggregates_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                             ReductionOpT reduction_op, T init, char* storage, parts::tag tag) {
  parts::let_next_launch_start();
  const parts::mailboxes<T> mailboxes(storage);
  const unsigned gatherer = gridDim.x - 1;  // and how many others there are
  if (threadIdx.x == 0) mailboxes.prefetch(blockIdx.x);
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  if constexpr (any_grouping<ReductionOpT, T>) {
    if (tag != parts::no_tag && blockIdx.x == gatherer) {
      for (unsigned i = threadIdx.x; i < gatherer; i += Tile::block_threads) {
        T other;
        while (!mailboxes.peek(i, other, tag)) continue;
        value = reduction_op(value, other);
      }
    }
  }
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (tag == parts::no_tag) {
    if (threadIdx.x == 0) reinterpret_cast<T*>(storage)[blockIdx.x] = value;
    return;
  }
  if (blockIdx.x != gatherer) {
    if (threadIdx.x == 0) mailboxes.post(blockIdx.x, value, tag);
    return;
  }
  T others = ReductionOpT::template identity<T>();
  if constexpr (any_grouping<ReductionOpT, T>) {
    // `value` has them already
  } else if (gatherer <= gathered_by_lane<T> * parts::warp_threads) {
    if (threadIdx.x >= parts::warp_threads) return;
    others = parts::gather<gathered_by_lane<T>>(mailboxes, 0, gatherer, tag, reduction_op);
  } else {
    while (threadIdx.x < gatherer && !mailboxes.peek(threadIdx.x, others, tag)) continue;
    __syncthreads();  // the block's first reduction is done
    others = parts::block_reduce<Tile::block_threads>(others, reduction_op);
  }
  if (threadIdx.x == 0) parts::store(d_out, reduction_op(init, reduction_op(others, value)));
}

struct tagged_aggregates {
  static constexpr auto idea = "tagged posts, with smaller blocks of few items and more blocks of many";
  static constexpr int block_threads = 512, vectors_per_thread = 8;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr int small_block_threads = 256, small_vectors_per_thread = 4;  // while two a multiprocessor hold all
  static constexpr int regrouped_small_blocks = 4;  // on each multiprocessor, where the last block has one reduction
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  static std::size_t summation_height(std::size_t num_items) {
    const std::size_t small =
        parts::grid_height(num_items, small_block_threads, small_vectors_per_thread, blocks_per_multiprocessor);
    const std::size_t large = overlapped_finish::summation_height(num_items);
    return (small > large ? small : large) + gathered_by_lane<double>;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr);

 private:
  // Items that are read one by one, each by a load of its own, want fewer a thread and more blocks (64 Ki structs of 24
  // bytes on an H200: 1.06 times CUB's time instead of 1.73).
  template <class InputIteratorT>
  struct shape {
    static constexpr bool vectorised = parts::reads_vectors<InputIteratorT>;
    static constexpr bool is_wide = sizeof(parts::item_of<InputIteratorT>) > 8;
    static constexpr int vectors = vectorised ? vectors_per_thread : is_wide ? 1 : 4;
    static constexpr int blocks = vectorised ? blocks_per_multiprocessor : is_wide ? 8 : 4;
  };
};

template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
cudaError_t tagged_aggregates::reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                      OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                                      cudaStream_t stream) {
  if constexpr (!has_identity<ReductionOpT, T>) {
    return reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, parts::lifted<ReductionOpT>{reduction_op},
                  parts::maybe<T>(init, true), stream);
  } else {
    using large = shape<InputIteratorT>;
    using small_tile = parts::one_tile_reader<small_block_threads, small_vectors_per_thread, InputIteratorT>;
    parts::device_limits limits;
    std::size_t grid_blocks;
    char* region;
    cudaError_t error = limits.ask();
    if (error != cudaSuccess) return error;
    const std::size_t num_multiprocessors = limits.multiprocessors;
    constexpr bool regroups = any_grouping<ReductionOpT, T>;
    const std::size_t most_small =
        regroups ? num_multiprocessors * regrouped_small_blocks
                 : parts::at_most(num_multiprocessors * blocks_per_multiprocessor, small_block_threads + 1);
    const bool is_small = large::vectorised && num_items <= most_small * small_tile::tile_items;
    constexpr int many_blocks = overlapped_finish::many_blocks_per_multiprocessor;
    error = parts::plan_grid<block_threads, large::vectors>(d_in, num_items, many_blocks, grid_blocks);
    if (error != cudaSuccess) return error;
    if (is_small)
      grid_blocks = num_items == 0 ? 1 : parts::ceil_div(num_items, small_tile::tile_items);
    else if (grid_blocks < num_multiprocessors * many_blocks)
      grid_blocks = parts::at_most(grid_blocks, num_multiprocessors * large::blocks);
    // Of few items as much as of many.
    const std::size_t bytes = parts::mailboxes<T>::bytes(grid_blocks > most_small ? grid_blocks : most_small);
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    const auto launch = [&](auto tile_type) {
      using tile = typename decltype(tile_type)::named;
      const auto kernel = tagged_aggregates_kernel<tile, OutputIteratorT, ReductionOpT, T>;
      return parts::launch_tagged<block_threads>(kernel, grid_blocks, tile::block_threads, stream,
                                                 typename tile::iterator(d_in), num_items, d_out, reduction_op, init,
                                                 region, limits, regroups && is_small);
    };
    if constexpr (large::vectorised) {
      if (is_small) return parts::with_one_tile_reader<small_block_threads, small_vectors_per_thread>(d_in, launch);
    }
    return parts::with_tile_reader<block_threads, large::vectors>(d_in, launch);
  }
}

}  // namespace rungs::RUNGS_ABI::reductions
