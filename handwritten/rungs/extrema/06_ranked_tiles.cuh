// Rung 6. A thread remembers a rank and how far behind its first item the item stands, and reads nothing twice.
// Against 04_tagged_places: an item becomes its rank, as in 02_packed_word, and of two the lesser stays, with its
// distance, which the compiler knows. So no tile is read again, and the answer is the rank turned back. A thread's pair
// is a word of rank and index, or two, which the kernels of sums reduce, and this is how they read their tiles.
// Vectors are counted from the first aligned address: the few items before and behind them are read one by one.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/reductions/17_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::parts {

template <int block_threads_, int vectors_per_thread, reading how, bool least, class T, class Place, class Item>
struct tile_reader<block_threads_, vectors_per_thread, how, ranked<least, T, Place, Item*>> {
  using iterator = ranked<least, T, Place, Item*>;
  using item = std::remove_cv_t<Item>;
  static constexpr int block_threads = block_threads_, vector_items = vector<item>::num_items;
  static constexpr int tile_vectors = block_threads * vectors_per_thread, tile_items = tile_vectors * vector_items;

  // The first of the thread's items of the tiles first_tile, first_tile + stride … or `best`.
  template <class ReductionOpT>
  static __device__ Place reduce(iterator d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride,
                                 Place best, ReductionOpT first_of) {
    const unsigned behind_aligned = reinterpret_cast<std::uintptr_t>(d_in.d_in) % 16 / sizeof(item);
    const unsigned to_aligned = (vector_items - behind_aligned) % vector_items;
    const unsigned num_before = num_items < to_aligned ? static_cast<unsigned>(num_items) : to_aligned;
    const unsigned num_edges = num_before + static_cast<unsigned>(num_items - num_before) % vector_items;
    const bool has_edge = first_tile == 0 && threadIdx.x < num_edges;
    const std::size_t edge = threadIdx.x < num_before ? threadIdx.x : num_items - num_edges + threadIdx.x;
    item on_edge{};
    if (has_edge) on_edge = d_in.d_in[edge];

    const std::size_t whole_vectors = (num_items - num_before) / vector_items;
    for (std::size_t first = first_tile * tile_vectors; first < whole_vectors; first += stride * tile_vectors) {
      const std::size_t from = num_before + first * vector_items;
      const std::size_t left = whole_vectors - first;
      const best_of_tile found(d_in.d_in + from, left < tile_vectors ? static_cast<unsigned>(left) : tile_vectors);
      best = first_of(best, make_place<Place>(found.least_rank, d_in.first + from + found.distance));
    }
    if (has_edge) best = first_of(best, make_place<Place>(rank_of<least>(static_cast<T>(on_edge)), d_in.first + edge));
    return best;
  }

 private:
  // Of a tile's vectors that are there, the thread's best. In place of others it takes the last one: that has a thread
  // of its own, which finds the same items nearer.
  struct best_of_tile {
    rank<T> least_rank;
    unsigned distance;  // from the tile's first item

    __device__ best_of_tile(const item* items, unsigned num_vectors) {
      vector<item> loaded[vectors_per_thread];
#pragma unroll
      for (int k = 0; k < vectors_per_thread; ++k) {
        const unsigned mine = threadIdx.x + k * block_threads;
        loaded[k] = load_vector(items, mine < num_vectors ? mine : num_vectors - 1);
      }
      least_rank = rank_of<least>(static_cast<T>(loaded[0][0]));
      distance = 0;
#pragma unroll
      for (int k = 0; k < vectors_per_thread; ++k) {
        rank<T> of_vector = rank_of<least>(static_cast<T>(loaded[k][0]));
        unsigned at = k * block_threads * vector_items;
#pragma unroll
        for (int i = 1; i < vector_items; ++i) {
          const rank<T> other = rank_of<least>(static_cast<T>(loaded[k][i]));
          if (other < of_vector) at = k * block_threads * vector_items + i;
          if (other < of_vector) of_vector = other;
        }
        if (of_vector < least_rank || k == 0) distance = at;
        if (of_vector < least_rank) least_rank = of_vector;
      }
      distance += threadIdx.x * vector_items;
    }
  };
};

}  // namespace rungs::RUNGS_ABI::parts

namespace rungs::RUNGS_ABI::reductions {
template <bool least, class T, class Place, class Item>
inline constexpr bool reads_vectors<parts::ranked<least, T, Place, Item*>> = true;
}  // namespace rungs::RUNGS_ABI::reductions

namespace rungs::RUNGS_ABI::extrema {

// Where a place is written as an item and its index.
template <class T, class ReductionOpT>
struct ranked_outputs {
  static constexpr bool least = std::is_same_v<ReductionOpT, minimum>;
  struct reference {
    ranked_outputs to;
    template <class Place>
    __device__ const reference& operator=(const Place& found) const {
      const parts::placed<T> answer = parts::place_of<least, T>(found, to.d_in);
      parts::write_place(answer.index == parts::nowhere ? parts::no_item<ReductionOpT, T>() : answer, to.d_item,
                         to.d_index);
      return *this;
    }
  };

  const T* d_in;
  T* d_item;
  long long* d_index;

  __device__ reference operator*() const { return {*this}; }
};

struct ranked_tiles {
  static constexpr auto idea = "ranks and distances in registers, one word a thread: nothing is read twice";
  static constexpr int block_threads = reductions::tagged_aggregates::block_threads;
  static constexpr int items_per_thread = reductions::tagged_aggregates::items_per_thread;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  static constexpr std::size_t max_items = parts::most_in_a_word;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT,
                                  cudaStream_t stream = nullptr) {
    using place = std::conditional_t<parts::has_short_rank<T>, parts::ranked_index, parts::ranked_place>;
    using outputs = ranked_outputs<T, ReductionOpT>;
    return reductions::tagged_aggregates::reduce(
        d_temp_storage, temp_storage_bytes, parts::ranked<outputs::least, T, place, const T*>{d_in},
        outputs{d_in, d_item, d_index}, num_items, parts::first_rank{}, parts::first_rank::identity<place>(), stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
