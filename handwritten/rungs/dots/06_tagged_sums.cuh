// Rung 6. One launch, in which the last block gathers the sums of the others.
// Against 05_loads_in_flight: the second launch goes. Sums are posted under a tag of the call, as in
// reductions/18_tagged_aggregates, whose kernel this is. Few pairs come in smaller blocks of one tile each, and fewer
// in one block, which posts nothing.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/dots/05_loads_in_flight.cuh"
#include "rungs/parts/tagged_launch.cuh"
#include "rungs/reductions/14_one_block.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::dots {

// One tile a block: a short path with 32-bit offsets, and the same bits.
template <int block_threads, int vectors_per_thread, class Item>
struct one_tile_of_pairs : tile_of_pairs<block_threads, vectors_per_thread, true, Item> {
  using tile = tile_of_pairs<block_threads, vectors_per_thread, true, Item>;

  template <class T>
  static __device__ T reduce(parts::pair_of_arrays<Item> d_in, std::size_t num_items, std::size_t first_tile,
                             std::size_t, T sum, plus) {
    const unsigned mine = static_cast<unsigned>(first_tile) * tile::tile_vectors + threadIdx.x;
    const unsigned num_vectors = static_cast<unsigned>(num_items) / tile::vector_items;
    const auto present = [=](int k) { return mine + k * block_threads < num_vectors; };
    sum += tile::template dot_of_present<T>(d_in, mine, present);
    return parts::add_behind(sum, d_in, num_items, first_tile);
  }
};

struct tagged_sums {
  static constexpr auto idea = "the last block gathers what the others post; few pairs in smaller blocks";
  static constexpr int block_threads = loads_in_flight::block_threads;
  static constexpr int vectors_per_thread = loads_in_flight::vectors_per_thread;
  static constexpr int items_per_thread = loads_in_flight::items_per_thread;
  static constexpr int blocks_per_multiprocessor = loads_in_flight::blocks_per_multiprocessor;
  static constexpr int small_block_threads = 256, small_vectors_per_thread = 2;  // while two a multiprocessor hold all
  static constexpr int lone_block_threads = 512, lone_vectors_per_thread = 2;    // while one block holds all
  static constexpr int many_blocks_per_multiprocessor = 64;  // from that many tiles on: see reductions/16
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  static std::size_t summation_height(std::size_t num_items) {
    const std::size_t small =
        parts::grid_height(num_items, small_block_threads, small_vectors_per_thread, blocks_per_multiprocessor);
    const std::size_t few = parts::grid_height(num_items, block_threads, vectors_per_thread, blocks_per_multiprocessor);
    const std::size_t many =
        parts::grid_height(num_items, block_threads, vectors_per_thread, many_blocks_per_multiprocessor);
    return small + (few > many ? few : many) + 16;
  }

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    using lone_tile = one_tile_of_pairs<lone_block_threads, lone_vectors_per_thread, Item>;
    using lone_unaligned = tile_of_pairs<lone_block_threads, lone_vectors_per_thread, false, Item>;
    using small_tile = one_tile_of_pairs<small_block_threads, small_vectors_per_thread, Item>;
    using small_unaligned = tile_of_pairs<small_block_threads, small_vectors_per_thread, false, Item>;
    using tile = tile_of_pairs<block_threads, vectors_per_thread, true, Item>;
    using unaligned = tile_of_pairs<block_threads, vectors_per_thread, false, Item>;
    parts::device_limits limits;
    char* region;
    cudaError_t error = limits.ask();
    if (error != cudaSuccess) return error;
    const std::size_t num_multiprocessors = limits.multiprocessors;
    const std::size_t few_blocks = num_multiprocessors * blocks_per_multiprocessor;
    const std::size_t most_blocks = num_multiprocessors * many_blocks_per_multiprocessor;
    const std::size_t most_small = parts::at_most(few_blocks, small_block_threads);
    const bool is_small = num_items <= most_small * small_tile::tile_items;
    std::size_t grid_blocks = parts::ceil_div(num_items, is_small ? small_tile::tile_items : tile::tile_items);
    if (grid_blocks == 0) grid_blocks = 1;
    grid_blocks = grid_blocks < most_blocks ? parts::at_most(grid_blocks, few_blocks) : most_blocks;
    // Of few pairs as much as of many.
    const std::size_t bytes = parts::mailboxes<T>::bytes(grid_blocks > most_small ? grid_blocks : most_small);
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    const bool aligned = parts::is_aligned(d_x) && parts::is_aligned(d_y);
    const parts::pair_of_arrays<Item> pairs{d_x, d_y};
    const auto launch_alone = [&](auto of) {
      return parts::launch(reductions::one_block_kernel<decltype(of), T*, plus, T>, 1, of.block_threads, stream, pairs,
                           num_items, d_out, plus{}, T{});
    };
    const auto launch = [&](auto of) {
      const auto kernel = reductions::tagged_aggregates_kernel<decltype(of), T*, plus, T>;
      return parts::launch_tagged<block_threads>(kernel, grid_blocks, of.block_threads, stream, pairs, num_items, d_out,
                                                 plus{}, T{}, region, limits);
    };
    if (num_items <= lone_tile::tile_items) return aligned ? launch_alone(lone_tile{}) : launch_alone(lone_unaligned{});
    if (is_small) return aligned ? launch(small_tile{}) : launch(small_unaligned{});
    return aligned ? launch(tile{}) : launch(unaligned{});
  }
};

}  // namespace rungs::RUNGS_ABI::dots
