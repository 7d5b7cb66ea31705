// Reading tiles 16 bytes a thread at a time, several loads in flight, and folding them in registers.
//
// Vectors are counted from d_in and not from an aligned address: items meet in the same order at any alignment, so
// deterministic rungs stay so. Where the pointer is not aligned to 16 bytes, a vector is put together from the two
// aligned ones that it lies in.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::v0::parts {

template <class InputIteratorT>
using item_of = std::remove_cv_t<typename std::iterator_traits<InputIteratorT>::value_type>;

// Plain pointers to items of 1, 2, 4, 8 or 16 bytes can be read as vectors; any other iterator is read item by item.
template <class InputIteratorT>
inline constexpr bool is_vectorisable =
    std::is_pointer_v<InputIteratorT>&& std::is_trivially_copyable_v<item_of<InputIteratorT>> &&
    16 % sizeof(item_of<InputIteratorT>) == 0;

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
  if constexpr (sizeof(Item) == 1 && sizeof(T) == 4 && std::is_integral_v<T> && std::is_same_v<ReductionOpT, plus>) {
    using word = std::conditional_t<std::is_signed_v<Item>, int, unsigned>;
    word sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum = __dp4a(static_cast<word>(loaded.words[i]), word(0x01010101), sum);
    return static_cast<T>(sum);
  } else {
    return fold<T, 0, vector<Item>::num_items>(loaded, reduction_op);
  }
}

// Moves the words of two vectors down by `offset` bytes, a multiple of `unit` less than a vector: the first num_words
// become the vector that begins there.
template <int num_words, std::size_t unit>
__device__ void shift_down(unsigned* words, unsigned offset) {
#pragma unroll
  for (int step = num_words / 2; step > 0; step /= 2) {
    if (4 * step % unit != 0) continue;
#pragma unroll
    for (int i = 0; i + step < 2 * num_words; ++i) words[i] = (offset & (4 * step)) != 0 ? words[i + step] : words[i];
  }
  if constexpr (unit < 4) {
#pragma unroll
    for (int i = 0; i < num_words; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 8 * offset);
  }
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
  // On their way at a time. What comes by two loads takes twice the registers, or more, and blocks are to stay two.
  static constexpr int most_in_flight = how != reading::unaligned                ? num_vectors
                                        : sizeof(item) == 2 || sizeof(item) == 4 ? 4
                                                                                 : 2;
  static constexpr int vectors_in_flight = num_vectors < most_in_flight ? num_vectors : most_in_flight;
  static_assert(num_vectors % vectors_in_flight == 0);

  // Folds the thread's items of the tiles first_tile, first_tile + stride … of num_items items onto `aggregate`: full
  // tiles without a predicate, then the last one. The reader of tile 0 takes what is behind the last whole vector, too.
  template <class T, class ReductionOpT>
  static __device__ T reduce(InputIteratorT d_in, std::size_t num_items, std::size_t first_tile, std::size_t stride,
                             T aggregate, ReductionOpT reduction_op) {
    if constexpr (how == reading::one_tile)
      return reduce_one_tile(d_in, static_cast<unsigned>(num_items), first_tile, aggregate, reduction_op);
    const std::size_t whole_vectors = num_items / vector_items;
    std::size_t first = first_tile * tile_vectors;
    for (; first + tile_vectors <= whole_vectors; first += stride * tile_vectors) {
      const auto all = [](int) { return true; };
      aggregate = reduction_op(aggregate, reduce_present<T>(d_in, num_items, first + threadIdx.x, all, reduction_op));
    }
    if (first < whole_vectors) {
      const int left = static_cast<int>(whole_vectors - first) - static_cast<int>(threadIdx.x);
      const auto present = [=](int k) { return k * block_threads < left; };
      aggregate =
          reduction_op(aggregate, reduce_present<T>(d_in, num_items, first + threadIdx.x, present, reduction_op));
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
    aggregate = reduction_op(aggregate, reduce_present<T>(d_in, num_items, mine, present, reduction_op));
    return reduction_op(aggregate, behind);
  }

  // Folds those of the thread's vectors of a tile that are present(k); `mine` is the first of them. The loads of all
  // that are in flight are issued before the first of them is used.
  template <class T, class Present, class ReductionOpT>
  static __device__ T reduce_present(InputIteratorT d_in, std::size_t num_items, std::size_t mine, Present present,
                                     ReductionOpT reduction_op) {
    if constexpr (vectorised) {
      T values[num_vectors];
#pragma unroll
      for (int first = 0; first < num_vectors; first += vectors_in_flight) {
        arriving loaded[vectors_in_flight];
#pragma unroll
        for (int k = 0; k < vectors_in_flight; ++k)
          if (present(first + k)) loaded[k].order(d_in, num_items, mine + (first + k) * block_threads);
#pragma unroll
        for (int k = 0; k < vectors_in_flight; ++k)
          values[first + k] =
              present(first + k)
                  ? fold_vector<T>(loaded[k].take(d_in, num_items, mine + (first + k) * block_threads), reduction_op)
                  : ReductionOpT::template identity<T>();
      }
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

  // What is behind the last whole vector is less than a vector: one item for each of the first threads.
  template <class T, class ReductionOpT>
  static __device__ T item_behind(InputIteratorT d_in, std::size_t num_items, ReductionOpT) {
    const unsigned num_behind = static_cast<unsigned>(num_items) % vector_items;
    return threadIdx.x < num_behind ? static_cast<T>(d_in[num_items - num_behind + threadIdx.x])
                                    : ReductionOpT::template identity<T>();
  }

  static __device__ void load_words(const void* from, unsigned* words) {
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"  // volatile: the compiler would delay it to its use
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(from));
  }

  // A vector on its way, by one load.
  struct aligned_vector {
    vector<item> loaded;

    __device__ void order(const item* d_in, std::size_t, std::size_t index) {
      load_words(d_in + index * vector_items, loaded.words);
    }
    __device__ vector<item> take(const item*, std::size_t, std::size_t) const { return loaded; }
  };

  // By two, of the aligned vectors that it lies in. The input's first vector, and those close to its end, lie in what
  // may not be read: they come in pieces.
  struct unaligned_vector {
    using piece = std::conditional_t<alignof(item) == 1, unsigned char,
                                     std::conditional_t<alignof(item) == 2, unsigned short, unsigned>>;
    static constexpr int num_pieces = 16 / sizeof(piece), word_pieces = 4 / sizeof(piece);
    unsigned words[num_pieces > 8 ? num_pieces : 8];

    static __device__ bool lies_within(std::size_t num_items, std::size_t index) {
      return index > 0 && (index + 2) * vector_items <= num_items;
    }
    static __device__ unsigned bytes_behind(const item* d_in) { return reinterpret_cast<std::uintptr_t>(d_in) % 16; }

    __device__ void order(const item* d_in, std::size_t num_items, std::size_t index) {
      const item* const from = d_in + index * vector_items;
      if (lies_within(num_items, index)) {
        const auto aligned = reinterpret_cast<const unsigned char*>(from) - bytes_behind(d_in);
        load_words(aligned, words);
        load_words(aligned + 16, words + 4);
      } else {
#pragma unroll
        for (int i = 0; i < num_pieces; ++i) words[i] = reinterpret_cast<const piece*>(from)[i];
      }
    }
    __device__ vector<item> take(const item* d_in, std::size_t num_items, std::size_t index) {
      vector<item> taken{};
      if (lies_within(num_items, index)) {
        shift_down<4, alignof(item)>(words, bytes_behind(d_in));
#pragma unroll
        for (int i = 0; i < 4; ++i) taken.words[i] = words[i];
      } else {
#pragma unroll
        for (int i = 0; i < num_pieces; ++i)
          taken.words[i / word_pieces] |= words[i] << (i % word_pieces * 8 * static_cast<int>(sizeof(piece)));
      }
      return taken;
    }
  };
  using arriving = std::conditional_t<how == reading::unaligned, unaligned_vector, aligned_vector>;
};

template <class T>
struct type {
  using named = T;
};

// Calls call(type<reader>) with the tile_reader for d_in's alignment, and returns what it returns.
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_tile_reader(InputIteratorT d_in, Call call) {
  if constexpr (is_vectorisable<InputIteratorT>) {
    if (reinterpret_cast<std::uintptr_t>(d_in) % 16 != 0)
      return call(type<tile_reader<block_threads, vectors_per_thread, reading::unaligned, InputIteratorT>>{});
  }
  return call(type<tile_reader<block_threads, vectors_per_thread, reading::aligned, InputIteratorT>>{});
}

// The same where no reader has more than one tile.
template <int block_threads, int vectors_per_thread, class InputIteratorT>
using one_tile_reader =
    tile_reader<block_threads, vectors_per_thread,
                is_vectorisable<InputIteratorT> ? reading::one_tile : reading::aligned, InputIteratorT>;
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_one_tile_reader(InputIteratorT d_in, Call call) {
  if constexpr (is_vectorisable<InputIteratorT>) {
    if (reinterpret_cast<std::uintptr_t>(d_in) % 16 != 0)
      return call(type<tile_reader<block_threads, vectors_per_thread, reading::unaligned, InputIteratorT>>{});
  }
  return call(type<one_tile_reader<block_threads, vectors_per_thread, InputIteratorT>>{});
}

// The one or the other, for num_readers readers.
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_quick_reader(InputIteratorT d_in, std::size_t num_items, std::size_t num_readers, Call call) {
  using tile = one_tile_reader<block_threads, vectors_per_thread, InputIteratorT>;
  if (num_items <= num_readers * tile::tile_items && num_items < std::size_t(1) << 31)
    return with_one_tile_reader<block_threads, vectors_per_thread>(d_in, call);
  return with_tile_reader<block_threads, vectors_per_thread>(d_in, call);
}

}  // namespace rungs::v0::parts
