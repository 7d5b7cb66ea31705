// The least or the greatest item and where it stands. Of numbers the rungs find the least pair of a rank and an index
// (parts/ranks.cuh), and read them from memory by vectors (extrema/07_ranked_tiles.cuh). All other items keep their
// index beside them (inputs.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/few_items.cuh"
#include "rungs/device/parts/inputs.cuh"
#include "rungs/extrema/07_ranked_tiles.cuh"
#include "rungs/parts/iterator_traits.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/reductions/front_door.cuh"

namespace rungs::RUNGS_ABI::device {

using parts::first_rank;
using parts::has_rank;
using parts::has_short_rank;
using parts::most_in_a_word;
using parts::no_index;
using parts::rank_of;
using parts::ranked_index;
using parts::ranked_place;

// Item i of d_in as its rank and i. Those of an array are read by vectors.
template <bool least, class T, class Place, class InputIteratorT>
using ranked = std::conditional_t<std::is_pointer_v<InputIteratorT>,
                                  parts::ranked_array<least, T, Place, std::remove_pointer_t<InputIteratorT>>,
                                  parts::ranked<least, T, Place, InputIteratorT>>;

// Where such a pair is written as an indexed item.
template <bool least, class T, class InputIteratorT, class OutputIteratorT>
struct unranked {
  struct reference {
    unranked to;
    template <class Place>
    __device__ const reference& operator=(const Place& found) const {
      const parts::placed<T> answer = parts::place_of<least, T>(found, to.d_in);
      *to.d_out = indexed<T>{answer.item, answer.index == parts::nowhere ? -1 : answer.index};
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
    using choice = chooser<InputIteratorT, T>;
    int cc = 0;
    if (const cudaError_t error = capability(cc)) return error;
    return call_chosen<choice, whose>(
        choice::suited(tuning::choose(tuning::reduce_rows, tuning::operators::order, cc, item_bytes, num_items)),
        d_temp_storage, temp_storage_bytes,
        [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return decltype(variant)::named::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                  reduction_op, init, stream);
        },
        candidate<reduce_rung::one_block, few_items>{},
        candidate<reduce_rung::compact_cluster, cluster::reductions::compact_cluster>{},
        candidate<reduce_rung::two_passes, reductions::two_passes>{},
        candidate<reduce_rung::tagged_aggregates, reductions::tagged_aggregates>{});
  }

 private:
  static constexpr std::size_t item_bytes = 4;
  // What is not read by vectors is not for clusters, and what hardly fits into registers not for mailboxes.
  template <class InputIteratorT, class T>
  struct chooser {
    static constexpr bool suits_cluster = parts::reads_vectors<InputIteratorT> && sizeof(T) == 8;

    static constexpr tuning::reduce_rung suited(tuning::reduce_rung rung) {
      if (rung == tuning::reduce_rung::one_block) return rung;
      if (rung == tuning::reduce_rung::compact_cluster && suits_cluster) return rung;
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
