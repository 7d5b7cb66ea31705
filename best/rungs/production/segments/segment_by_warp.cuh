// A segment's items reduced by one warp, in aligned vectors where the order of items does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/segments/pieces.cuh"

namespace rungs::RUNGS_ABI::production {

// Operators by which a T has the same bits in any order.
template <class T, class Op>
inline constexpr bool has_no_order = std::is_integral_v<T>&& parts::is_commutative<Op>;

// What the lane has of at least 256 items, with so many pieces on their way at once. The first num_valid lanes have a
// value.
template <class T, unsigned pieces_at_once, class InputIteratorT, class Op>
__device__ T share_of_warp(const InputIteratorT& items, unsigned size, unsigned& num_valid, const Op& op) {
  using share = share_of_items<parts::warp_threads, T, InputIteratorT, Op, pieces_at_once, pieces_at_once>;
  using item = typename share::item;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  if constexpr (has_no_order<T, Op> && share::in_vectors && std::is_arithmetic_v<item>) {
    const auto address = reinterpret_cast<std::uintptr_t>(pieces_of<InputIteratorT>::address(items));
    // Of the items before the first aligned piece, the first lanes have one each.
    const unsigned before = (16 - static_cast<unsigned>(address % 16)) / sizeof(item) % share::piece_items;
    const unsigned num_behind = size - before;
    num_valid = share::num_valid(num_behind);
    const T value = share::reduce_aligned(items + static_cast<std::ptrdiff_t>(before), num_behind, lane, op);
    return lane < before ? op(static_cast<T>(items[static_cast<std::ptrdiff_t>(lane)]), value) : value;
  } else {
    num_valid = share::num_valid(size);
    return share::reduce(items, size, lane, op);
  }
}

}  // namespace rungs::RUNGS_ABI::production
