// Rung 7. A rank a tile: the place is looked for among the items in registers, and no tile is read twice.
// Against 06_ranked_words: items come by 16-byte loads. A thread folds those of a tile as a minimum does, and looks for
// the place only in a tile that is better than all before. So most items take one operation. Vectors are counted from
// the first aligned address: the few items before and behind them are read one by one.
#pragma once

#include "rungs/extrema/06_ranked_words.cuh"
#include "rungs/parts/ranked_vectors.cuh"
#include "rungs/parts/vector_edges.cuh"

namespace rungs::RUNGS_ABI::parts {

template <int block_threads_, int vectors_per_thread, reading how, bool least, class T, class Place, class Item>
struct tile_reader<block_threads_, vectors_per_thread, how, ranked_array<least, T, Place, Item>> {
  using iterator = ranked_array<least, T, Place, Item>;
  using mine = ranked_vectors<block_threads_, vectors_per_thread, least, T, std::remove_cv_t<Item>>;
  static constexpr int block_threads = block_threads_, vector_items = mine::vector::num_items;
  static constexpr int tile_vectors = block_threads * vectors_per_thread, tile_items = tile_vectors * vector_items;

  // The best of the thread's items of the tiles first_tile, first_tile + stride … or `best`. One tile is read by a
  // short straight path with 32-bit offsets, as sums read theirs.
  static __device__ Place reduce(iterator d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride,
                                 Place best, first_rank first_of) {
    using offset = std::conditional_t<how == reading::one_tile, unsigned, std::size_t>;
    const vector_edges<std::remove_cv_t<Item>, offset> edges(d_in.d_in, static_cast<offset>(num_items));
    const Item* const aligned = d_in.d_in + edges.num_before;
    const offset whole_vectors = edges.whole_vectors();
    item_on_edge<T, Item, offset> on_edge(edges, first_tile);
    typename mine::vector loaded[vectors_per_thread];
    if constexpr (how == reading::one_tile) {
      const auto first = static_cast<unsigned>(first_tile) * tile_vectors;
      if (first < whole_vectors) mine::load(aligned, first, whole_vectors - 1, loaded);
      on_edge.load(d_in.d_in);
      if (first < whole_vectors) {
        const T of_tile = mine::best_of(loaded);
        const unsigned index = edges.num_before + (first + threadIdx.x) * vector_items +
                               distance_to(of_tile, loaded, aligned, first, whole_vectors - 1);
        best = first_of(best, make_place<Place>(rank_of<least>(of_tile), d_in.first + index));
      }
    } else {
      on_edge.load(d_in.d_in);
      rank<T> best_rank{};
      std::size_t best_index = no_index;
      for (offset first = first_tile * tile_vectors; first < whole_vectors; first += stride * tile_vectors) {
        const unsigned last = mine::last_of(whole_vectors - first);
        const std::size_t from = first * vector_items;
        mine::load(aligned + from, 0, last, loaded);
        const T of_tile = mine::best_of(loaded);
        if (best_index != no_index && best_rank <= rank_of<least>(of_tile)) continue;
        best_rank = rank_of<least>(of_tile);
        best_index = edges.num_before + from + threadIdx.x * vector_items +
                     distance_to(of_tile, loaded, aligned + from, 0, last);
      }
      if (best_index != no_index) best = first_of(best, make_place<Place>(best_rank, d_in.first + best_index));
    }
    if (on_edge.is_there) best = first_of(best, on_edge.template place<least, Place>(d_in.first));
    return best;
  }

  // To the first of the thread's items that is as good as the best of them: looked for backwards, what is found last
  // stands first.
  static __device__ unsigned distance_to(T of_tile, const typename mine::vector* loaded, const Item* d_in,
                                         unsigned first, unsigned last) {
    if constexpr (sizeof(Item) < 4) return mine::distance_to_narrow(of_tile, loaded, d_in, first, last);
    if (of_tile == of_tile) {
      unsigned distance = 0;
#pragma unroll
      for (int i = vectors_per_thread * vector_items - 1; i >= 0; --i)
        if (mine::is_as_good(of_tile, loaded, i)) distance = mine::distance_of(i);
      return distance;
    }
    return mine::distance_to_nan(d_in, first, last);
  }
};

}  // namespace rungs::RUNGS_ABI::parts

namespace rungs::RUNGS_ABI::extrema {

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
    using place = parts::place_with<T>;
    using outputs = ranked_outputs<T, ReductionOpT>;
    return reductions::tagged_aggregates::reduce(
        d_temp_storage, temp_storage_bytes, parts::ranked_array<outputs::least, T, place, const T>{{d_in}},
        outputs{d_in, d_item, d_index}, num_items, parts::first_rank{}, parts::first_rank::identity<place>(), stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
