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

// Moves the words of two vectors down by `offset` bytes, a multiple of `unit` less than a vector: the first four become
// the vector that begins there. In PTX, because a compiler takes three times as long over selections that it can see
// through.
template <std::size_t unit>
__device__ void shift_vector(unsigned (&words)[8], unsigned offset) {
  asm("{\n"
      ".reg .pred by_two;\n"
      ".reg .b32 bit;\n"
      "and.b32 bit, %8, 8;\n"
      "setp.ne.u32 by_two, bit, 0;\n"
      "selp.b32 %0, %2, %0, by_two;\n"
      "selp.b32 %1, %3, %1, by_two;\n"
      "selp.b32 %2, %4, %2, by_two;\n"
      "selp.b32 %3, %5, %3, by_two;\n"
      "selp.b32 %4, %6, %4, by_two;\n"
      "selp.b32 %5, %7, %5, by_two;\n"
      "}"
      : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]), "+r"(words[4]), "+r"(words[5])
      : "r"(words[6]), "r"(words[7]), "r"(offset));
  if constexpr (unit < 8)
    asm("{\n"
        ".reg .pred by_one;\n"
        ".reg .b32 bit;\n"
        "and.b32 bit, %6, 4;\n"
        "setp.ne.u32 by_one, bit, 0;\n"
        "selp.b32 %0, %1, %0, by_one;\n"
        "selp.b32 %1, %2, %1, by_one;\n"
        "selp.b32 %2, %3, %2, by_one;\n"
        "selp.b32 %3, %4, %3, by_one;\n"
        "selp.b32 %4, %5, %4, by_one;\n"
        "}"
        : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]), "+r"(words[4])
        : "r"(words[5]), "r"(offset));
  if constexpr (unit < 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], 8 * offset);
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
  // On their way at a time. What comes by two loads takes twice the registers, and blocks are to stay two.
  static constexpr int most_in_flight = how == reading::unaligned ? 4 : num_vectors;
  static constexpr int vectors_in_flight = num_vectors < most_in_flight ? num_vectors : most_in_flight;
  static constexpr int num_groups = num_vectors / vectors_in_flight;
  static_assert(num_vectors % vectors_in_flight == 0 && (num_groups & (num_groups - 1)) == 0);

  // Folds the thread's items of the tiles first_tile, first_tile + stride … of num_items items onto `aggregate`: whole
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
        aggregate = reduction_op(aggregate, reduce_groups<T>(d_in, num_items, first, reduction_op));
    } else {
      for (; first + tile_vectors <= whole_vectors; first += stride * tile_vectors)
        aggregate = reduction_op(aggregate, reduce_whole<T>(d_in, num_items, first, reduction_op));
      if (first < whole_vectors)
        aggregate = reduction_op(aggregate, reduce_part<T>(d_in, num_items, first, reduction_op));
    }
    return first_tile == 0 ? reduction_op(aggregate, item_behind<T>(d_in, num_items, reduction_op)) : aggregate;
  }

 private:
  // All of a thread's vectors, none of which comes in pieces.
  struct all_present {
    __device__ constexpr bool operator()(int) const { return true; }
  };

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

  // The thread's vectors of a tile, or of a group, that begins with vector `first`: all of them, or those that the
  // input has.
  template <class T, class ReductionOpT>
  static __device__ T reduce_whole(InputIteratorT d_in, std::size_t num_items, std::size_t first,
                                   ReductionOpT reduction_op) {
    return reduce_present<T>(d_in, num_items, first + threadIdx.x, all_present{}, reduction_op);
  }
  template <class T, class ReductionOpT>
  static __device__ T reduce_part(InputIteratorT d_in, std::size_t num_items, std::size_t first,
                                  ReductionOpT reduction_op) {
    const std::size_t whole_vectors = num_items / vector_items;
    const std::size_t behind = whole_vectors > first ? whole_vectors - first : 0;  // a tile's last groups may be empty
    const int left = static_cast<int>(behind < tile_vectors ? behind : tile_vectors) - static_cast<int>(threadIdx.x);
    const auto present = [=](int k) { return k * block_threads < left; };
    return reduce_present<T>(d_in, num_items, first + threadIdx.x, present, reduction_op);
  }

  // A tile, group after group in a loop: the code of all groups side by side would be half of what there is to compile.
  template <class T, class ReductionOpT>
  static __device__ T reduce_groups(InputIteratorT d_in, std::size_t num_items, std::size_t first,
                                    ReductionOpT reduction_op) {
    constexpr int group_vectors = vectors_in_flight * block_threads;
    T value, before[4];  // the sum of the last 2^level groups
#pragma unroll 1
    for (int group = 0; group < num_groups; ++group, first += group_vectors) {
      const bool comes_by_vectors = first > 0 && (first + group_vectors + 1) * vector_items <= num_items;
      value = comes_by_vectors ? reduce_whole<T>(d_in, num_items, first, reduction_op)
                               : reduce_part<T>(d_in, num_items, first, reduction_op);
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

  // Folds those of the thread's vectors of a tile, or a group, that are present(k); `mine` is the first of them. All
  // their loads are issued before the first of them is used.
  template <class T, class Present, class ReductionOpT>
  static __device__ T reduce_present(InputIteratorT d_in, std::size_t num_items, std::size_t mine, Present present,
                                     ReductionOpT reduction_op) {
    if constexpr (vectorised) {
      constexpr bool is_inner = std::is_same_v<Present, all_present>;
      arriving loaded[vectors_in_flight];
      T values[vectors_in_flight];
#pragma unroll
      for (int k = 0; k < vectors_in_flight; ++k)
        if (present(k)) loaded[k].template order<is_inner>(d_in, num_items, mine + k * block_threads);
#pragma unroll
      for (int k = 0; k < vectors_in_flight; ++k)
        values[k] = present(k)
                        ? fold_vector<T>(loaded[k].template take<is_inner>(d_in, num_items, mine + k * block_threads),
                                         reduction_op)
                        : ReductionOpT::template identity<T>();
      return fold<T, 0, vectors_in_flight>(values, reduction_op);
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

    template <bool>
    __device__ void order(const item* d_in, std::size_t, std::size_t index) {
      load_words(d_in + index * vector_items, loaded.words);
    }
    template <bool>
    __device__ vector<item> take(const item*, std::size_t, std::size_t) const {
      return loaded;
    }
  };

  // By two, of the aligned vectors that it lies in. The input's first vector, and those close to its end, lie in what
  // may not be read: they come by the words that they lie in, of which the first and the last come in pieces.
  struct unaligned_vector {
    using piece = std::conditional_t<alignof(item) == 1, unsigned char,
                                     std::conditional_t<alignof(item) == 2, unsigned short, unsigned>>;
    static constexpr unsigned piece_bytes = sizeof(piece);
    unsigned words[8];

    static __device__ bool lies_within(std::size_t num_items, std::size_t index) {
      return index > 0 && (index + 2) * vector_items <= num_items;
    }
    static __device__ unsigned bytes_behind(const item* d_in) { return reinterpret_cast<std::uintptr_t>(d_in) % 16; }

    template <bool is_inner>
    __device__ void order(const item* d_in, std::size_t num_items, std::size_t index) {
      const auto from = reinterpret_cast<const unsigned char*>(d_in + index * vector_items);
      if (is_inner || lies_within(num_items, index)) {
        load_words(from - bytes_behind(d_in), words);
        load_words(from - bytes_behind(d_in) + 16, words + 4);
      } else {
        const unsigned behind = bytes_behind(d_in) % 4;
        words[0] = load_pieces(from - behind, behind, 4);
#pragma unroll
        for (int i = 1; i < 4; ++i) words[i] = reinterpret_cast<const unsigned*>(from - behind)[i];
        words[4] = load_pieces(from - behind + 16, 0, behind);
      }
    }
    template <bool is_inner>
    __device__ vector<item> take(const item* d_in, std::size_t num_items, std::size_t index) {
      const bool by_vectors = is_inner || lies_within(num_items, index);
      shift_vector<alignof(item)>(words, by_vectors ? bytes_behind(d_in) : bytes_behind(d_in) % 4);
      vector<item> taken;
#pragma unroll
      for (int i = 0; i < 4; ++i) taken.words[i] = words[i];
      return taken;
    }

    // The bytes first to last - 1 of a word.
    static __device__ unsigned load_pieces(const unsigned char* word, unsigned first, unsigned last) {
      if constexpr (piece_bytes == 4) return first < last ? *reinterpret_cast<const unsigned*>(word) : 0;
      unsigned pieces = 0;
#pragma unroll
      for (unsigned i = 0; i < 4; i += piece_bytes) pieces |= load_piece(word + i, i >= first && i < last) << (8 * i);
      return pieces;
    }
    static __device__ unsigned load_piece(const unsigned char* from, bool is_wanted) {
      unsigned loaded;
      if constexpr (piece_bytes == 1)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.u8 %0, [%1]; }"
                     : "=r"(loaded)
                     : "l"(from), "r"(unsigned(is_wanted)));
      else
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.u16 %0, [%1]; }"
                     : "=r"(loaded)
                     : "l"(from), "r"(unsigned(is_wanted)));
      return loaded;
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
  if constexpr (is_vectorisable<InputIteratorT>) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0;
    if (is_aligned && num_items <= num_readers * tile::tile_items && num_items < std::size_t(1) << 31)
      return call(type<tile>{});
  }
  return with_tile_reader<block_threads, vectors_per_thread>(d_in, call);
}

}  // namespace rungs::v0::parts
