// What a call is made of: the operator that a rung knows, the type that it accumulates in, and a form of that type
// which a rung can carry through registers and shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if __has_include(<bits/stl_function.h>)
#include <bits/stl_function.h>  // std::plus in libstdc++, without the half second that all of <functional> takes
#else
#include <functional>
#endif

#include "rungs/operators.cuh"
#include "rungs/parts/called.cuh"
#include "rungs/parts/iterator_traits.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI {
namespace device {

// The operator that stands for the caller's: our own where it means the same, because rungs know that one.
// `accumulator` is the type that the caller has named, void where none.
template <class Op>
struct known_operator {
  using type = Op;
  using accumulator = void;
};
template <class T>
struct known_operator<std::plus<T>> {
  using type = plus;
  using accumulator = T;
};

// Whether rungs know the operator.
template <class Op>
inline constexpr bool is_known = std::is_same_v<Op, plus> || std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum>;

// Whether the order of integers does not matter to Op, as it does not to those either.
template <class Op>
inline constexpr bool is_order_free_on_integers = is_known<Op>;
template <class T>
inline constexpr bool is_order_free_on_integers<std::multiplies<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<std::bit_and<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<std::bit_or<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<std::bit_xor<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<std::logical_and<T>> = true;
template <class T>
inline constexpr bool is_order_free_on_integers<std::logical_or<T>> = true;

template <class T>
struct type_is {
  using type = T;
};

template <class Op>
decltype(auto) ours(const Op& op) {
  using known = typename known_operator<Op>::type;
  if constexpr (std::is_same_v<known, Op>)
    return (op);
  else
    return known{};
}

// Extended __device__ lambdas. nvcc's host pass sees a wrapper in their place, whose call operator is not const, and
// which answers int where the lambda does not name its result behind an arrow. What is decided here must not depend on
// the pass, or the host would launch kernels that were never compiled: so such a lambda is always copied, and a result
// that it does not name is never asked for.
#ifdef __CUDACC_EXTENDED_LAMBDA__
template <class Op>
inline constexpr bool is_device_lambda = __nv_is_extended_device_lambda_closure_type(Op) &&
                                         !__nv_is_extended_host_device_lambda_closure_type(Op);
template <class Op>
inline constexpr bool names_result =
    !is_device_lambda<Op> || __nv_is_extended_device_lambda_with_preserved_return_type(Op);
#else
template <class Op>
inline constexpr bool is_device_lambda = false;
template <class Op>
inline constexpr bool names_result = true;
#endif

// What Op makes of Args, or Otherwise where it does not say.
template <class Otherwise, class Op, class... Args>
constexpr auto result_or() {
  if constexpr (names_result<Op>)
    return type_is<std::decay_t<std::invoke_result_t<Op&, Args...>>>{};
  else
    return type_is<Otherwise>{};
}

// The type of init op item, as the language has it: bytes are added up as ints. Where that is ambiguous (a float and a
// half), the type of init; of a lambda that does not name its result likewise.
template <class InitT, class ItemT, class = void>
inline constexpr bool can_be_added = false;
template <class InitT, class ItemT>
inline constexpr bool can_be_added<InitT, ItemT, std::void_t<decltype(std::declval<InitT>() + std::declval<ItemT>())>> =
    true;

template <class Op, class InitT, class ItemT>
constexpr auto type_of_result() {
  constexpr bool is_order = std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum>;
  static_assert(!std::is_same_v<Op, plus> || !std::is_same_v<InitT, ItemT> || can_be_added<InitT, ItemT>,
                "a sum needs an operator+ of its items; Reduce and the scans also take an operator of your own");
  if constexpr (std::is_same_v<Op, plus> && can_be_added<InitT, ItemT>)
    return type_is<std::decay_t<decltype(std::declval<InitT>() + std::declval<ItemT>())>>{};
  else if constexpr (is_order && std::is_arithmetic_v<InitT> && std::is_arithmetic_v<ItemT>)
    return type_is<decltype(std::common_type_t<InitT, ItemT>{} + 0)>{};  // bytes are compared as ints
  else if constexpr (!names_result<Op>)
    return type_is<InitT>{};
  else if constexpr (std::is_invocable_v<Op&, InitT, ItemT>)
    return type_is<std::decay_t<std::invoke_result_t<Op&, InitT, ItemT>>>{};
  else
    return type_is<InitT>{};
}

template <class Op, class InitT, class ItemT, class Known = known_operator<Op>>
using accumulator_of = typename std::conditional_t<std::is_void_v<typename Known::accumulator>,
                                                   decltype(type_of_result<typename Known::type, InitT, ItemT>()),
                                                   type_is<typename Known::accumulator>>::type;

// What an output iterator takes: items of type T where it does not say, or says that it takes whatever comes, as
// iterators that discard do.
struct whatever {};
template <class OutputIteratorT, class T, class Value = typename std::iterator_traits<OutputIteratorT>::value_type>
using value_or = std::conditional_t<std::is_void_v<Value> || std::is_convertible_v<whatever, Value>, T, Value>;

// The limits of a type that std::numeric_limits does not know: the infinities of halves, or what
// cuda::std::numeric_limits says, where <rungs/device/cuda_std_operators.cuh> is included.
template <class T, class = void>
struct other_limits {
  static_assert(std::is_constructible_v<T, float>,
                "Min, Max, ArgMin and ArgMax need std::numeric_limits of the items, or cuda::std::numeric_limits and "
                "<rungs/device/cuda_std_operators.cuh>; Reduce takes an operator and an initial value of your own");
  static constexpr T highest() { return T(std::numeric_limits<float>::infinity()); }
  static constexpr T lowest() { return T(-std::numeric_limits<float>::infinity()); }
};

// The result of a minimum or a maximum of nothing.
template <class T>
constexpr T highest() {
  if constexpr (std::is_same_v<T, __int128>)
    return static_cast<T>(~static_cast<unsigned __int128>(0) >> 1);
  else if constexpr (std::is_same_v<T, unsigned __int128>)
    return ~T(0);
  else if constexpr (std::numeric_limits<T>::is_specialized)
    return greatest<T>;
  else
    return other_limits<T>::highest();
}
template <class T>
constexpr T lowest() {
  if constexpr (std::is_same_v<T, __int128>)
    return -highest<T>() - 1;
  else if constexpr (std::is_same_v<T, unsigned __int128>)
    return T(0);
  else if constexpr (std::numeric_limits<T>::is_specialized)
    return least<T>;
  else
    return other_limits<T>::lowest();
}

// The integers of 128 bits, which no trait of the standard library knows in every mode of the language.
template <class T>
inline constexpr bool is_wide_integer = std::is_same_v<T, __int128> || std::is_same_v<T, unsigned __int128>;

// A value as words, for types that rungs do not carry as they are: with constructors or copies of their own, or wider
// than any shuffle. Such types are moved bit by bit, as CUB moves them. (As bytes, each would have a register of its
// own: a scan of 24-byte items by a minimum had three times the instructions.)
// Integers of 128 bits are put together by shifts. A copy of their bytes goes through local memory, where nvcc makes no
// registers of it: a scan took six times as long.
template <class T>
class boxed {
  using word = std::conditional_t<alignof(T) < 8, unsigned, unsigned long long>;

 public:
  boxed() = default;
  template <class Item>
  __host__ __device__ explicit boxed(const Item& item) {
    const T value = static_cast<T>(item);
    if constexpr (is_wide_integer<T>) {
      words_[0] = static_cast<word>(value);
      words_[1] = static_cast<word>(value >> 64);
    } else {
      memcpy(words_, static_cast<const void*>(&value), sizeof(T));
    }
  }
  __host__ __device__ operator T() const { return opened(*this).value; }

  // The value while it is looked at.
  union opened {
    T value;
    __host__ __device__ explicit opened(const boxed& box) {
      if constexpr (is_wide_integer<T>)
        value = static_cast<T>(static_cast<unsigned __int128>(box.words_[1]) << 64 | box.words_[0]);
      else
        memcpy(static_cast<void*>(&value), box.words_, sizeof(T));
    }
    __host__ __device__ ~opened() {}
  };

 private:
  alignas(T) alignas(word) word words_[(sizeof(T) + sizeof(word) - 1) / sizeof(word)];
};

// Whether the items of type T that an iterator stands for lie in memory as boxes do: then rungs read and write these.
template <class T, class Iterator>
inline constexpr bool lies_in_boxes = false;
template <class T>
inline constexpr bool lies_in_boxes<T, T*> = std::is_trivially_copyable_v<T> && sizeof(boxed<T>) == sizeof(T) &&
                                             alignof(boxed<T>) == alignof(T);
template <class T>
inline constexpr bool lies_in_boxes<T, const T*> = lies_in_boxes<T, T*>;

// What an operator that rungs know makes of no integers at all.
template <class Op, class T>
inline constexpr T of_nothing = std::is_same_v<Op, plus>      ? T(0)
                                : std::is_same_v<Op, minimum> ? highest<T>()
                                                              : lowest<T>();

template <class Op, class T>
struct on_boxes {
  Op op;
  // Of 128-bit integers, for which the operators that rungs know name no identity themselves.
  template <class Box, class = std::enable_if_t<std::is_same_v<Box, boxed<T>> && is_wide_integer<T> && is_known<Op>>>
  static __host__ __device__ Box identity() {
    const T nothing = of_nothing<Op, T>;
    return Box(nothing);
  }
  __host__ __device__ boxed<T> operator()(const boxed<T>& a, const boxed<T>& b) const {
    const typename boxed<T>::opened left(a), right(b);
    return boxed<T>(op(left.value, right.value));
  }
};

}  // namespace device

namespace parts {
template <class T>
inline constexpr bool has_parts_of_words<device::boxed<T>> = is_made_of_words<T>;
template <class Op, class T>
inline constexpr bool is_commutative<device::on_boxes<Op, T>> = device::is_wide_integer<T>&& is_commutative<Op>;
}  // namespace parts

namespace device {

template <class T>
inline constexpr bool is_carried = std::is_trivially_copyable_v<T>&& std::is_trivially_default_constructible_v<T> &&
                                   !(std::is_arithmetic_v<T> && sizeof(T) > 8) && !is_wide_integer<T>;

// An output iterator whose items are assigned a T from whatever a rung has made of it.
template <class OutputIteratorT, class T>
struct unwrapping {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;

  struct reference {
    OutputIteratorT to;
    __device__ const reference& operator=(const T& value) const {
      OutputIteratorT writable = to;
      *writable = value;
      return *this;
    }
    template <class Carried>
    __device__ const reference& operator=(const parts::maybe<Carried>& value) const {
      return *this = static_cast<const T&>(value.value);
    }
  };

  OutputIteratorT to;

  __device__ reference operator*() const { return {to}; }
  template <class Offset>
  __device__ reference operator[](Offset i) const {
    return {to + static_cast<difference_type>(i)};
  }
  template <class Offset>
  __device__ unwrapping operator+(Offset i) const {
    return {to + static_cast<difference_type>(i)};
  }
};

// Pointers to what has to be assigned to, one by one, because it cannot stand in a register before.
template <class OutputIteratorT, class T>
inline constexpr bool is_assigned_singly = false;
template <class Value, class T>
inline constexpr bool is_assigned_singly<Value*, T> =
    !std::is_same_v<Value, T> && !std::is_trivially_default_constructible_v<Value>;

// Operators that do not promise to stay as they are: each call has one of its own.
template <class Op>
struct copied {
  Op op;
  template <class A, class B>
  __host__ __device__ auto operator()(const A& a, const B& b) const {
    Op own = op;
    return own(a, b);
  }
};

template <class T, class Op>
auto callable(const Op& op) {
  if constexpr (!is_device_lambda<Op> && (std::is_invocable_v<const Op&, T, T> || !std::is_invocable_v<Op&, T, T>))
    return op;
  else
    return copied<Op>{op};
}

// Calls call(op, d_out, carry) with an operator and an output iterator for values as rungs carry them, which
// carry(value) makes of a T; small numbers are in words, too, if in_words asks for it.
template <class T, bool in_words = false, class OutputIteratorT, class Op, class Call>
cudaError_t with_carried(OutputIteratorT d_out, Op as_given, Call call) {
  const auto op = callable<T>(as_given);
  if constexpr (!is_carried<T> || (in_words && sizeof(T) < 4)) {
    const on_boxes<decltype(callable<T>(as_given)), T> of_boxes{op};
    const auto box = [](const T& value) { return boxed<T>(value); };
    if constexpr (lies_in_boxes<T, OutputIteratorT>)
      return call(of_boxes, reinterpret_cast<boxed<T>*>(d_out), box);
    else
      return call(of_boxes, unwrapping<OutputIteratorT, T>{d_out}, box);
  } else {
    const auto as_it_is = [](const T& value) { return value; };
    if constexpr (is_assigned_singly<OutputIteratorT, T>)
      return call(op, unwrapping<OutputIteratorT, T>{d_out}, as_it_is);
    else
      return call(op, d_out, as_it_is);
  }
}

}  // namespace device
}  // namespace rungs::RUNGS_ABI
