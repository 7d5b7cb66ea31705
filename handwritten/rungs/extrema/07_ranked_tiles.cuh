// Rung 7. A rank a tile: the place is looked for among the items in registers, and no tile is read twice.
// Against 06_ranked_words: items come by 16-byte loads. A thread folds those of a tile as a minimum does, and looks for
// the place only in a tile that is better than all before. So most items take one operation. Vectors are counted from
// the first aligned address: the few items before and behind them are read one by one.
#pragma once

#include "rungs/extrema/06_ranked_words.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/vector_edges.cuh"

namespace rungs::RUNGS_ABI::parts {

// Items of an array, for the reader below.
template <bool least, class T, class Place, class Item>
struct ranked_array : ranked<least, T, Place, Item*> {};

template <bool least, class T, class Place, class Item>
inline constexpr bool reads_vectors<ranked_array<least, T, Place, Item>> = true;

template <int block_threads_, int vectors_per_thread, reading how, bool least, class T, class Place, class Item>
struct tile_reader<block_threads_, vectors_per_thread, how, ranked_array<least, T, Place, Item>> {
  using iterator = ranked_array<least, T, Place, Item>;
  using item = std::remove_cv_t<Item>;
  static constexpr int block_threads = block_threads_, vector_items = vector<item>::num_items;
  static constexpr int tile_vectors = block_threads * vectors_per_thread, tile_items = tile_vectors * vector_items;

  // The best of the thread's items of the tiles first_tile, first_tile + stride … or `best`. One tile is read by a
  // short straight path with 32-bit offsets, as sums read theirs.
  template <class ReductionOpT>
  static __device__ Place reduce(iterator d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride,
                                 Place best, ReductionOpT first_of) {
    using offset = std::conditional_t<how == reading::one_tile, unsigned, std::size_t>;
    const vector_edges<item, offset> edges(d_in.d_in, static_cast<offset>(num_items));
    const Item* const aligned = d_in.d_in + edges.num_before;
    const offset whole_vectors = edges.whole_vectors();
    const bool has_edge = first_tile == 0 && threadIdx.x < edges.num_edges;
    const offset edge = edges.index_of(threadIdx.x);
    item on_edge{};
    vector<item> loaded[vectors_per_thread];
    if constexpr (how == reading::one_tile) {
      const auto first = static_cast<unsigned>(first_tile) * tile_vectors;
      if (first < whole_vectors) load(aligned, first, whole_vectors - 1, loaded);
      if (has_edge) on_edge = d_in.d_in[edge];
      if (first < whole_vectors) {
        const T of_tile = best_of(loaded);
        const unsigned index = edges.num_before + (first + threadIdx.x) * vector_items +
                               distance_to(of_tile, loaded, aligned, first, whole_vectors - 1);
        best = first_of(best, make_place<Place>(rank_of<least>(of_tile), d_in.first + index));
      }
    } else {
      if (has_edge) on_edge = d_in.d_in[edge];
      rank<T> best_rank{};
      std::size_t best_index = no_index;
      for (offset first = first_tile * tile_vectors; first < whole_vectors; first += stride * tile_vectors) {
        const offset left = whole_vectors - first;
        const unsigned last = left < tile_vectors ? static_cast<unsigned>(left) - 1 : tile_vectors - 1;
        const std::size_t from = first * vector_items;
        load(aligned + from, 0, last, loaded);
        const T of_tile = best_of(loaded);
        const rank<T> rank_of_tile = rank_of<least>(of_tile);
        if (best_index != no_index && best_rank <= rank_of_tile) continue;
        best_rank = rank_of_tile;
        best_index = edges.num_before + from + threadIdx.x * vector_items +
                     distance_to(of_tile, loaded, aligned + from, 0, last);
      }
      if (best_index != no_index) best = first_of(best, make_place<Place>(best_rank, d_in.first + best_index));
    }
    if (has_edge) best = first_of(best, make_place<Place>(rank_of<least>(static_cast<T>(on_edge)), d_in.first + edge));
    return best;
  }

 private:
  using extremum = std::conditional_t<least, minimum, maximum>;

  // The one answered of two, of equals either; a NaN of them.
  struct better {
    __device__ T operator()(T a, T b) const {
      if constexpr (std::is_same_v<T, float>) return extremum{}(a, b);
      const bool is_behind = least ? !(a <= b) : !(b <= a);
      return is_behind && a == a ? b : a;
    }
  };

  // The thread's vector k of the tile whose first one is `first`. In place of vectors that are not there it takes the
  // last one: that has a thread of its own, which finds the items nearer.
  static __device__ unsigned place(unsigned first, int k, unsigned last) {
    const unsigned mine = first + threadIdx.x + k * block_threads;
    return mine < last ? mine : last;
  }
  static __device__ void load(const Item* d_in, unsigned first, unsigned last, vector<item>* loaded) {
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) loaded[k] = load_vector(d_in, place(first, k, last));
  }

  static __device__ T best_of(const vector<item>* loaded) {
    T folded[vectors_per_thread];
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) folded[k] = fold<T, 0, vector_items>(loaded[k], better{});
    return fold<T, 0, vectors_per_thread>(folded, better{});
  }

  // From a thread's first item in a tile.
  static __device__ unsigned distance_of(int vector, int in_vector) {
    return vector * block_threads * vector_items + in_vector;
  }

  // To the first of the thread's items that is as good as the best of them: looked for backwards, what is found last
  // stands first.
  static __device__ unsigned distance_to(T of_tile, const vector<item>* loaded, const Item* d_in, unsigned first,
                                         unsigned last) {
    unsigned distance = 0;
    if constexpr (sizeof(item) < 4) {  // many items: one vector is read again
      int its_vector = 0;
#pragma unroll
      for (int k = vectors_per_thread - 1; k >= 0; --k)
        if (!is_better<extremum>(of_tile, fold<T, 0, vector_items>(loaded[k], better{}))) its_vector = k;
      const vector<item> again = load_vector(d_in, place(first, its_vector, last));
#pragma unroll
      for (int i = vector_items - 1; i >= 0; --i)
        if (!is_better<extremum>(of_tile, static_cast<T>(again[i]))) distance = distance_of(its_vector, i);
    } else if (of_tile == of_tile) {
#pragma unroll
      for (int i = vectors_per_thread * vector_items - 1; i >= 0; --i) {
        const T other = static_cast<T>(loaded[i / vector_items][i % vector_items]);
        if (least ? !(of_tile < other) : !(other < of_tile)) distance = distance_of(i / vector_items, i % vector_items);
      }
    } else {
#pragma unroll 1
      for (int i = vectors_per_thread * vector_items - 1; i >= 0; --i) {
        const unsigned vector = place(first, i / vector_items, last);
        const T other = static_cast<T>(d_in[std::size_t{vector} * vector_items + i % vector_items]);
        if (other != other) distance = distance_of(i / vector_items, i % vector_items);
      }
    }
    return distance;
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
