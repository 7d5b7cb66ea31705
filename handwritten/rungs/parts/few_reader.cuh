// The readers of few items: no reader has more than one tile.
#pragma once

#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// Whether a tile of such items is read by vectors. Iterators that are no pointers may have readers of their own, which
// read at any alignment.
template <class InputIteratorT>
inline constexpr bool reads_vectors = is_vectorisable<InputIteratorT>;

template <int block_threads, int vectors_per_thread, class InputIteratorT>
using few_reader = tile_reader<block_threads, vectors_per_thread,
                               reads_vectors<InputIteratorT> ? reading::one_tile : reading::aligned, InputIteratorT>;

// As with_one_tile_reader.
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_few_reader(InputIteratorT d_in, Call call) {
  if constexpr (is_vectorisable<InputIteratorT>)
    return with_one_tile_reader<block_threads, vectors_per_thread>(d_in, call);
  else
    return call(type<few_reader<block_threads, vectors_per_thread, InputIteratorT>>{});
}

// As with_quick_reader.
template <int block_threads, int vectors_per_thread, class InputIteratorT, class Call>
cudaError_t with_few_or_many_reader(InputIteratorT d_in, std::size_t num_items, Call call) {
  using tile = few_reader<block_threads, vectors_per_thread, InputIteratorT>;
  if constexpr (reads_vectors<InputIteratorT> && !is_vectorisable<InputIteratorT>) {
    if (num_items <= tile::tile_items) return call(type<tile>{});
  }
  return with_quick_reader<block_threads, vectors_per_thread>(d_in, num_items, 1, call);
}

}  // namespace rungs::RUNGS_ABI::parts
