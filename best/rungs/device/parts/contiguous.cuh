// The array behind a contiguous iterator. Kernels read arrays by vectors, and other iterators item by item.
//
// Contiguous iterators are those of thrust, whose header has a function that unwraps them, and those that name
// themselves so by their iterator_concept: libcu++'s, and in C++20 the standard library's.
#pragma once

#include <type_traits>
#include <utility>

#include "rungs/parts/iterator_traits.cuh"

namespace rungs::RUNGS_ABI::device {

// What thrust makes of an iterator. It is found by the iterator's namespace: a pointer, or the iterator itself.
template <class Iterator, class = void>
inline constexpr bool is_unwrapped_by_thrust = false;
template <class Iterator>
inline constexpr bool is_unwrapped_by_thrust<
    Iterator,
    std::enable_if_t<std::is_pointer_v<decltype(try_unwrap_contiguous_iterator(std::declval<const Iterator&>()))>>> =
    true;

// No concept but that of contiguous iterators is derived from that of random access.
template <class Iterator, class = void>
inline constexpr bool says_contiguous = false;
template <class Iterator>
inline constexpr bool says_contiguous<Iterator, std::void_t<typename Iterator::iterator_concept>> =
    std::is_base_of_v<std::random_access_iterator_tag, typename Iterator::iterator_concept> &&
    !std::is_same_v<std::random_access_iterator_tag, typename Iterator::iterator_concept>;

// libcu++'s iterators of buffers have an operator-> that a host may not call.
template <class Iterator, class = void>
inline constexpr bool has_unwrap = false;
template <class Iterator>
inline constexpr bool has_unwrap<Iterator, std::void_t<decltype(std::declval<const Iterator&>().__unwrap())>> = true;

// The array, or the iterator as it is.
template <class Iterator>
auto array_of(Iterator iterator) {
  if constexpr (std::is_pointer_v<Iterator>)
    return iterator;
  else if constexpr (is_unwrapped_by_thrust<Iterator>)
    return try_unwrap_contiguous_iterator(iterator);
  else if constexpr (says_contiguous<Iterator> && has_unwrap<Iterator>)
    return array_of(iterator.__unwrap());
  else if constexpr (says_contiguous<Iterator>)
    return array_of(iterator.operator->());
  else
    return iterator;
}

}  // namespace rungs::RUNGS_ABI::device
