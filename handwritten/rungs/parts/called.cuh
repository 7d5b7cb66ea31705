// Operators that are called where others are compiled into the kernel.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class T, class Op>
__device__ __noinline__ T call(Op op, T a, T b) {
  return static_cast<T>(op(a, b));
}

template <class T, class Op>
struct called {
  Op op;

  template <class U, class Of = Op>
  static __host__ __device__ constexpr auto identity() -> decltype(Of::template identity<U>()) {
    return Of::template identity<U>();
  }
  __device__ T operator()(const T& a, const T& b) const { return call<T, Op>(op, a, b); }
};

// What an aggregate's members are initialised with to learn what they are: numbers, pointers and enumerations of so
// many bytes at least. Members that are aggregates themselves are taken apart.
template <std::size_t least_bytes>
struct any_number {
  template <class T, class = std::enable_if_t<!std::is_class_v<T> && sizeof(T) >= least_bytes>>
  constexpr operator T() const;
};
template <class T, class Number, class Indices, class = void>
inline constexpr bool takes = false;
template <class T, class Number, std::size_t... i>
inline constexpr bool
    takes<T, Number, std::index_sequence<i...>, std::void_t<decltype(T{(static_cast<void>(i), Number{})...})>> = true;
template <class T, std::size_t... i>
constexpr bool members_are_words(std::index_sequence<i...>) {
  return takes<T, any_number<4>, std::index_sequence<0>> &&
         ((takes<T, any_number<4>, std::make_index_sequence<i>> ==
           takes<T, any_number<1>, std::make_index_sequence<i>>)&&...);
}

// Whether T has no member of less than four bytes: known of numbers, aggregates, and what looks like a pair or a
// complex number.
template <class T, class = void>
inline constexpr bool is_made_of_words = sizeof(T) >= 4;
template <class T>
inline constexpr bool is_made_of_words<T, std::enable_if_t<std::is_class_v<T> && std::is_aggregate_v<T>>> =
    members_are_words<T>(std::make_index_sequence<sizeof(T) / 4 + 2>{});
template <class T, class = void>
inline constexpr bool has_parts_of_words = false;
template <class T>
inline constexpr bool has_parts_of_words<T, std::void_t<typename T::first_type, typename T::second_type>> =
    is_made_of_words<typename T::first_type>&& is_made_of_words<typename T::second_type>;
template <class T>
inline constexpr bool has_parts_of_words<T, std::enable_if_t<sizeof(T) == 2 * sizeof(typename T::value_type)>> =
    is_made_of_words<typename T::value_type>;
template <class T>
inline constexpr bool is_made_of_words<T, std::enable_if_t<std::is_class_v<T> && !std::is_aggregate_v<T>>> =
    has_parts_of_words<T>;

// An operator as scans of T are to use it. A scan holds dozens of copies of what is compiled into it. Where members are
// narrower than registers, comparing them compiles to branches that leave each other, and each copy keeps a convergence
// barrier. There are sixteen; what ptxas does when it has run out (13.0 to 13.5) loses lanes: minima of 16 and 24 bytes
// came out wrong, or never. (What fits in eight bytes was never seen to need one.)
template <class T, class Op>
auto as_scanned(const Op& op) {
  if constexpr (sizeof(T) > 8 && !is_made_of_words<T>)
    return called<T, Op>{op};
  else
    return op;
}

}  // namespace rungs::RUNGS_ABI::parts
