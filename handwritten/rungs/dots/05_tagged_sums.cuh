// Rung 5. Eight 16-byte loads on their way from a thread, and one launch in which the last block gathers the sums.
// Against 04_vector_loads: two blocks of 512 threads a multiprocessor instead of 32 smaller ones, each with four
// vectors of either array in flight: 128 KiB a multiprocessor, which is what DRAM's latency asks for. The second launch
// goes: sums are posted under a tag of the call, as in reductions/17_tagged_aggregates, whose kernel this is. Its tiles
// are of pairs here. Few pairs come in smaller blocks of one tile each, and fewer in one block, which posts nothing.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/reductions/14_one_block.cuh"
#include "rungs/reductions/17_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::dots {

template <class Item>
struct pair_of_arrays {
  const Item *x, *y;
};

// Tiles of block_threads_ * vectors_per_thread vectors of each array, of which thread t owns the vectors t, t +
// block_threads … The order of the additions follows from num_items and the grid alone.
template <int block_threads_, int vectors_per_thread, parts::reading how, class Item>
struct tile_of_pairs {
  using iterator = pair_of_arrays<Item>;
  static constexpr int block_threads = block_threads_;
  static constexpr int vector_items = parts::vector<Item>::num_items;
  static constexpr int tile_vectors = block_threads * vectors_per_thread, tile_items = tile_vectors * vector_items;

  // Adds the thread's products of the tiles first_tile, first_tile + stride … to `sum`: full tiles without a predicate,
  // then the last one. The reader of tile 0 takes what is behind the last whole vector, too.
  template <class T>
  static __device__ T reduce(iterator d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride, T sum,
                             plus) {
    if constexpr (how == parts::reading::one_tile) {  // one short path with 32-bit offsets, and the same bits
      const unsigned mine = static_cast<unsigned>(first_tile) * tile_vectors + threadIdx.x;
      const unsigned num_vectors = static_cast<unsigned>(num_items) / vector_items;
      sum += dot_of_present<T>(d_in, mine, [=](int k) { return mine + k * block_threads < num_vectors; });
    } else {
      const std::size_t num_vectors = num_items / vector_items;
      std::size_t first = first_tile * tile_vectors;
      for (; first + tile_vectors <= num_vectors; first += stride * tile_vectors)
        sum += dot_of_present<T>(d_in, first + threadIdx.x, [](int) { return true; });
      if (first < num_vectors) {
        const int left = static_cast<int>(num_vectors - first) - static_cast<int>(threadIdx.x);
        sum += dot_of_present<T>(d_in, first + threadIdx.x, [=](int k) { return k * block_threads < left; });
      }
    }
    const unsigned num_behind = static_cast<unsigned>(num_items) % vector_items;
    if (first_tile != 0 || threadIdx.x >= num_behind) return sum;
    const std::size_t behind = num_items - num_behind + threadIdx.x;
    return parts::add_product(sum, d_in.x[behind], d_in.y[behind]);
  }

 private:
  static constexpr bool aligned = how != parts::reading::unaligned;

  // Of those of the thread's vectors that are present(k); `mine` is the first of them. All loads are issued before the
  // first of them is used.
  template <class T, class Present>
  static __device__ T dot_of_present(iterator d_in, std::size_t mine, Present present) {
    parts::vector<Item> x[vectors_per_thread], y[vectors_per_thread];
    T sums[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) {
      if (!aligned || !present(k)) continue;
      x[k] = parts::load_vector(d_in.x, mine + k * block_threads);
      y[k] = parts::load_vector(d_in.y, mine + k * block_threads);
    }
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) {
      sums[k] = T{};
      if (present(k))
        sums[k] = aligned ? parts::dot_of_vectors<T>(x[k], y[k])
                          : parts::dot_of_items<T>(d_in.x, d_in.y, mine + k * block_threads);
    }
    return parts::fold<T, 0, vectors_per_thread>(sums, plus{});
  }
};

struct tagged_sums {
  static constexpr auto idea = "eight 16-byte loads in flight a thread; the last block gathers what the others post";
  static constexpr int block_threads = 512, vectors_per_thread = 4;  // of each array
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 2;
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
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr);
};

template <class Item, class T>
cudaError_t tagged_sums::dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                             T* d_out, std::size_t num_items, cudaStream_t stream) {
  using parts::reading;
  using lone_tile = tile_of_pairs<lone_block_threads, lone_vectors_per_thread, reading::one_tile, Item>;
  using small_tile = tile_of_pairs<small_block_threads, small_vectors_per_thread, reading::one_tile, Item>;
  using large_tile = tile_of_pairs<block_threads, vectors_per_thread, reading::aligned, Item>;
  parts::device_limits limits;
  char* region;
  bool captured = false;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
  const std::size_t num_multiprocessors = limits.multiprocessors;
  const std::size_t most_small = parts::at_most(num_multiprocessors * blocks_per_multiprocessor, small_block_threads);
  const std::size_t most_blocks = num_multiprocessors * many_blocks_per_multiprocessor;
  const bool is_small = num_items <= most_small * small_tile::tile_items;
  std::size_t grid_blocks = parts::ceil_div(num_items, is_small ? small_tile::tile_items : large_tile::tile_items);
  if (grid_blocks == 0) grid_blocks = 1;
  grid_blocks = grid_blocks < most_blocks ? parts::at_most(grid_blocks, num_multiprocessors * blocks_per_multiprocessor)
                                          : most_blocks;
  // Of few pairs as much as of many.
  const std::size_t bytes = parts::mailboxes<T>::bytes(grid_blocks > most_small ? grid_blocks : most_small);
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  const bool aligned = parts::is_aligned(d_x) && parts::is_aligned(d_y);
  const pair_of_arrays<Item> pairs{d_x, d_y};
  if (num_items <= lone_tile::tile_items) {
    const auto launch_alone = [&](auto tile_type) {
      using tile = typename decltype(tile_type)::named;
      return parts::launch(reductions::one_block_kernel<tile, T*, plus, T>, 1, tile::block_threads, stream, pairs,
                           num_items, d_out, plus{}, T{});
    };
    using unaligned = tile_of_pairs<lone_block_threads, lone_vectors_per_thread, reading::unaligned, Item>;
    return aligned ? launch_alone(parts::type<lone_tile>{}) : launch_alone(parts::type<unaligned>{});
  }
  parts::tag tag = reductions::no_tag;
  if (grid_blocks - 1 <= std::size_t(is_small ? small_block_threads : block_threads)) {
    error = parts::is_captured(stream, captured);
    if (error != cudaSuccess) return error;
    if (!captured) tag = parts::draw_tag();
  }
  const auto launch = [&](auto tile_type) {
    using tile = typename decltype(tile_type)::named;
    return parts::launch(reductions::tagged_aggregates_kernel<tile, T*, plus, T>, grid_blocks, tile::block_threads,
                         stream, pairs, num_items, d_out, plus{}, T{}, region, tag);
  };
  if (is_small)
    error = aligned ? launch(parts::type<small_tile>{})
                    : launch(parts::type<
                             tile_of_pairs<small_block_threads, small_vectors_per_thread, reading::unaligned, Item>>{});
  else
    error = aligned ? launch(parts::type<large_tile>{})
                    : launch(parts::type<tile_of_pairs<block_threads, vectors_per_thread, reading::unaligned, Item>>{});
  if (error != cudaSuccess || tag != reductions::no_tag) return error;
  return parts::launch_overlapped(reductions::finish_kernel<block_threads, T*, plus, T>, 1, block_threads, 0,
                                  limits.overlaps(), stream, reinterpret_cast<const T*>(region), grid_blocks, d_out,
                                  plus{}, T{});
}

}  // namespace rungs::RUNGS_ABI::dots
