// The least or the greatest item and where it stands. Of numbers the rungs find the least pair of a rank, which is less
// the sooner the item is answered, and an index: no branches, and one word for both where each has 32 bits. All other
// items keep their index beside them (inputs.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/inputs.cuh"
#include "rungs/parts/iterator_traits.cuh"
#include "rungs/reductions/front_door.cuh"

namespace rungs::RUNGS_ABI::device {

template <class T>
inline constexpr bool has_rank = std::is_arithmetic_v<T> && sizeof(T) <= 8;
// Whether its rank has 32 bits.
template <class T>
inline constexpr bool has_short_rank = has_rank<T> && sizeof(T) <= 4;

// NaN before all others; -0, which becomes +0, and +0 alike.
template <bool least, class T, class Rank = std::conditional_t<has_short_rank<T>, unsigned, unsigned long long>>
__device__ Rank rank_of(T item) {
  constexpr Rank sign = Rank{1} << (8 * sizeof(Rank) - 1);
  Rank rank;
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (sizeof(T) == 4)
      rank = __float_as_uint(__fadd_rn(item, 0.0f));
    else
      rank = static_cast<Rank>(__double_as_longlong(__dadd_rn(item, 0.0)));
    rank ^= sign | (Rank{0} - (rank >> (8 * sizeof(Rank) - 1)));
    if constexpr (!least) rank = ~rank;
    return item != item ? 0 : rank;
  } else {
    rank = static_cast<Rank>(item) ^ (std::is_signed_v<T> ? sign : Rank{0});
    return least ? rank : ~rank;
  }
}

// One word: a rank of 32 bits over the index, of at most 2^32 - 1 items.
using ranked_index = unsigned long long;
inline constexpr long long most_in_a_word = 0xffffffffll;
// Two.
struct ranked_place {
  unsigned long long rank, index;
};
inline constexpr unsigned long long no_index = ~0ull;

// The lesser one. Its identity stands for nothing.
struct first_rank {
  template <class Place>
  static __host__ __device__ constexpr Place identity() {
    if constexpr (std::is_same_v<Place, ranked_index>)
      return no_index;
    else
      return {no_index, no_index};
  }
  __device__ ranked_place operator()(const ranked_place& a, const ranked_place& b) const {
    return b.rank < a.rank || (b.rank == a.rank && b.index < a.index) ? b : a;
  }
  __device__ ranked_index operator()(ranked_index a, ranked_index b) const { return b < a ? b : a; }
};

template <bool least, class T, class Place, class InputIteratorT>
struct ranked {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Place;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;
  using offset = std::conditional_t<std::is_same_v<Place, ranked_index>, unsigned, unsigned long long>;

  InputIteratorT d_in;
  offset first = 0;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    const auto rank = rank_of<least>(static_cast<T>(d_in[static_cast<difference_type>(i)]));
    const offset index = first + static_cast<offset>(i);
    if constexpr (std::is_same_v<Place, ranked_index>)
      return static_cast<Place>(rank) << 32 | index;
    else
      return {rank, index};
  }
  template <class Offset>
  __device__ ranked operator+(Offset i) const {
    return {d_in + static_cast<difference_type>(i), first + static_cast<offset>(i)};
  }
};

// Where such a pair is written as an indexed item, which is read once more.
template <class T, class InputIteratorT, class OutputIteratorT>
struct unranked {
  struct reference {
    unranked to;
    __device__ const reference& operator=(const ranked_place& found) const {
      return write(found.index != no_index, static_cast<long long>(found.index));
    }
    __device__ const reference& operator=(ranked_index found) const {
      return write(found != no_index, static_cast<long long>(found & 0xffffffffu));
    }

   private:
    __device__ const reference& write(bool is_any, long long index) const {
      *to.d_out = is_any ? indexed<T>{static_cast<T>(to.d_in[index]), index} : indexed<T>{T{}, -1};
      return *this;
    }
  };

  InputIteratorT d_in;
  OutputIteratorT d_out;

  __device__ reference operator*() const { return {*this}; }
  template <class Offset>
  __device__ reference operator[](Offset) const {
    return {*this};
  }
  template <class Offset>
  __device__ unranked operator+(Offset) const {
    return *this;
  }
};

// The front door for ranks of either width, and for what keeps its index beside it: they take the rows of words.
template <storage_is whose>
struct extremum_door {
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream) {
    using tuning::reduce_rung;
    using choice = chooser<T>;
    int cc = 0;
    if (const cudaError_t error = capability(cc)) return error;
    return call_chosen<choice, whose>(
        choice::suited(tuning::choose(tuning::reduce_rows, tuning::operators::order, cc, item_bytes, num_items)),
        d_temp_storage, temp_storage_bytes,
        [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return decltype(variant)::named::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                  reduction_op, init, stream);
        },
        candidate<reduce_rung::one_block, reductions::one_block>{},
        candidate<reduce_rung::two_passes, reductions::two_passes>{},
        candidate<reduce_rung::tagged_aggregates, reductions::tagged_aggregates>{});
  }

 private:
  static constexpr std::size_t item_bytes = 4;
  // What is no pointer is not for clusters, and what hardly fits into registers not for mailboxes.
  template <class T>
  struct chooser {
    static constexpr tuning::reduce_rung suited(tuning::reduce_rung rung) {
      if (rung == tuning::reduce_rung::one_block) return rung;
      return sizeof(T) <= 40 ? tuning::reduce_rung::tagged_aggregates : tuning::reduce_rung::two_passes;
    }
    template <tuning::reduce_rung rung>
    static constexpr bool names = tuning::names_suited(tuning::reduce_rows, rung, tuning::operators::order, greatest_cc,
                                                       item_bytes, suited);
  };
};

// The one with a door's contract.
template <storage_is whose>
extremum_door<whose> for_extrema(const reductions::front_door_of<whose>&);
template <class Door>
using for_extrema_of = decltype(for_extrema(std::declval<Door>()));

}  // namespace rungs::RUNGS_ABI::device
