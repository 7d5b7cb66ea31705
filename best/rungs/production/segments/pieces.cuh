// Items that several threads reduce: in pieces of 16 bytes, or one by one where they are not read as vectors. Piece p
// belongs to thread p % threads, wherever the items lie.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::production {

// What lies in memory behind an iterator, and how a piece of it is folded.
template <class InputIteratorT>
struct pieces_of {
  using item = parts::item_of<InputIteratorT>;
  static constexpr bool in_vectors = parts::is_vectorisable<InputIteratorT>;

  static __device__ const item* address(const InputIteratorT& items) { return items; }
  // A piece whose first item is items[first].
  template <class T, class Op>
  static __device__ T fold(const parts::vector<item>& piece, const InputIteratorT&, unsigned, const Op& op) {
    return parts::fold_vector<T>(piece, op);
  }
  // items[i], which has been read.
  template <class T>
  static __device__ T at(const item& read, const InputIteratorT&, unsigned) {
    return static_cast<T>(read);
  }
  // What a thread has of its pieces, which it takes in the order of their items.
  template <class T, class Op>
  struct folded {
    T value;
    bool has_value = false;

    __device__ void take(const T& next, const Op& op) {
      value = has_value ? op(value, next) : next;
      has_value = true;
    }
    __device__ void take_piece(const parts::vector<item>& piece, const InputIteratorT&, unsigned, const Op& op) {
      take(parts::fold_vector<T>(piece, op), op);
    }
    // Called after several pieces.
    __device__ void settle(const InputIteratorT&, const Op&) {}
  };
};

template <class InputIteratorT>
inline constexpr unsigned piece_items_of = pieces_of<InputIteratorT>::in_vectors
                                               ? 16 / sizeof(typename pieces_of<InputIteratorT>::item)
                                               : 1;

// Copies to shared memory that go on while the thread does something else.
inline __device__ void copy_16_bytes(uint4* shared, const uint4* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
      "l"(from)
      : "memory");
#else
  *shared = *from;
#endif
}
inline __device__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// The vector at `from`, if i < end. In PTX, because under branches loads wait for each other, and because the compiler
// would delay a load to its use.
inline __device__ void load_vector_before(unsigned end, unsigned i, const uint4* from, unsigned* words) {
  asm volatile(
      "{\n"
      ".reg .pred wanted;\n"
      "setp.lt.u32 wanted, %5, %6;\n"
      "@wanted ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
      : "l"(from), "r"(i), "r"(end));
}

// A thread's share of `size` items. So many pieces of it are on their way at once: aligned ones, others of items of at
// least four bytes, and others of smaller items.
template <int threads, class T, class InputIteratorT, class Op, unsigned aligned_at_once = 4,
          unsigned unaligned_at_once = 2, unsigned shifted_at_once = 2>
struct share_of_items {
  using pieces = pieces_of<InputIteratorT>;
  using item = typename pieces::item;
  static constexpr bool in_vectors = pieces::in_vectors;
  static constexpr unsigned piece_items = piece_items_of<InputIteratorT>;

  const InputIteratorT& items;
  unsigned size, thread;
  const Op& op;
  typename pieces::template folded<T, Op> folded;

  static __device__ T reduce(const InputIteratorT& items, unsigned size, unsigned thread, const Op& op) {
    share_of_items share{items, size, thread, op, {}};
    share.take_all();
    return share.folded.value;
  }
  // The same of vectors that lie at a multiple of 16 bytes.
  static __device__ T reduce_aligned(const InputIteratorT& items, unsigned size, unsigned thread, const Op& op) {
    share_of_items share{items, size, thread, op, {}};
    share.template take_pieces<reading::by_vectors>(thread, size / piece_items);
    share.take_rest();
    return share.folded.value;
  }

  // How many threads have a value, the first ones.
  static __device__ unsigned num_valid(unsigned size) { return size / piece_items + (size % piece_items != 0); }

  // The same in two steps, for items that are eight aligned pieces for each thread. They lie in shared memory between
  // the steps, where a thread has those that it has fetched.
  static constexpr unsigned num_held = 8, held_pieces = in_vectors ? num_held * threads : 1;
  static __device__ bool can_hold(const InputIteratorT& items, unsigned size) {
    if constexpr (in_vectors)
      return size == held_pieces * piece_items && reinterpret_cast<std::uintptr_t>(pieces::address(items)) % 16 == 0;
    else
      return false;
  }
  static __device__ void fetch(uint4* held, const InputIteratorT& items, unsigned thread) {
    if constexpr (in_vectors) {
      const auto* const from = reinterpret_cast<const uint4*>(pieces::address(items)) + thread;
#pragma unroll
      for (unsigned k = 0; k < num_held; ++k) copy_16_bytes(held + thread + k * threads, from + k * threads);
    }
  }
  static __device__ T reduce_fetched(const uint4* held, const InputIteratorT& items, unsigned thread, const Op& op) {
    typename pieces::template folded<T, Op> folded;
    if constexpr (in_vectors) {
      wait_for_copies();
#pragma unroll
      for (unsigned k = 0; k < num_held; ++k) {
        parts::vector<item> piece;
        const uint4 words = held[thread + k * threads];
        memcpy(piece.words, &words, sizeof(piece.words));
        folded.take_piece(piece, items, (thread + k * threads) * piece_items, op);
      }
      folded.settle(items, op);
    }
    return folded.value;
  }

 private:
  __device__ void take_all() {
    const unsigned whole = size / piece_items;
    if constexpr (!in_vectors) {
      take_items(thread);
    } else {
      const bool aligned = reinterpret_cast<std::uintptr_t>(pieces::address(items)) % 16 == 0;
      if (aligned) {
        take_pieces<reading::by_vectors>(thread, whole);
      } else if constexpr (sizeof(item) >= 4) {
        take_pieces<reading::by_items>(thread, whole);
      } else {
        // A piece between others lies in two that are aligned. Around the first and the last there may be no memory.
        if (thread == 0 && whole > 0) take_pieces<reading::by_items>(0, 1);
        if (whole > 1) {
          take_pieces<reading::by_two_vectors>(thread > 0 ? thread : threads, whole - 1);
          if (thread == (whole - 1) % threads) take_pieces<reading::by_items>(whole - 1, whole);
        }
      }
      take_rest();
    }
  }
  // The items behind the last whole piece.
  __device__ void take_rest() {
    const unsigned whole = size / piece_items;
    if (thread == whole % threads)
#pragma unroll 1
      for (unsigned i = whole * piece_items; i < size; ++i) folded.take(static_cast<T>(items[i]), op);
  }

  __device__ void take_items(unsigned first) {
    constexpr unsigned at_once = sizeof(T) > 16 ? 2 : 4;
#pragma unroll 1
    for (; first < size; first += at_once * threads) {
      T loaded[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k)
        if (first + k * threads < size)
          loaded[k] = static_cast<T>(items[static_cast<std::ptrdiff_t>(first + k * threads)]);
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k)
        if (first + k * threads < size) folded.take(loaded[k], op);
    }
  }

  enum class reading { by_vectors, by_two_vectors, by_items };

  // The pieces first, first + threads … before `end`, some of them on their way at once.
  template <reading how>
  __device__ void take_pieces(unsigned first, unsigned end) {
    constexpr unsigned at_once = how == reading::by_vectors       ? aligned_at_once
                                 : how == reading::by_two_vectors ? shifted_at_once
                                 : sizeof(item) >= 4              ? unaligned_at_once
                                                                  : 1;
    constexpr unsigned num_vectors = how == reading::by_two_vectors ? 2 : 1;
    const item* const begin = pieces::address(items);
    const unsigned offset = how == reading::by_two_vectors ? reinterpret_cast<std::uintptr_t>(begin) % 16 : 0;
#pragma unroll 1
    for (; first < end; first += at_once * threads) {
      const auto is_there = [=](unsigned k) { return first + k * threads < end; };
      const auto* const bytes = reinterpret_cast<const unsigned char*>(begin) - offset + std::size_t{first} * 16;
      unsigned words[at_once][4 * num_vectors];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        if (!is_there(k)) continue;
        if constexpr (how == reading::by_items) {
#pragma unroll
          for (unsigned i = 0; i < piece_items; ++i) {
            const item each = reinterpret_cast<const item*>(bytes + k * threads * 16)[i];
            memcpy(reinterpret_cast<unsigned char*>(words[k]) + i * sizeof(item), &each, sizeof(item));
          }
        } else {
#pragma unroll
          for (unsigned v = 0; v < num_vectors; ++v) {
            const uint4 vector = reinterpret_cast<const uint4*>(bytes)[k * threads + v];
            memcpy(words[k] + 4 * v, &vector, sizeof(vector));
          }
        }
      }
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        if (!is_there(k)) break;
        parts::vector<item> piece;
        if constexpr (how == reading::by_two_vectors)
          piece = parts::shifted<item>(words[k], offset);
        else
          memcpy(piece.words, words[k], sizeof(piece.words));
        folded.take_piece(piece, items, (first + k * threads) * piece_items, op);
      }
    }
    folded.settle(items, op);
  }
};

}  // namespace rungs::RUNGS_ABI::production
