// Reading tiles 16 bytes a thread at a time, several loads in flight, and folding them in registers.
//
// Vectors are counted from d_in and not from an aligned address: items meet in the same order at any alignment, so
// deterministic rungs stay so. Where the pointer is not aligned to 16 bytes, a vector is put together from the two
// aligned ones that it lies in.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/iterator_traits.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class InputIteratorT>
using item_of = std::remove_cv_t<typename std::iterator_traits<InputIteratorT>::value_type>;

// Plain pointers to items of 1, 2, 4, 8 or 16 bytes can be read as vectors; any other iterator is read item by item.
template <class InputIteratorT>
inline constexpr bool is_vectorisable =
    std::is_pointer_v<InputIteratorT>&& std::is_trivially_copyable_v<item_of<InputIteratorT>> &&
    16 % sizeof(item_of<InputIteratorT>) == 0;
// Whether a tile of such items is read by vectors. Iterators that are no pointers may have a tile_reader of their own,
// which reads at any alignment.
template <class InputIteratorT>
inline constexpr bool reads_vectors = is_vectorisable<InputIteratorT>;

// Sixteen bytes of items, kept as the words that one load brings and taken apart when they are folded: sixteen bytes
// held as sixteen values would take sixteen registers.
template <class Item>
struct vector {
  static_assert(16 % sizeof(Item) == 0);
  static constexpr int num_items = 16 / sizeof(Item);
  unsigned words[4];

  __device__ Item operator[](int i) const {
    Item item;
    if constexpr (sizeof(Item) < 4) {
      constexpr int items_per_word = 4 / sizeof(Item);
      const unsigned bits = words[i / items_per_word] >> (i % items_per_word * 8 * static_cast<int>(sizeof(Item)));
      memcpy(&item, &bits, sizeof(Item));
    } else {
      memcpy(&item, words + i * (sizeof(Item) / 4), sizeof(Item));
    }
    return item;
  }
};

// Folds items[first] to items[first + num_items - 1] pairwise: log2(num_items) levels.
template <class T, int first, int num_items, class Items, class ReductionOpT>
__device__ T fold(const Items& items, ReductionOpT reduction_op) {
  if constexpr (num_items == 1) {
    return static_cast<T>(items[first]);
  } else {
    constexpr int half = num_items / 2;
    return reduction_op(fold<T, first, half>(items, reduction_op),
                        fold<T, first + half, num_items - half>(items, reduction_op));
  }
}

// All items of a vector. Four bytes at once where they are summed into a 32-bit integer: dp4a with ones.
template <class T, class Item, class ReductionOpT>
__device__ T fold_vector(const vector<Item>& loaded, ReductionOpT reduction_op) {
  if constexpr (sizeof(Item) == 1 && std::is_integral_v<Item> && sizeof(T) == 4 && std::is_integral_v<T> &&
                std::is_same_v<ReductionOpT, plus>) {
    using word = std::conditional_t<std::is_signed_v<Item>, int, unsigned>;
    word sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum = __dp4a(static_cast<word>(loaded.words[i]), word(0x01010101), sum);
    return static_cast<T>(sum);
  } else {
    return fold<T, 0, vector<Item>::num_items>(loaded, reduction_op);
  }
}

// The vector that begins `offset` bytes into two of which these are the words: not 0, less than a vector, and a
// multiple of the items' alignment. In PTX, because a compiler takes three times as long over selections that it can
// see through.
template <class Item>
__device__ vector<Item> shifted(unsigned (&words)[8], unsigned offset) {
  if constexpr (alignof(Item) >= 8) return {{words[2], words[3], words[4], words[5]}};
  asm("{\n"
      ".reg .pred by_two, by_one;\n"
      ".reg .b32 bit;\n"
      "and.b32 bit, %8, 8;\n"
      "setp.ne.u32 by_two, bit, 0;\n"
      "selp.b32 %0, %2, %0, by_two;\n"
      "selp.b32 %1, %3, %1, by_two;\n"
      "selp.b32 %2, %4, %2, by_two;\n"
      "selp.b32 %3, %5, %3, by_two;\n"
      "selp.b32 %4, %6, %4, by_two;\n"
      "selp.b32 %5, %7, %5, by_two;\n"
      "and.b32 bit, %8, 4;\n"
      "setp.ne.u32 by_one, bit, 0;\n"
      "selp.b32 %0, %1, %0, by_one;\n"
      "selp.b32 %1, %2, %1, by_one;\n"
      "selp.b32 %2, %3, %2, by_one;\n"
      "selp.b32 %3, %4, %3, by_one;\n"
      "selp.b32 %4, %5, %4, by_one;\n"
      "}"
      : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]), "+r"(words[4]), "+r"(words[5])
      : "r"(words[6]), "r"(words[7]), "r"(offset));
  if constexpr (alignof(Item) < 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 8 * offset);
  }
  return {{words[0], words[1], words[2], words[3]}};
}

// How the items can be read: a vector by one load or, where the pointer is not aligned to 16 bytes, by two; `one_tile`
// by one load where there is one tile or less for each reader.
enum class reading { one_tile, aligned, unaligned };

// Tiles of block_threads * vectors_per_thread vectors, of which thread t owns the vectors t, t + block_threads …
template <int block_threads_, int vectors_per_thread, reading how, class InputIteratorT>
struct tile_reader {
  using iterator = InputIteratorT;
  using item = item_of<InputIteratorT>;
  static constexpr int block_threads = block_threads_;
  static constexpr bool vectorised = is_vectorisable<InputIteratorT>;
  static constexpr int vector_items = vectorised ? 16 / sizeof(item) : 1;
  static constexpr int num_vectors = vectorised ? vectors_per_thread : 4 * vectors_per_thread;
  static constexpr int tile_vectors = block_threads * num_vectors, tile_items = tile_vectors * vector_items;

  // Folds the thread's items of the tiles first_tile, first_tile + stride … of num_items items onto `aggregate`: full
  // tiles without a predicate, then the last one. The reader of tile 0 takes what is behind the last whole vector, too.
  template <class T, class ReductionOpT>
  static __device__ T reduce(InputIteratorT d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride,
                             T aggregate, ReductionOpT reduction_op) {
    if constexpr (how == reading::one_tile)
      return reduce_one_tile(d_in, static_cast<unsigned>(num_items), first_tile, aggregate, reduction_op);
    const std::size_t whole_vectors = num_items / vector_items;
    std::size_t first = first_tile * tile_vectors;
    if constexpr (how == reading::unaligned) {
      for (; first < whole_vectors; first += stride * tile_vectors)
        aggregate = reduction_op(aggregate, reduce_unaligned<T>(d_in, whole_vectors - 1, first, reduction_op));
    } else {
      for (; first + tile_vectors <= whole_vectors; first += stride * tile_vectors) {
        const auto all = [](int) { return true; };
        aggregate = reduction_op(aggregate, reduce_present<T>(d_in, first + threadIdx.x, all, reduction_op));
      }
      if (first < whole_vectors) {
        const int left = static_cast<int>(whole_vectors - first) - static_cast<int>(threadIdx.x);
        const auto present = [=](int k) { return k * block_threads < left; };
        aggregate = reduction_op(aggregate, reduce_present<T>(d_in, first + threadIdx.x, present, reduction_op));
      }
    }
    return first_tile == 0 ? reduction_op(aggregate, item_behind<T>(d_in, num_items, reduction_op)) : aggregate;
  }

 private:
  // The same bits by one short straight path with 32-bit offsets: where a kernel runs for microseconds, its
  // instructions come from DRAM as its items do.
  template <class T, class ReductionOpT>
  static __device__ T reduce_one_tile(InputIteratorT d_in, unsigned num_items, unsigned tile, T aggregate,
                                      ReductionOpT reduction_op) {
    const unsigned mine = tile * tile_vectors + threadIdx.x;
    const auto present = [=](int k) { return mine + k * block_threads < num_items / vector_items; };
    const T behind = tile == 0 ? item_behind<T>(d_in, num_items, reduction_op) : ReductionOpT::template identity<T>();
    aggregate = reduction_op(aggregate, reduce_present<T>(d_in, mine, present, reduction_op));
    return reduction_op(aggregate, behind);
  }

  // Folds those of the thread's vectors of a tile that are present(k); `mine` is the first of them. All loads are
  // issued before the first of them is used.
  template <class T, class Present, class ReductionOpT>
  static __device__ T reduce_present(InputIteratorT d_in, std::size_t mine, Present present,
                                     ReductionOpT reduction_op) {
    if constexpr (vectorised) {
      vector<item> loaded[num_vectors];
      T values[num_vectors];
#pragma unroll
      for (int k = 0; k < num_vectors; ++k) {
        const item* const from = d_in + (mine + k * block_threads) * vector_items;
        if constexpr (how == reading::one_tile)
          load_words_if(present(k), from, loaded[k].words);
        else if (present(k))
          load_words(from, loaded[k].words);
      }
#pragma unroll
      for (int k = 0; k < num_vectors; ++k)
        values[k] = present(k) ? fold_vector<T>(loaded[k], reduction_op) : ReductionOpT::template identity<T>();
      return fold<T, 0, num_vectors>(values, reduction_op);
    } else {
      const InputIteratorT first = d_in + mine;
      T aggregate = ReductionOpT::template identity<T>();
#pragma unroll
      for (int k = 0; k < num_vectors; ++k)
        if (present(k)) aggregate = reduction_op(aggregate, static_cast<T>(first[k * block_threads]));
      return aggregate;
    }
  }

  // The same bits where a vector comes by two loads. That takes twice the registers, and blocks are to stay two, so a
  // tile is read by groups of vectors; in a loop, because the code of all groups would be most of what there is to
  // compile.
  template <class T, class ReductionOpT>
  static __device__ T reduce_unaligned(const item* d_in, std::size_t last, std::size_t first,
                                       ReductionOpT reduction_op) {
    constexpr int group_vectors = num_vectors < 4 ? num_vectors : 4, num_groups = num_vectors / group_vectors;
    static_assert(num_vectors % group_vectors == 0 && (num_groups & (num_groups - 1)) == 0);
    std::size_t mine = first + threadIdx.x;
    T value, before[4];  // the value of the last 2^level groups
#pragma unroll 1
    for (int group = 0; group < num_groups; ++group, mine += group_vectors * block_threads) {
      value = reduce_group<T, group_vectors>(d_in, last, mine, reduction_op);
#pragma unroll
      for (int level = 0; 1 << level < num_groups; ++level) {
        if ((group >> level & 1) == 0) {
          before[level] = value;
          break;
        }
        value = reduction_op(before[level], value);
      }
    }
    return value;
  }

  // Folds the thread's vectors of a group; `mine` is the first of them. The input's vectors 0 and `last` lie in what
  // may not be read, all between them in two aligned vectors.
  template <class T, int group_vectors, class ReductionOpT>
  static __device__ T reduce_group(const item* d_in, std::size_t last, std::size_t mine, ReductionOpT reduction_op) {
    constexpr std::size_t group = group_vectors * block_threads;
    const int to_last = mine > last ? -1 : static_cast<int>(last - mine < group ? last - mine : group);
    const auto lies_within = [=](int k) { return k * block_threads < to_last && (k > 0 || mine > 0); };
    const unsigned bytes_behind = reinterpret_cast<std::uintptr_t>(d_in) % 16;
    const auto aligned = reinterpret_cast<const unsigned char*>(d_in + mine * vector_items) - bytes_behind;
    unsigned words[group_vectors][8];
#pragma unroll
    for (int k = 0; k < group_vectors; ++k) {
      if (!lies_within(k)) continue;
      load_words(aligned + k * block_threads * 16, words[k]);
      load_words(aligned + k * block_threads * 16 + 16, words[k] + 4);
    }
    T values[group_vectors], at_start, at_end;
    at_start = at_end = ReductionOpT::template identity<T>();
    if (mine == 0) at_start = fold_vector<T>(load_edge(d_in), reduction_op);
    if (to_last >= 0 && to_last < int(group) && to_last % block_threads == 0)
      at_end = fold_vector<T>(load_edge(d_in + last * vector_items), reduction_op);
#pragma unroll
    for (int k = 0; k < group_vectors; ++k) {
      values[k] = k == 0 && mine == 0            ? at_start
                  : k * block_threads == to_last ? at_end
                                                 : ReductionOpT::template identity<T>();
      if (lies_within(k)) values[k] = fold_vector<T>(shifted<item>(words[k], bytes_behind), reduction_op);
    }
    return fold<T, 0, group_vectors>(values, reduction_op);
  }

  // A vector at any address by the five words that it lies in. Of the first and the last it has but pieces: `behind`
  // bytes are the last word's, those after them the first word's, so that one word can stand for both.
  static __device__ vector<item> load_edge(const item* from) {
    using piece = std::conditional_t<alignof(item) == 1, unsigned char,
                                     std::conditional_t<alignof(item) == 2, unsigned short, unsigned>>;
    const unsigned behind = reinterpret_cast<std::uintptr_t>(from) % 4;
    const auto first_word = reinterpret_cast<const unsigned char*>(from) - behind;
    unsigned words[5] = {};
#pragma unroll
    for (unsigned i = 0; i < 4; i += sizeof(piece))
      words[0] |= unsigned{*reinterpret_cast<const piece*>(first_word + i + (i < behind ? 16 : 0))} << (8 * i);
#pragma unroll
    for (int i = 1; i < 4; ++i) words[i] = reinterpret_cast<const unsigned*>(first_word)[i];
    words[4] = words[0];
    vector<item> edge;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      edge.words[i] = alignof(item) < 4 ? __funnelshift_r(words[i], words[i + 1], 8 * behind) : words[i];
    return edge;
  }

  static __device__ void load_words(const void* from, unsigned* words) {
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"  // volatile: the compiler would delay it to its use
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(from));
  }

  // Without a branch that the compiler sees: between loads under branches ptxas adds up the doubles that came by the
  // first, and orders the last too late (256 KiB by one cluster 5.2 us instead of 4.4 on an H200). Sums of
  // 64-bit integers by one cluster are the exception: 64 Ki of them take about 6 % longer so.
  static __device__ void load_words_if(bool wanted, const void* from, unsigned* words) {
    asm volatile(
        "{\n"
        ".reg .pred wanted;\n"
        "setp.ne.u32 wanted, %5, 0;\n"
        "@wanted ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from), "r"(unsigned{wanted}));
  }

  // What is behind the last whole vector is less than a vector: one item for each of the first threads.
  template <class T, class ReductionOpT>
  static __device__ T item_behind(InputIteratorT d_in, std::size_t num_items, ReductionOpT) {
    const unsigned num_behind = static_cast<unsigned>(num_items) % vector_items;
    return threadIdx.x < num_behind ? static_cast<T>(d_in[num_items - num_behind + threadIdx.x])
                                    : ReductionOpT::template identity<T>();
  }
};

template <class T>
struct type {
  using named = T;
};

// Calls call(type<reader>) with the tile_reader for d_in's alignment, and returns what it returns.
template <int block_threads, int vectors_per_thread, reading of_aligned = reading::aligned, class InputIteratorT,
          class Call>
cudaError_t with_tile_reader(InputIteratorT d_in, Call call) {
  if constexpr (is_vectorisable<InputIteratorT>) {
    if (reinterpret_cast<std::uintptr_t>(d_in) % 16 != 0)
      return call(type<tile_reader<block_threads, vectors_per_thread, reading::unaligned, InputIteratorT>>{});
  }
  return call(type<tile_reader<block_threads, vectors_per_thread, of_aligned, InputIteratorT>>{});
}

// The same where no reader has more than one tile.
template <class InputIteratorT>
inline constexpr reading of_one_tile = reads_vectors<InputIteratorT> ? reading::one_tile : reading::aligned;
template <int block_threads, int vectors_per_thread, class InputIteratorT>
using one_tile_reader = tile_reader<block_threads, vectors_per_thread, of_one_tile<InputIteratorT>, InputIteratorT>;
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_one_tile_reader(InputIteratorT d_in, Call call) {
  return with_tile_reader<block_threads, vectors_per_thread, of_one_tile<InputIteratorT>>(d_in, call);
}

// The latter where num_readers readers hold all items so.
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_quick_reader(InputIteratorT d_in, std::size_t num_items, std::size_t num_readers, Call call) {
  using tile = one_tile_reader<block_threads, vectors_per_thread, InputIteratorT>;
  if (num_items <= num_readers * tile::tile_items && num_items < std::size_t(1) << 31)
    return with_one_tile_reader<block_threads, vectors_per_thread>(d_in, call);
  return with_tile_reader<block_threads, vectors_per_thread>(d_in, call);
}

}  // namespace rungs::RUNGS_ABI::parts
