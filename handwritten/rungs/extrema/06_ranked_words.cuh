// Rung 6. The kernels of sums reduce pairs: one word as in 02_packed_word, or two where items have 64 bits.
// Against 02_packed_word: the last block gathers what the others post (reductions/18_tagged_aggregates), so the atomics
// and both other launches go, and a thread has several items on their way. Two words order items of 64 bits. The item
// that is answered is its rank turned back. Each item costs the operations of its rank, and is read by a load of its
// own.
#pragma once

#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/parts/placed.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"

namespace rungs::RUNGS_ABI::reductions {
template <>
inline constexpr bool any_grouping<parts::first_rank, parts::ranked_index> = true;
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

struct ranked_words {
  static constexpr auto idea = "ranks over indices, which the kernels of sums reduce as words";
  static constexpr int block_threads = reductions::tagged_aggregates::block_threads;
  static constexpr int items_per_thread = 16;  // of 32 bits, and four of 64
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
        d_temp_storage, temp_storage_bytes, parts::ranked<outputs::least, T, place, const T*>{d_in},
        outputs{d_in, d_item, d_index}, num_items, parts::first_rank{}, parts::first_rank::identity<place>(), stream);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
