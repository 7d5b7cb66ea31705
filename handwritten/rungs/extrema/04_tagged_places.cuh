// Rung 4. One launch, in which the last block gathers what the others found.
// Against 03_tile_found_last: two blocks of 512 threads a multiprocessor instead of eight smaller ones, and the second
// launch goes. Pairs are posted under a tag of the call, as in reductions/18_tagged_aggregates, whose kernel this is.
// Few items come in smaller blocks of one tile each.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/extrema/03_tile_found_last.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::extrema {

// Where a pair is written as an item and its index.
template <class T>
struct two_outputs {
  struct reference {
    two_outputs to;
    __device__ const reference& operator=(const parts::placed<T>& found) const {
      parts::write_place(found, to.d_item, to.d_index);
      return *this;
    }
  };

  T* d_item;
  long long* d_index;

  __device__ reference operator*() const { return {*this}; }
};

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
                                  cudaStream_t stream = nullptr);
};

template <class T, class ReductionOpT>
cudaError_t tagged_places::arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                        long long* d_index, std::size_t num_items, ReductionOpT, cudaStream_t stream) {
  using pair = parts::placed<T>;
  using first_of = parts::first_of<ReductionOpT>;
  using small_tile = tile_of_places<small_block_threads, small_vectors_per_thread, true, T, ReductionOpT>;
  using large_tile = tile_of_places<block_threads, vectors_per_thread, true, T, ReductionOpT>;
  const pair nothing{ReductionOpT::template identity<T>(), parts::nowhere};
  const two_outputs<T> d_out{d_item, d_index};
  parts::device_limits limits;
  char* region;
  bool captured = false;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
  const std::size_t most_blocks = std::size_t(limits.multiprocessors) * blocks_per_multiprocessor;
  const std::size_t most_small = parts::at_most(most_blocks, small_block_threads);
  const bool is_small = num_items <= most_small * small_tile::tile_items;
  std::size_t grid_blocks = parts::ceil_div(num_items, is_small ? small_tile::tile_items : large_tile::tile_items);
  grid_blocks = parts::at_most(grid_blocks > 0 ? grid_blocks : 1, is_small ? most_small : most_blocks);
  // Of few items as much as of many.
  if (parts::answered(d_temp_storage, temp_storage_bytes, parts::mailboxes<pair>::bytes(most_blocks), region, error))
    return error;
  parts::tag tag = reductions::no_tag;
  if (grid_blocks - 1 <= std::size_t(is_small ? small_block_threads : block_threads)) {
    error = parts::is_captured(stream, captured);
    if (error != cudaSuccess) return error;
    if (!captured) tag = parts::draw_tag();
  }
  const auto launch = [&](auto tile_type) {
    using tile = typename decltype(tile_type)::named;
    return parts::launch(reductions::tagged_aggregates_kernel<tile, two_outputs<T>, first_of, pair>, grid_blocks,
                         tile::block_threads, stream, d_in, num_items, d_out, first_of{}, nothing, region, tag);
  };
  if (is_small)
    error =
        parts::is_aligned(d_in)
            ? launch(parts::type<small_tile>{})
            : launch(
                  parts::type<tile_of_places<small_block_threads, small_vectors_per_thread, false, T, ReductionOpT>>{});
  else
    error = parts::is_aligned(d_in)
                ? launch(parts::type<large_tile>{})
                : launch(parts::type<tile_of_places<block_threads, vectors_per_thread, false, T, ReductionOpT>>{});
  if (error != cudaSuccess || tag != reductions::no_tag) return error;
  return parts::launch_overlapped(reductions::finish_kernel<block_threads, two_outputs<T>, first_of, pair>, 1,
                                  block_threads, 0, limits.overlaps(), stream, reinterpret_cast<const pair*>(region),
                                  grid_blocks, d_out, first_of{}, nothing);
}

}  // namespace rungs::RUNGS_ABI::extrema
