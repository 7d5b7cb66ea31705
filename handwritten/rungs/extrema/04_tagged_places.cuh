// Rung 4. One launch, in which the last block gathers what the others found.
// Against 03_tile_found_last: two blocks of 512 threads a multiprocessor instead of eight smaller ones, and the second
// launch goes. Pairs are posted under a tag of the call, as in reductions/18_tagged_aggregates, whose kernel this is.
// Few items come in smaller blocks of one tile each.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/extrema/03_tile_found_last.cuh"
#include "rungs/parts/place_outputs.cuh"
#include "rungs/parts/tagged_launch.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::extrema {

template <int block_threads_, int vectors_per_thread, bool aligned, class T, class ReductionOpT>
struct tile_of_places {
  using iterator = const T*;
  static constexpr int block_threads = block_threads_;
  static constexpr int tile_items = block_threads * vectors_per_thread * parts::vector<T>::num_items;

  static __device__ parts::placed<T> reduce(iterator d_in, std::size_t num_items, std::size_t first_tile,
                                            std::size_t stride, const parts::placed<T>&,
                                            parts::first_of<ReductionOpT>) {
    return best_of_tiles<aligned, block_threads, vectors_per_thread>(d_in, num_items, first_tile, stride,
                                                                     ReductionOpT{});
  }
};

struct tagged_places {
  static constexpr auto idea = "a tile is remembered; the last block gathers the pairs that the others post";
  static constexpr int block_threads = 512, vectors_per_thread = 4;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
  static constexpr int small_block_threads = 256, small_vectors_per_thread = 2;  // while two a multiprocessor hold all
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT reduction_op,
                                  cudaStream_t stream = nullptr) {
    using small_tile = tile_of_places<small_block_threads, small_vectors_per_thread, true, T, ReductionOpT>;
    using small_unaligned = tile_of_places<small_block_threads, small_vectors_per_thread, false, T, ReductionOpT>;
    using tile = tile_of_places<block_threads, vectors_per_thread, true, T, ReductionOpT>;
    using unaligned = tile_of_places<block_threads, vectors_per_thread, false, T, ReductionOpT>;
    using outputs = parts::place_outputs<T>;
    using first = parts::first_of<ReductionOpT>;
    const parts::placed<T> nothing{reduction_op.template identity<T>(), parts::nowhere};
    parts::device_limits limits;
    std::size_t grid_blocks;
    char* region;
    cudaError_t error = limits.ask();
    if (error != cudaSuccess) return error;
    const std::size_t most_blocks = std::size_t(limits.multiprocessors) * blocks_per_multiprocessor;
    const std::size_t most_small = parts::at_most(most_blocks, small_block_threads);
    const bool is_small = num_items <= most_small * small_tile::tile_items;
    grid_blocks = parts::ceil_div(num_items, is_small ? small_tile::tile_items : tile::tile_items);
    grid_blocks = parts::at_most(grid_blocks > 0 ? grid_blocks : 1, is_small ? most_small : most_blocks);
    const std::size_t bytes = parts::mailboxes<parts::placed<T>>::bytes(most_blocks);  // of few items, too
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    const auto launch = [&](auto of) {
      const auto kernel = reductions::tagged_aggregates_kernel<decltype(of), outputs, first, parts::placed<T>>;
      return parts::launch_tagged<block_threads>(kernel, grid_blocks, of.block_threads, stream, d_in, num_items,
                                                 outputs{d_item, d_index}, first{}, nothing, region, limits);
    };
    const bool aligned = parts::is_aligned(d_in);
    if (is_small) return aligned ? launch(small_tile{}) : launch(small_unaligned{});
    return aligned ? launch(tile{}) : launch(unaligned{});
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
