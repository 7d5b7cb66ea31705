// Which items a selection chooses. A criterion reads what it needs beside the items (fetch), and later gives the flags
// of the lane's items that are chosen, of those that are present. What it will read can be brought to the L2 before.
#pragma once

#include "rungs/production/compaction/tiles.cuh"

namespace rungs::RUNGS_ABI::production {

struct nothing_fetched {};

// A flag for each item, as it is or as an operator has it.
template <class FlagIteratorT, class SelectOpT>
struct chosen_by_flag {
  static constexpr bool reads_flags = true;
  FlagIteratorT d_flags;
  SelectOpT select_op;
  bool by_vectors;

  template <int block_threads>
  __device__ void bring(std::size_t first, int count) const {
    bring_to_l2<block_threads>(d_flags, first, count);
  }
  template <class Shape, class Held, class InputIteratorT>
  __device__ auto fetch(InputIteratorT, std::size_t first, std::size_t last, int warp) const {
    using flag = held_of<parts::item_of<FlagIteratorT>>;
    return read_tile<Shape, flag>(d_flags, first, last, warp, by_vectors);
  }
  template <class Shape, class Held, class Flags>
  __device__ unsigned choose(const lane_rows<Shape, Held>&, const Flags& flags, bool, int, unsigned present) const {
    SelectOpT own = select_op;  // which may not promise to stay as it is
    return flags_where<Shape>(present, [&](int row, int k) { return static_cast<bool>(own(value_of(flags(row, k)))); });
  }
};
struct as_bool {
  template <class Flag>
  __device__ bool operator()(const Flag& flag) const {
    return static_cast<bool>(flag);
  }
};

template <class SelectOpT>
struct chosen_by_item {
  static constexpr bool reads_flags = false;
  SelectOpT select_op;

  template <int>
  __device__ void bring(std::size_t, int) const {}
  template <class Shape, class Held, class InputIteratorT>
  __device__ nothing_fetched fetch(InputIteratorT, std::size_t, std::size_t, int) const {
    return {};
  }
  template <class Shape, class Held>
  __device__ unsigned choose(const lane_rows<Shape, Held>& items, nothing_fetched, bool, int, unsigned present) const {
    SelectOpT own = select_op;
    return flags_where<Shape>(present, [&](int row, int k) { return static_cast<bool>(own(value_of(items(row, k)))); });
  }
};

// The first item of each run of equal ones.
template <class EqualityOpT>
struct chosen_as_first {
  static constexpr bool reads_flags = false;
  EqualityOpT equality_op;

  template <int>
  __device__ void bring(std::size_t, int) const {}
  template <class Shape, class Held, class InputIteratorT>
  __device__ Held fetch(InputIteratorT d_in, std::size_t first, std::size_t last, int warp) const {
    return read_before_warp<Shape, Held>(d_in, first, last, warp);
  }
  template <class Shape, class Held>
  __device__ unsigned choose(const lane_rows<Shape, Held>& items, const Held& before_warp, bool is_first_tile, int warp,
                             unsigned present) const {
    return flags_of_heads<Shape>(items, before_warp, is_first_tile, warp, present, equality_op);
  }
};

}  // namespace rungs::RUNGS_ABI::production
